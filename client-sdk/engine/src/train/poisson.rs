//! Poisson sampling: each step draws every example by a coin of its own (Abadi et al. 2016, section 3.1, "lots").

use folkmoot_graph::random::below;
use folkmoot_protocol::TrainingPlan;

use crate::step::SecretChance;

/// Writes the examples of a step, in their order: each with the probability `expected` / `example_count`, which is exact,
/// and no matter whether another is drawn.
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

/// The steps in which `expected` examples at a time are as many as the plan's epochs have, rounded, and at least 1.
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
        // 3000 each, with a deviation of 50.5.
        assert!(counts.iter().all(|count| count.abs_diff(3000) < 300), "{counts:?}");
        // The binomial distribution of 20 coins of 0.15: 775 empty draws, 4856 of three, each with a deviation below 61.
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
        // A batch of two of four without Poisson would have both in a sixth: 3333.
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
