//! A table of buffered Toeplitz factorisations that were optimised beforehand.

use super::blt::BufferedToeplitz;
use super::toeplitz::PrefixError;
use super::tree::ParticipationPattern;

/// The (θ, ω) of two buffers. Each case minimises sensitivity times largest prefix error for one number of rounds and
/// one participation pattern.
///
/// Found by the downhill simplex method (Nelder and Mead 1965). The first case agrees with jax-privacy 2.0.0 to seven
/// digits; the second is jax-privacy's own.
const TABLE: [([f64; 2], [f64; 2]); 10] = [
    // Rounds and participations: 100, 1; 200, 1; 1,000, 1; 2,048, 1.
    ([0.988_859_706, 0.772_988_852], [0.146_027_560, 0.323_539_953]),
    ([0.993_464_369, 0.828_705_387], [0.115_063_206, 0.332_726_635]),
    ([0.998_072_152, 0.908_060_868], [0.067_239_697, 0.319_751_949]),
    ([0.998_900_767, 0.930_126_869], [0.052_474_479, 0.304_553_506]),
    // Rounds, participations and separation: 100, 4, 25; 300, 4, 60; 500, 5, 100; 2,048, 5, 400.
    ([0.999_885_524, 0.898_296_976], [0.036_218_633, 0.399_249_593]),
    ([0.999_999_999, 0.946_687_887], [0.024_240_241, 0.328_010_418]),
    ([0.984_449_230, 0.648_429_457], [0.218_583_526, 0.280_569_445]),
    ([0.995_857_010, 0.828_065_741], [0.118_766_026, 0.330_684_438]),
    // Rounds, participations and separation: 1,000, 10, 100; 2,048, 20, 100.
    ([0.986_137_488, 0.631_973_149], [0.230_592_335, 0.278_042_931]),
    ([0.987_843_876, 0.604_035_346], [0.241_704_670, 0.265_994_723]),
];

impl BufferedToeplitz {
    /// Returns the factorisation of the table with the smallest loss for these rounds and this pattern, and its loss.
    ///
    /// The loss is sensitivity times largest prefix error, which is √(rounds·k) for independent noise. The table was
    /// optimised for 100 to 2,048 rounds. Outside that range, judge the choice by its loss.
    pub fn chosen_for(rounds: usize, pattern: ParticipationPattern) -> (Self, f64) {
        let candidates = TABLE.iter().map(|(decays, scales)| {
            let matrix =
                Self::new(decays.to_vec(), scales.to_vec()).expect("the table holds valid factorisations");
            let error = PrefixError::of_inverse(&matrix.inverse(rounds.max(1))).largest;
            let loss = matrix.toeplitz(rounds).sensitivity(pattern) * error;
            (matrix, loss)
        });
        candidates.min_by(|first, second| first.1.total_cmp(&second.1)).expect("the table is not empty")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(rounds: usize, participations: u64, separation: u64) -> f64 {
        let pattern = ParticipationPattern::new(participations, separation).unwrap();
        BufferedToeplitz::chosen_for(rounds, pattern).1
    }

    #[test]
    fn the_losses_are_those_that_are_known() {
        // Values of jax-privacy 2.0.0.
        assert!((loss(200, 1, 200) - 2.765_279_39).abs() < 1e-5);
        assert!(loss(300, 4, 60) < 7.162_08);
        // The optimum is 9.56 with two buffers and 9.50 with three.
        assert!((loss(2048, 5, 400) - 9.56).abs() < 0.01);
        // The optimum over all matrices is near the square root's 3.49.
        assert!(loss(2048, 1, 2048) < 3.59);
    }

    #[test]
    fn between_the_cases_the_noise_is_still_far_below_the_independent_one() {
        for (rounds, participations, separation) in [(150, 2, 60), (700, 3, 200), (4000, 8, 500), (1, 1, 1)] {
            let independent = ((rounds * participations) as f64).sqrt();
            let chosen = loss(rounds, participations as u64, separation);
            assert!(
                chosen <= independent * if rounds > 1 { 0.5 } else { 1.0 },
                "{rounds}: {chosen} {independent}"
            );
        }
    }
}
