use serde::{Deserialize, Serialize};

/// Local differential privacy: noise that the client adds to its update before it leaves the device. Both numbers are
/// in steps of the plan's grid (2^-fraction_bits).
///
/// The client scales the update to `clipping_norm` and adds discrete Gaussian noise of `scale` to every element. To
/// reveal nothing else, it sets the weight to 1 and the metrics to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalNoise {
    /// The largest L2 norm over all tensors before the noise.
    pub clipping_norm: u64,
    /// The scale of the noise, at least 1. It equals the standard deviation except for rounding.
    pub scale: u64,
}
