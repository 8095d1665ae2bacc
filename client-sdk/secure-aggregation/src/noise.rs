use folkmoot_protocol::secure::{SecureTerms, SecureTermsFault};

use crate::parameters::{count, tolerated};

/// The probability β of the bound on a rounded norm: Kairouz, Liu and Steinke 2021, section 4.1.
const ROUNDING_LN_BETA: f64 = -0.5;
/// A margin for the rounding of float64. It also covers the distance of a sum of discrete Gaussians from a discrete Gaussian,
/// which the coordinator checks when a task is created.
const MARGIN: f64 = 1.0 + 1e-9;
/// The largest scale of a client's noise, in steps.
const SCALE_MAX: f64 = (1u64 << 52) as f64;

/// One client's share of the noise that makes a sum private, in steps of the plan's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseShare {
    /// The largest L2 norm of an update before it is rounded.
    pub clipping_norm: u64,
    /// The largest L2 norm of a rounded update.
    pub norm_max: u64,
    /// The standard deviation of the share, at least 1.
    pub scale: u64,
    /// The number of shares of honest clients in the smallest sum.
    pub shares: u64,
}

/// No share of noise makes the sum private.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoiseShareError {
    /// The terms are invalid.
    #[error(transparent)]
    Terms(#[from] SecureTermsFault),
    /// All clients of the smallest sum may collude.
    #[error(
        "the smallest sum may consist of colluding clients, who know their own noise; lower corrupt_share, or raise the minimum \
         cohort"
    )]
    NobodyHonest,
    /// The scale is too large for the grid.
    #[error(
        "each client would add noise of {0} steps, but at most 2^52 are possible; lower grid.fraction_bits"
    )]
    Scale(f64),
}

impl NoiseShare {
    /// Derives the share from the terms, for updates of `parameter_count` values; `None` if the terms ask for no noise.
    ///
    /// A client opens no sum of fewer survivors than the terms allow. At least [`NoiseShare::shares`] of them are honest, and
    /// their shares together have the standard deviation of the terms: multiplier · norm_max.
    ///
    /// # Errors
    /// [`NoiseShareError`] if there is no such share.
    pub fn of(terms: &SecureTerms, parameter_count: u64) -> Option<Result<Self, NoiseShareError>> {
        let noise = terms.noise?;
        if let Err(fault) = terms.check() {
            return Some(Err(fault.into()));
        }
        let norm_max = rounded_norm_bound(noise.clipping_norm as f64, parameter_count).ceil();
        let shares = honest_min(terms);
        let scale = (noise.noise_multiplier * norm_max / (shares as f64).sqrt() * MARGIN).ceil();
        Some(match shares {
            0 => Err(NoiseShareError::NobodyHonest),
            _ if scale > SCALE_MAX => Err(NoiseShareError::Scale(scale)),
            _ => Ok(Self {
                clipping_norm: noise.clipping_norm,
                norm_max: norm_max as u64,
                scale: scale as u64,
                shares,
            }),
        })
    }
}

/// Bounds the L2 norm of a vector whose values were rounded up or down at random, without bias: at least four of ten roundings
/// are within the bound. `norm` is the norm before rounding, in steps. Kairouz, Liu and Steinke 2021, proposition 22:
/// min(c + √d, √(c² + d/4 + √(2·ln(1/β))·(c + √d/2))).
pub fn rounded_norm_bound(norm: f64, dimension: u64) -> f64 {
    let root = (dimension as f64).sqrt();
    let likely = norm * norm + 0.25 * root * root + (-2.0 * ROUNDING_LN_BETA).sqrt() * (norm + 0.5 * root);
    (norm + root).min(likely.sqrt())
}

/// Returns the smallest number of honest clients in a sum that clients help to unmask.
fn honest_min(terms: &SecureTerms) -> u64 {
    let honest = |members| {
        let survivors = terms.cohort_min.max(tolerated(terms, members));
        survivors.saturating_sub(count(members, terms.corrupt_share))
    };
    (terms.cohort_min..=terms.cohort_max).map(honest).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::secure::{DistributedNoise, Threat};
    use proptest::prelude::*;

    use super::*;

    fn terms(cohort: (u64, u64), shares: (f64, f64), clipping_norm: u64) -> SecureTerms {
        let noise = Some(DistributedNoise { clipping_norm, noise_multiplier: 2.0 });
        SecureTerms {
            cohort_min: cohort.0,
            cohort_max: cohort.1,
            corrupt_share: shares.0,
            dropout_share: shares.1,
            threat: Threat::HonestButCurious,
            is_weighted: false,
            noise,
        }
    }

    #[test]
    fn shares_are_sized_for_the_honest_clients_of_the_smallest_sum() {
        let share = |terms| NoiseShare::of(&terms, 10_000).unwrap();
        // 50 survive, 6 of 60 collude: 44 honest shares.
        let found = share(terms((50, 60), (0.1, 0.5), 1 << 20)).unwrap();
        assert_eq!(found.shares, 44);
        // The root of (2^20)² + 10,000/4 + 2^20 + 50, rounded up.
        assert_eq!(found.norm_max, 1_048_577);
        assert_eq!(found.scale, (2.0 * 1_048_577.0 / 44f64.sqrt() * MARGIN).ceil() as u64);
        // With few drop-outs, more survive of the largest roster: 54 of 60. But of 55, 50 may survive, and 6 collude.
        assert_eq!(share(terms((50, 60), (0.1, 0.1), 1 << 20)).unwrap().shares, 44);
        assert_eq!(share(terms((50, 50), (0.1, 0.1), 1 << 20)).unwrap().shares, 45);
        assert_eq!(share(terms((3, 3), (0.9, 0.0), 1)), Err(NoiseShareError::NobodyHonest));
        let far = share(terms((3, 3), (0.0, 0.0), 1 << 53));
        assert!(matches!(far, Err(NoiseShareError::Scale(scale)) if scale > SCALE_MAX));
        let endless = share(terms((3, u64::MAX), (0.0, 0.0), 1));
        assert!(matches!(endless, Err(NoiseShareError::Terms(_))), "{endless:?}");
        let none = SecureTerms { noise: None, ..terms((3, 3), (0.0, 0.0), 1) };
        assert_eq!(NoiseShare::of(&none, 1), None);
    }

    #[test]
    fn rounding_adds_little_on_a_fine_grid_and_much_on_a_coarse_one() {
        assert!(rounded_norm_bound(4096.0, 1_000_000) < 4096.0 * 1.01);
        assert!(rounded_norm_bound(256.0, 1_000_000) > 256.0 * 2.0);
        assert_eq!(rounded_norm_bound(1.0, 1), 2.75f64.sqrt());
    }

    proptest! {
        #[test]
        fn the_honest_shares_of_any_sum_have_the_whole_noise(
            least in 3u64..200, more in 0u64..200, corrupt in 0.0..0.5f64, dropout in 0.0..0.5f64,
            members in 0u64..200, lost in 0.0..1.0f64,
        ) {
            let terms = terms((least, least + more), (corrupt, dropout), 1 << 20);
            let members = least + members.min(more);
            let fewest = least.max(tolerated(&terms, members));
            let survivors = fewest + (lost * (members - fewest) as f64) as u64;
            if let Ok(share) = NoiseShare::of(&terms, 1000).unwrap() {
                let honest = survivors.saturating_sub(count(members, corrupt)) as f64;
                let deviation = honest.sqrt() * share.scale as f64;
                prop_assert!(deviation >= 2.0 * share.norm_max as f64);
            }
        }
    }
}
