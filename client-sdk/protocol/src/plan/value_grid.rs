use serde::{Deserialize, Serialize};

/// The fixed-point grid on which updates are summed exactly.
///
/// A value `v` of an update with weight `w` is added as the integer nearest to `v · w · 2^fraction_bits`
/// (ties to even). Integers add up to the same sum in any order, so neither arrival, threads nor a replay
/// after a crash can change the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueGrid {
    /// Bits behind the point.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [28])))]
    pub fraction_bits: u32,
    /// The largest magnitude of an update's element; a larger one is refused.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [16.0])))]
    pub value_max: f32,
    /// The largest weight of an update; a client caps its own.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 536_870_912), extend("examples" = [10000])))]
    pub weight_max: u64,
}

impl Default for ValueGrid {
    /// Steps of 4e-9, values to ±16, weights to 10,000 examples: room for a cohort of 190,000.
    fn default() -> Self {
        Self { fraction_bits: 28, value_max: 16.0, weight_max: 10_000 }
    }
}
