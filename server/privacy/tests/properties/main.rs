//! Epsilon rises with the sampling rate and the rounds, and falls with noise and delta. Every extreme has an answer.

use folkmoot_privacy::{
    Delta, NoiseMultiplier, Relation, SamplingRate,
    accountant::{
        Orders, RdpCurve, gaussian_epsilon, poisson_gaussian_epsilon, rho_of_gaussian, zcdp_epsilon,
    },
};
use proptest::{prelude::*, test_runner::RngSeed};

/// The arguments that epsilon depends on.
#[derive(Clone, Copy, Debug)]
struct Point {
    rate: f64,
    multiplier: f64,
    steps: u64,
    delta: f64,
}

impl Point {
    fn multiplier(&self, relation: Relation) -> NoiseMultiplier {
        NoiseMultiplier::new(self.multiplier, relation).expect("a point is valid and has a bound")
    }

    fn rate(&self) -> SamplingRate {
        SamplingRate::new(self.rate).expect("a point is valid and has a bound")
    }

    fn delta(&self) -> Delta {
        Delta::new(self.delta).expect("a point is valid and has a bound")
    }

    fn by_rdp(&self) -> f64 {
        let multiplier = self.multiplier(Relation::AddOrRemove);
        let curve = RdpCurve::of_poisson_gaussian(self.rate(), multiplier, Orders::default())
            .expect("a point is valid and has a bound");
        curve.times(self.steps).epsilon(self.delta()).expect("a point is valid and has a bound").get()
    }

    fn by_pld(&self, relation: Relation) -> Option<f64> {
        let epsilon =
            poisson_gaussian_epsilon(self.rate(), self.multiplier(relation), self.steps, self.delta());
        epsilon.map(|epsilon| epsilon.get())
    }

    fn by_zcdp(&self) -> f64 {
        zcdp_epsilon(rho_of_gaussian(self.multiplier(Relation::ZeroOut), self.steps), self.delta()).get()
    }

    fn exact_unsampled(&self) -> f64 {
        gaussian_epsilon(self.multiplier(Relation::ZeroOut), self.steps, self.delta()).get()
    }

    /// Points at which epsilon must be at least as large.
    fn worse(&self, factor: f64) -> [Self; 4] {
        [
            Self { rate: (self.rate * factor).min(1.0), ..*self },
            Self { multiplier: self.multiplier / factor, ..*self },
            Self { steps: (self.steps as f64 * factor).ceil() as u64, ..*self },
            Self { delta: self.delta / factor, ..*self },
        ]
    }
}

fn points() -> impl Strategy<Value = Point> {
    (-6.0f64..0.0, -0.3f64..2.0, 0.0f64..4.0, -10.0f64..-2.0).prop_map(|(rate, multiplier, steps, delta)| {
        let [rate, multiplier, steps, delta] = [rate, multiplier, steps, delta].map(|ten| 10f64.powf(ten));
        Point { rate, multiplier, steps: steps as u64, delta }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_renyi_bounds_are_monotone(point in points(), factor in 1.001f64..4.0) {
        for worse in point.worse(factor) {
            prop_assert!(worse.by_rdp() >= point.by_rdp() * (1.0 - 1e-9), "{:?}", worse);
            prop_assert!(worse.by_zcdp() >= point.by_zcdp() * (1.0 - 1e-9), "{:?}", worse);
            prop_assert!(worse.exact_unsampled() >= point.exact_unsampled() * (1.0 - 1e-9), "{:?}", worse);
        }
        // Sampling only ever helps, and the exact curve is below its bound.
        let unsampled = Point { rate: 1.0, ..point }.by_rdp();
        prop_assert!(point.by_rdp() <= unsampled * (1.0 + 1e-9));
        prop_assert!(point.exact_unsampled() <= point.by_zcdp() * (1.0 + 1e-9));
    }
}

/// Epsilons from the loss distribution are upper bounds, each computed on its own grid. Where losses are rare and delta
/// is small, the bounds of two equal epsilons can lie 0.17 % apart (rate 2.07e-5, multiplier 0.659, 3 steps, delta
/// 4.6e-10: 0.02888 and 0.02883).
const GRID: f64 = 0.995;

/// A fixed seed, because [`GRID`] is a measurement and no bound.
fn grid_config() -> ProptestConfig {
    ProptestConfig {
        cases: 12,
        rng_seed: RngSeed::Fixed(3),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(grid_config())]

    #[test]
    fn the_loss_distribution_is_monotone_and_below_the_bounds(point in points(), factor in 1.05f64..4.0) {
        for relation in [Relation::AddOrRemove, Relation::ReplaceOne] {
            let Some(epsilon) = point.by_pld(relation) else { continue };
            for worse in point.worse(factor).iter().filter_map(|worse| worse.by_pld(relation)) {
                prop_assert!(worse >= epsilon * GRID - 1e-6, "{} {}", worse, epsilon);
            }
        }
        let Some(epsilon) = point.by_pld(Relation::AddOrRemove) else { return Ok(()) };
        prop_assert!(epsilon * GRID <= point.by_rdp() + 1e-6, "{} {}", epsilon, point.by_rdp());
        prop_assert!(epsilon * GRID <= point.exact_unsampled() + 1e-6);
        // Under replace-one the other update may point in the opposite direction.
        let replaced = Point { multiplier: point.multiplier / 2.0, ..point }.by_pld(Relation::ReplaceOne);
        prop_assert!(replaced.is_none_or(|replaced| replaced >= epsilon * GRID - 1e-6));
    }
}

#[test]
fn every_extreme_has_an_answer() {
    let mut unanswered = 0;
    for rate in [1e-9, 0.01, 1.0] {
        for multiplier in [0.05, 1.0, 1e4] {
            for steps in [1, 1_000_000] {
                for delta in [1e-12, 1e-5] {
                    let point = Point { rate, multiplier, steps, delta };
                    let [by_rdp, by_zcdp, exact] = [point.by_rdp(), point.by_zcdp(), point.exact_unsampled()];
                    for epsilon in [by_rdp, by_zcdp, exact] {
                        assert!(epsilon >= 0.0 && epsilon.is_finite(), "{point:?}: {epsilon}");
                    }
                    match point.by_pld(Relation::ZeroOut) {
                        Some(epsilon) => {
                            assert!(epsilon <= by_rdp * 1.02 + 1e-5, "{point:?}: {epsilon} {by_rdp}");
                            let floor = if rate == 1.0 { exact } else { 0.0 };
                            assert!(epsilon >= floor * (1.0 - 1e-9), "{point:?}: {epsilon} {exact}");
                        }
                        // The loss of one step is in the hundreds: the Rényi bound answers instead.
                        None => unanswered += 1,
                    }
                }
            }
        }
    }
    assert!(unanswered <= 12, "{unanswered}");
}

/// A lower bound on epsilon: no test tells the neighbours apart better than the optimal one, and this one asks whether any
/// step's output exceeds a threshold. Where large losses are rare, it is nearly optimal.
fn lower_bound(point: Point) -> f64 {
    let above = |x: f64| 0.5 * libm::erfc(x / (point.multiplier * 2f64.sqrt()));
    let in_any_step = |p: f64| -(point.steps as f64 * (-p).ln_1p()).exp_m1();
    let thresholds = (0..1000).map(|index| f64::from(index) * 0.005);
    let chances: Vec<[f64; 2]> = thresholds
        .map(|t| [(1.0 - point.rate) * above(t) + point.rate * above(t - 1.0), above(t)].map(in_any_step))
        .collect();
    let delta = |epsilon: f64| {
        chances.iter().map(|[with, without]| with - epsilon.exp() * without).fold(0.0, f64::max)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if delta(middle) > point.delta { low = middle } else { high = middle }
    }
    low
}

/// Here many tiny losses meet a few large ones, and the rounding errors of the transform decide how close the bound is.
#[test]
fn rare_large_losses_are_bounded_closely() {
    let point = Point {
        rate: 1.9374574723204893e-6,
        multiplier: 0.5083465227865642,
        steps: 71,
        delta: 6.263881882515672e-10,
    };
    let epsilon = point.by_pld(Relation::AddOrRemove).expect("it has a bound");
    let lower = lower_bound(point);
    assert!(epsilon >= lower && epsilon < lower * 1.02, "{lower} {epsilon}");
}
