//! Poisson sampling: each step draws every example independently (Abadi et al. 2016, section 3.1, "lots").

use folkmoot_graph::random::below;
use folkmoot_protocol::TrainingPlan;

use crate::step::SecretChance;

/// Writes the examples of a step in ascending order. Each is drawn independently with probability exactly `expected` /
/// `example_count`.
pub(crate) fn draw_examples(
    rows: &mut Vec<usize>,
    example_count: usize,
    expected: usize,
    chance: &mut dyn SecretChance,
) {
    rows.clear();
    let is_all = expected >= example_count;
    let mut is_drawn = || is_all || below(|| chance.word(), example_count as u64) < expected as u64;
    rows.extend((0..example_count).filter(|_| is_drawn()));
}

/// Returns the number of steps of the training. Together they see as many examples as the plan's epochs, if each step
/// sees `expected` examples. Rounded, and at least 1.
pub(crate) fn steps(plan: &TrainingPlan, example_count: usize, expected: usize) -> u64 {
    let (examples, expected) = (example_count as u128, expected as u128);
    let steps = (u128::from(plan.epochs) * examples + expected / 2) / expected;
    u64::try_from(steps).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;
    use crate::step::testing::SeededChance;

    #[test]
    fn every_example_is_drawn_at_the_same_rate_and_sizes_vary() {
        let mut chance = SeededChance::new(1);
        let (mut rows, mut counts, mut sizes) = (Vec::new(), [0u32; 20], [0u32; 21]);
        for _ in 0..20_000 {
            draw_examples(&mut rows, 20, 3, &mut chance);
            assert!(rows.is_sorted_by(|a, b| a < b));
            rows.iter().for_each(|row| counts[*row] += 1);
            sizes[rows.len()] += 1;
        }
        // Expected: 3000 each, with a standard deviation of 50.5.
        assert!(counts.iter().all(|count| count.abs_diff(3000) < 300), "{counts:?}");
        // The size of a draw has a binomial distribution with 20 trials of probability 0.15. The expected counts are
        // 775 empty draws and 4856 draws of three examples; each standard deviation is below 61.
        for (size, expected) in [(0, 775.2), (1, 2736.0), (3, 4856.0), (8, 107.9)] {
            assert!((f64::from(sizes[size]) - expected).abs() < 366.0, "{size}: {sizes:?}");
        }
        assert!(sizes[0] > 500);
    }

    #[test]
    fn two_examples_are_drawn_together_as_often_as_by_chance() {
        let mut chance = SeededChance::new(2);
        let (mut rows, mut both) = (Vec::new(), 0);
        for _ in 0..20_000 {
            draw_examples(&mut rows, 4, 2, &mut chance);
            both += u32::from(rows.contains(&0) && rows.contains(&3));
        }
        // Fixed-size batches of two of the four examples would contain both in a sixth of the draws: 3333.
        assert!(both.abs_diff(5000) < 370, "{both}");
    }

    #[test]
    fn a_batch_of_all_needs_no_coins() {
        struct NoChance;
        impl SecretChance for NoChance {
            fn word(&mut self) -> u64 {
                panic!("nothing is to be decided")
            }
            fn add_noise(&mut self, _: &mut [i64], _: u64) {}
        }
        let mut rows = vec![7];
        draw_examples(&mut rows, 3, 3, &mut NoChance);
        assert_eq!(rows, [0, 1, 2]);
    }

    #[test]
    fn steps_go_over_the_examples_as_often_as_the_plan_says_rounded() {
        let plan = TrainingPlan::new(Loss::Hinge, LocalOptimizer::sgd(0.1));
        let steps =
            |epochs, examples, expected| steps(&TrainingPlan { epochs, ..plan.clone() }, examples, expected);
        assert_eq!([steps(1, 10, 4), steps(2, 10, 4), steps(1, 9, 4), steps(1, 10, 10)], [3, 5, 2, 1]);
        assert_eq!(steps(1, 1, 1), 1);
        assert_eq!(steps(u32::MAX, usize::MAX, 1), u64::MAX);
    }
}
