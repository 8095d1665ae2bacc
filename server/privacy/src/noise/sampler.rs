//! Discrete Gaussian draws by opendp, whose sampler is exact and whose proofs are public.

use std::sync::atomic::{AtomicBool, Ordering};

use opendp::{
    core::Measurement,
    domains::{AtomDomain, VectorDomain},
    measurements::make_gaussian,
    measures::ZeroConcentratedDivergence,
    metrics::L2Distance,
};

use super::{NoiseError, NoiseScale};

/// The number of draws between two checks for cancellation.
const BLOCK: usize = 1024;

type Integers = VectorDomain<AtomDomain<i64>>;
type GaussianMeasurement = Measurement<Integers, L2Distance<f64>, ZeroConcentratedDivergence, Vec<i64>>;

/// Creates opendp's measurement. It can neither move nor be shared between threads, so each thread creates its own.
fn measurement(scale: NoiseScale) -> Result<GaussianMeasurement, NoiseError> {
    let domain = VectorDomain::new(AtomDomain::default());
    make_gaussian(domain, L2Distance::default(), scale.get(), None).map_err(NoiseError::from_opendp)
}

/// Fills `noise` with draws. Stops between two blocks if `is_cancelled` is set.
pub(super) fn fill(
    noise: &mut [i64],
    scale: NoiseScale,
    is_cancelled: &AtomicBool,
) -> Result<(), NoiseError> {
    let measurement = measurement(scale)?;
    let zeros = vec![0; BLOCK.min(noise.len())];
    for block in noise.chunks_mut(BLOCK) {
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(NoiseError::Cancelled);
        }
        let drawn = measurement.invoke(&zeros[..block.len()].to_vec()).map_err(NoiseError::from_opendp)?;
        block.copy_from_slice(&drawn);
    }
    Ok(())
}

/// Computes ρ by opendp's own privacy map, rounded up. This proves that the scale matches the ledger.
///
/// `sensitivity` is the L2 sensitivity in grid steps.
///
/// # Errors
/// [`NoiseError::Sampler`] if opendp rejects the numbers.
pub fn rho_by_privacy_map(scale: NoiseScale, sensitivity: f64) -> Result<f64, NoiseError> {
    measurement(scale)?.map(&sensitivity).map_err(NoiseError::from_opendp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_privacy_map_is_the_formula() {
        let scale = NoiseScale::new(5.0).unwrap();
        assert!((rho_by_privacy_map(scale, 2.0).unwrap() - 0.08).abs() < 1e-15);
        assert!(rho_by_privacy_map(scale, -1.0).is_err() && rho_by_privacy_map(scale, f64::NAN).is_err());
    }

    #[test]
    fn a_cancelled_draw_stops() {
        let cancelled = AtomicBool::new(true);
        let error = fill(&mut [0; 10], NoiseScale::new(1.0).unwrap(), &cancelled).unwrap_err();
        assert_eq!(error, NoiseError::Cancelled);
    }
}
