use crate::codec::Codec;
use crate::codec::transform::lloyd_max::DISTORTIONS;

/// Returns the theoretical normalised squared error `E |C(x) - x|^2 / |x|^2`, for normally distributed values if it
/// depends on the distribution. `None` if theory gives no number.
pub fn expected_error(codec: &Codec) -> Option<f64> {
    let half_normal = 1.0 - 2.0 / std::f64::consts::PI;
    let eden = |bits: u8, unbiased: bool| {
        let distortion = *DISTORTIONS.get(usize::from(bits).checked_sub(1)?)?;
        Some(if unbiased { 1.0 / (1.0 - distortion) - 1.0 } else { distortion })
    };
    match *codec {
        Codec::None => Some(0.0),
        Codec::OneBit | Codec::Sign => Some(half_normal),
        Codec::RandomK { share, unbiased } => Some(if unbiased { 1.0 / share - 1.0 } else { 1.0 - share }),
        Codec::Drive { unbiased, .. } => eden(1, unbiased),
        Codec::Eden { bits, unbiased, .. } => eden(bits, unbiased),
        _ => None,
    }
}
