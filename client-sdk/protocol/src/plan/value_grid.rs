use serde::{Deserialize, Serialize};

use crate::saturating::to_whole;

/// The fixed-point grid on which updates are summed exactly.
///
/// A value `v` of an update with weight `w` is added as the integer nearest to `v · w · 2^fraction_bits` (ties to
/// even). The sum of integers does not depend on their order. The model therefore depends neither on the order of
/// arrival nor on the number of threads, and a crash does not change it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueGrid {
    /// The number of fraction bits.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [28])))]
    pub fraction_bits: u32,
    /// The largest magnitude of an update's element; a larger one is refused.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [16.0])))]
    pub value_max: f32,
    /// The largest weight of an update. A client caps its own weight to this.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 536_870_912), extend("examples" = [10000])))]
    pub weight_max: u64,
}

impl Default for ValueGrid {
    /// Steps of 4e-9, values to ±16 and weights to 10,000 examples. This leaves room for a cohort of 190,000.
    fn default() -> Self {
        Self { fraction_bits: 28, value_max: 16.0, weight_max: 10_000 }
    }
}

impl ValueGrid {
    /// Converts a norm to steps of the grid, rounded down.
    pub fn norm_steps(&self, norm: f64) -> u64 {
        to_whole((norm * f64::from(self.fraction_bits).exp2()).floor())
    }
}
