use super::bytes::{self, Reader, StateError};
use super::{CorrelatedError, checked_draw};
use crate::accountant::{BUFFERS_MAX, BufferedToeplitz, ParticipationPattern};
use crate::budget::RangeError;
use crate::noise::{NoiseError, NoiseScale};
use crate::noise_multiplier::NoiseMultiplier;

/// The number of binary fraction digits of the decays and scales.
const COEFFICIENT_BITS: u32 = 30;

/// The number of binary fraction digits of the buffers.
const BUFFER_BITS: u32 = 12;

/// The maximum number of rounds.
const ROUNDS_MAX: u64 = 1 << 24;

/// Relative slack that covers the float64 rounding of the sensitivity.
const SLACK: f64 = 1.0 + 1e-9;

/// The noise of a buffered linear Toeplitz factorisation, round by round.
///
/// With discrete Gaussian draws z_t, the integer n_t = z_t − round(Σ_j ω_j·s_j) is added to round t's sum. Then each
/// buffer is updated: s_j ← θ_j·s_j + n_t. Up to rounding, this is the stream C⁻¹·z. The coefficients are fractions
/// with the denominator 2^30, the buffers have 12 binary fraction digits, and every product is rounded down.
///
/// # Privacy
/// Let x be the integer sums and r = x + n the releases. Given the earlier releases, round t shows x_t + z_t minus a
/// number that follows from the earlier n = r − x. For a neighbour x', the draw that explains the same r differs by
/// (C(x − x'))_t plus the difference of two roundings, an integer vector that is known before z_t is drawn. For any
/// releases, the norm of all these vectors is at most sens(C)·Δ + e·√(T·d), where e bounds the difference of two
/// roundings of one value (see `rounding_max`), T is the number of rounds and d the number of values.
///
/// So each round is a discrete Gaussian mechanism (Canonne, Kamath and Steinke 2020, theorem 4) whose sensitivity may
/// depend on the past, with a bounded sum of squares. All rounds together are (that norm)²/(2·scale²)-zCDP (Whitehouse,
/// Ramdas, Rogers and Wu 2023, "Fully adaptive composition in differential privacy", theorem 1). C is the matrix of the
/// rounded coefficients.
#[derive(Clone)]
pub struct BltNoise {
    count: usize,
    rounds: u64,
    done: u64,
    decays: Vec<i64>,
    scales: Vec<i64>,
    buffers: Vec<Vec<i64>>,
}

impl BltNoise {
    /// Begins a stream of noise with `count` values in each round, for at most `rounds` rounds.
    ///
    /// # Errors
    /// [`RangeError`] if a decay or a scale is below 2^-30, or there are no rounds or more than 2^24.
    pub fn new(matrix: &BufferedToeplitz, count: usize, rounds: u64) -> Result<Self, RangeError> {
        let is_right = (1..=ROUNDS_MAX).contains(&rounds);
        RangeError::unless(is_right, "rounds", rounds as f64, "at least 1 and at most 2^24")?;
        let fixed = |value: &f64| (value * f64::from(COEFFICIENT_BITS).exp2()).floor() as i64;
        let decays: Vec<i64> = matrix.decays().iter().map(fixed).collect();
        let scales: Vec<i64> = matrix.scales().iter().map(fixed).collect();
        let smallest = decays.iter().chain(&scales).copied().min().unwrap_or(0);
        RangeError::unless(smallest > 0, "coefficient in units of 2^-30", smallest as f64, "at least 1")?;
        let buffers = vec![vec![0; count]; decays.len()];
        Ok(Self { count, rounds, done: 0, decays, scales, buffers })
    }

    /// Returns the number of rounds that the noise was sized for.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns the scale of the draws: the multiplier times the L2 sensitivity of all rounds together, rounded up.
    ///
    /// `sensitivity` is the sensitivity to one participation, in grid steps. With this scale, all rounds together are
    /// 1/(2·multiplier²)-zCDP.
    ///
    /// # Errors
    /// [`RangeError`] if the factorisation with rounded coefficients is not valid, or the scale is out of range.
    pub fn noise_scale(
        &self,
        multiplier: NoiseMultiplier,
        sensitivity: f64,
        pattern: ParticipationPattern,
    ) -> Result<NoiseScale, RangeError> {
        let float = |values: &[i64]| -> Vec<f64> {
            values.iter().map(|value| *value as f64 / f64::from(COEFFICIENT_BITS).exp2()).collect()
        };
        let rounded = BufferedToeplitz::new(float(&self.decays), float(&self.scales))?;
        let of_matrix = rounded.toeplitz(self.rounds as usize).sensitivity(pattern);
        let of_rounding = self.rounding_max() * (self.rounds as f64 * self.count as f64).sqrt();
        NoiseScale::new(multiplier.get() * (of_matrix * sensitivity + of_rounding) * SLACK)
    }

    /// Bounds the part of the difference between two neighbours' corrections of one value that is caused by rounding.
    ///
    /// A buffer loses less than 2^-12 in each round, and the loss decays, so it stays below min(T, 1/(1 − θ))·2^-12.
    /// The error of the correction is Σ ω times that loss, plus half a step. Two corrections differ by at most twice
    /// this error.
    fn rounding_max(&self) -> f64 {
        let one = f64::from(COEFFICIENT_BITS).exp2();
        let lost = self.decays.iter().zip(&self.scales).map(|(decay, scale)| {
            let remembered = (one / (one - *decay as f64)).min(self.rounds as f64);
            *scale as f64 / one * remembered / f64::from(BUFFER_BITS).exp2()
        });
        2.0 * (0.5 + lost.sum::<f64>())
    }

    /// Returns the noise to add to the next round's sum. `draw` must return new discrete Gaussian draws of the right
    /// scale on each call.
    ///
    /// # Errors
    /// [`CorrelatedError`] if the draw failed or has the wrong length, the planned rounds are over, or a value does not
    /// fit into 64 bits.
    pub fn next_round(
        &mut self,
        mut draw: impl FnMut() -> Result<Vec<i64>, NoiseError>,
    ) -> Result<Vec<i64>, CorrelatedError> {
        if self.done >= self.rounds {
            return Err(CorrelatedError::Over { rounds: self.rounds });
        }
        let mut noise = checked_draw(&mut draw, self.count)?;
        for (index, value) in noise.iter_mut().enumerate() {
            let terms = self.buffers.iter().zip(&self.scales);
            let correction: i128 =
                terms.map(|(buffer, scale)| i128::from(buffer[index]) * i128::from(*scale)).sum();
            let shift = COEFFICIENT_BITS + BUFFER_BITS;
            let rounded = (correction + (1 << (shift - 1))) >> shift;
            *value = i64::try_from(i128::from(*value) - rounded).map_err(|_| CorrelatedError::Overflow)?;
        }
        let advanced = self.buffers.iter().zip(&self.decays).map(|(buffer, decay)| {
            let next = buffer.iter().zip(&noise).map(|(value, noise)| {
                let decayed = (i128::from(*value) * i128::from(*decay)) >> COEFFICIENT_BITS;
                i64::try_from(decayed + (i128::from(*noise) << BUFFER_BITS)).ok()
            });
            next.collect::<Option<Vec<i64>>>()
        });
        self.buffers = advanced.collect::<Option<_>>().ok_or(CorrelatedError::Overflow)?;
        self.done += 1;
        Ok(noise)
    }

    /// Serialises the state for [`BltNoise::from_bytes`]: 34 bytes, plus 8 for each coefficient and for each value of
    /// every buffer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let buffers = self.decays.len();
        let mut bytes = bytes::begin(bytes::BLT, 4 + buffers * (2 + self.count));
        for number in [buffers as u64, self.rounds, self.done, self.count as u64] {
            bytes.extend(number.to_le_bytes());
        }
        for numbers in [&self.decays, &self.scales].into_iter().chain(&self.buffers) {
            bytes::put(&mut bytes, numbers);
        }
        bytes
    }

    /// Restores a state. It allocates no more memory than the bytes need.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not a valid state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(bytes, bytes::BLT)?;
        let (buffers, rounds, done, count) =
            (reader.count()?, reader.count()?, reader.count()?, reader.count()?);
        let is_right = (1..=BUFFERS_MAX as u64).contains(&buffers);
        bytes::unless(is_right, "number of buffers", buffers, "at least 1 and at most 8")?;
        bytes::unless((1..=ROUNDS_MAX).contains(&rounds), "rounds", rounds, "at least 1 and at most 2^24")?;
        bytes::unless(done <= rounds, "rounds done", done, "at most the planned rounds")?;
        // The two vectors of coefficients are counted as two more values of each buffer.
        let values = count.saturating_add(2);
        let count = reader.expect_vectors(buffers, values)? - 2;
        let [decays, scales] = [(); 2].map(|()| reader.numbers(buffers as usize));
        let one = 1i64 << COEFFICIENT_BITS;
        let wrong = |allowed: std::ops::RangeInclusive<i64>, numbers: &[i64]| {
            numbers.iter().copied().find(|number| !allowed.contains(number))
        };
        if let Some(value) = wrong(1..=one - 1, &decays).or_else(|| wrong(1..=one, &scales)) {
            let (name, range) = ("a coefficient, in units of 2^-30,", "at least 1 and at most 2^30");
            return Err(StateError::Value { name, value: value as u64, range });
        }
        let buffers = (0..buffers).map(|_| reader.numbers(count)).collect();
        Ok(Self { count, rounds, done, decays, scales, buffers })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::noise_multiplier::Relation;

    fn matrix() -> BufferedToeplitz {
        BufferedToeplitz::new(vec![0.993_464, 0.828_705], vec![0.115_063, 0.332_726]).unwrap()
    }

    fn stream(matrix: &BufferedToeplitz, draws: &[i64]) -> Vec<i64> {
        let mut noise = BltNoise::new(matrix, 1, draws.len() as u64).unwrap();
        draws.iter().map(|draw| noise.next_round(|| Ok(vec![*draw])).unwrap()[0]).collect()
    }

    /// Returns the draws with which the mechanism would release `releases` for the sums `sums`.
    fn explained(matrix: &BufferedToeplitz, releases: &[i64], sums: &[i64]) -> Vec<i64> {
        let mut noise = BltNoise::new(matrix, 1, releases.len() as u64).unwrap();
        let rounds = releases.iter().zip(sums);
        rounds
            .map(|(release, sum)| {
                let without = noise.clone().next_round(|| Ok(vec![0])).unwrap()[0];
                let draw = release - sum - without;
                assert_eq!(noise.next_round(|| Ok(vec![draw])).unwrap()[0], release - sum);
                draw
            })
            .collect()
    }

    #[test]
    fn the_integers_follow_the_float_stream() {
        let draws: Vec<i64> = (1..=200).map(|step| (f64::from(step).sin() * 1e9) as i64).collect();
        let exact = matrix().apply_inverse(draws.iter().map(|draw| *draw as f64));
        for (value, exact) in stream(&matrix(), &draws).iter().zip(exact) {
            assert!((*value as f64 - exact).abs() < 5.0, "{value} {exact}");
        }
    }

    proptest! {
        #[test]
        fn neighbours_are_explained_by_draws_within_the_sensitivity(
            draws in prop::collection::vec(-1_000_000i64..1_000_000, 60),
            first in 0usize..20,
            moved in -10_000i64..10_000,
        ) {
            let matrix = matrix();
            let releases = stream(&matrix, &draws);
            // The sums of one run are zero; in its neighbour, a client is in rounds `first` and `first + 30`.
            let mut sums = vec![0; 60];
            sums[first] = moved;
            sums[first + 30] = moved;
            let other = explained(&matrix, &releases, &sums);
            let distance = draws.iter().zip(&other).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt();
            let pattern = ParticipationPattern::new(2, 30).unwrap();
            let noise = BltNoise::new(&matrix, 1, 60).unwrap();
            let multiplier = NoiseMultiplier::new(1.0, Relation::ZeroOut).unwrap();
            let allowed = noise.noise_scale(multiplier, moved.abs() as f64, pattern).unwrap().get();
            prop_assert!(distance <= allowed, "{} {}", distance, allowed);
            // The bound exceeds the norm of the worst rounds by no more than the allowance for rounding.
            let needed = matrix.toeplitz(60).sensitivity(pattern) * moved.abs() as f64;
            prop_assert!(allowed <= needed * 1.001 + 2.2 * 60f64.sqrt() * 1.1);
        }
    }

    #[test]
    fn rounds_beyond_the_plan_and_overflows_are_refused() {
        let mut noise = BltNoise::new(&matrix(), 1, 2).unwrap();
        assert_eq!(noise.next_round(|| Ok(vec![1 << 60])), Err(CorrelatedError::Overflow));
        noise.next_round(|| Ok(vec![1])).unwrap();
        noise.next_round(|| Ok(vec![1])).unwrap();
        assert_eq!(noise.next_round(|| Ok(vec![1])), Err(CorrelatedError::Over { rounds: 2 }));
        assert!(BltNoise::new(&matrix(), 1, 0).is_err());
        let tiny = BufferedToeplitz::new(vec![0.5], vec![1e-12]).unwrap();
        assert!(BltNoise::new(&tiny, 1, 1).is_err());
    }
}
