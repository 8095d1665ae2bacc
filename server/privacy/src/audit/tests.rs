//! Tests of the audit's bounds on ideal mechanisms, over many simulated runs.

use std::collections::BTreeMap;

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

use super::*;
use crate::accountant::binomial;
use crate::accountant::special::{normal_above, normal_quantile};
use crate::noise_multiplier::Relation;

fn delta() -> Delta {
    Delta::new(1e-6).unwrap()
}

/// The way in which the noise depends on the canary.
#[derive(Clone, Copy)]
enum Hidden {
    /// Each canary is hidden by a Gaussian of its own.
    Independently,
    /// All canaries of a run are equally visible. For a single canary this makes no difference.
    Together,
}

struct Run {
    source: ChaCha20Rng,
}

impl Run {
    fn uniform(&mut self) -> f64 {
        (self.source.next_u64() >> 11) as f64 * f64::exp2(-53.0) + f64::exp2(-54.0)
    }

    /// Draws the scores of a run: N(μ, 1) for the canaries that are in and N(0, 1) for the others, up to a shift.
    fn scores(&mut self, canaries: u64, mu: f64, hidden: Hidden) -> [Vec<f64>; 2] {
        let mut scores = [Vec::new(), Vec::new()];
        let shared = normal_quantile(self.uniform()) + 0.5 * mu;
        for _ in 0..canaries {
            let is_in = self.source.next_u64() & 1 == 1;
            let sign = if is_in { 1.0 } else { -1.0 };
            let score = match hidden {
                Hidden::Independently => normal_quantile(self.uniform()) + 0.5 * mu * sign,
                // |x| is the same for all canaries. Given |x|, the sign of x is right with the probability 1/(1 +
                // e^(−μ|x|)).
                Hidden::Together => {
                    let is_right = self.uniform() < 1.0 / (1.0 + (-mu * shared.abs()).exp());
                    shared.abs() * if is_right { sign } else { -sign }
                }
            };
            // The audit counts ties among equal scores as wrong, so a little noise breaks them at random.
            scores[usize::from(!is_in)].push(score + 1e-9 * self.uniform());
        }
        scores
    }
}

/// Simulates runs and returns, for each of `claims`, the number of runs in which the audit contradicts it.
fn contradictions(
    settings: &AuditSettings,
    canaries: u64,
    mu: f64,
    hidden: Hidden,
    runs: u64,
    claims: &[AuditedClaim],
) -> Vec<u64> {
    let mut run = Run { source: ChaCha20Rng::seed_from_u64(canaries ^ mu.to_bits()) };
    // The bounds depend only on the numbers of right guesses, so audits with equal numbers are cached.
    let mut known: BTreeMap<Vec<u64>, Audit> = BTreeMap::new();
    let mut counts = vec![0; claims.len()];
    for _ in 0..runs {
        let [of_those_in, of_those_out] = run.scores(canaries, mu, hidden);
        let scores = guesses::Scores::new(&of_those_in, &of_those_out).unwrap();
        let right = settings.guesses.iter().map(|guesses| scores.right(*guesses)).collect();
        let audit = known
            .entry(right)
            .or_insert_with(|| Audit::of_scores(&of_those_in, &of_those_out, settings).unwrap());
        for (count, claim) in counts.iter_mut().zip(claims) {
            *count += u64::from(audit.contradicts(*claim));
        }
    }
    counts
}

fn one_trial(guesses: u64) -> AuditSettings {
    AuditSettings { guesses: vec![guesses], confidence: 0.95, delta: delta() }
}

fn claims(mu: f64) -> [AuditedClaim; 3] {
    let epsilon = gaussian_epsilon_of_mu(mu, delta());
    [
        AuditedClaim::Epsilon { epsilon },
        AuditedClaim::Gaussian { mu },
        AuditedClaim::IndependentGaussian { mu },
    ]
}

/// Returns the smallest count that a binomial variable with the probability 0.05 exceeds with a probability below a
/// millionth.
fn allowed(runs: u64) -> u64 {
    (0..=runs).find(|count| binomial::at_least(count + 1, runs, 0.05) < 1e-6).unwrap()
}

#[test]
fn correct_noise_is_contradicted_in_at_most_one_run_of_twenty() {
    const RUNS: u64 = 400;
    for (canaries, guesses) in [(200, 200), (200, 20), (1000, 1000), (1000, 100)] {
        for mu in [0.5, 2.0] {
            let counts =
                contradictions(&one_trial(guesses), canaries, mu, Hidden::Independently, RUNS, &claims(mu));
            assert!(
                counts.iter().all(|count| *count <= allowed(RUNS)),
                "{canaries} {guesses} {mu}: {counts:?}"
            );
        }
    }
    let counts = contradictions(
        &AuditSettings::for_canaries(320, delta()),
        320,
        1.0,
        Hidden::Independently,
        RUNS,
        &claims(1.0),
    );
    assert!(counts.iter().all(|count| *count <= allowed(RUNS)), "{counts:?}");
}

#[test]
fn the_bound_for_independent_canaries_is_sharp() {
    // The bound must be above the truth in some runs; otherwise it is looser than its confidence requires.
    const RUNS: u64 = 400;
    for guesses in [200, 50] {
        let counts =
            contradictions(&one_trial(guesses), 200, 1.0, Hidden::Independently, RUNS, &claims(1.0)[2..]);
        assert!(counts[0] >= RUNS / 100, "{guesses}: {counts:?}");
    }
}

#[test]
fn canaries_that_are_hidden_together_do_not_fool_the_bounds_for_any_mechanism() {
    const RUNS: u64 = 400;
    for guesses in [500, 100] {
        let counts = contradictions(&one_trial(guesses), 500, 1.0, Hidden::Together, RUNS, &claims(1.0));
        assert!(counts[..2].iter().all(|count| *count <= allowed(RUNS)), "{guesses}: {counts:?}");
        // The third bound fails without its assumption of independent noise.
        assert!(guesses < 500 || counts[2] > 2 * allowed(RUNS), "{guesses}: {counts:?}");
    }
}

#[test]
fn halved_noise_is_found() {
    const RUNS: u64 = 100;
    for z in [0.5, 1.0, 2.0] {
        let claimed = AuditedClaim::of_gaussian(NoiseMultiplier::new(z, Relation::ZeroOut).unwrap(), 1);
        let settings = AuditSettings::for_canaries(1000, delta());
        let counts = contradictions(&settings, 1000, 2.0 / z, Hidden::Independently, RUNS, &[claimed]);
        assert!(counts[0] >= RUNS * 99 / 100, "{z}: {counts:?}");
    }
}

#[test]
fn a_canary_that_was_not_clipped_is_found_under_every_claim() {
    const RUNS: u64 = 100;
    // The canaries have four times the clipping norm; the claimed multiplier is 2.
    let settings = AuditSettings::for_canaries(1000, delta());
    let counts = contradictions(&settings, 1000, 4.0 / 2.0, Hidden::Independently, RUNS, &claims(1.0 / 2.0));
    assert!(counts[1] >= RUNS * 99 / 100 && counts[2] == RUNS, "{counts:?}");
}

#[test]
fn missing_noise_is_found_by_the_bound_on_epsilon() {
    let settings = AuditSettings::for_canaries(1000, delta());
    let audit = Audit::of_scores(&[1.0; 500], &[0.0; 500], &settings).unwrap();
    assert_eq!(audit.trials[0].right, 1000);
    assert!(audit.epsilon_lower.get() > 5.0 && audit.mu_lower > 2.0, "{audit:?}");
    assert!(audit.independent_mu_lower > 5.0 && audit.contradicts(claims(1.0)[0]));
    let json = serde_json::to_string(&audit).unwrap();
    let restored: Audit = serde_json::from_str(&json).unwrap();
    assert_eq!(restored.trials.len(), 3);
    assert!((restored.mu_lower - audit.mu_lower).abs() < 1e-12);
}

#[test]
fn scores_that_say_nothing_contradict_nothing() {
    let settings = AuditSettings::for_canaries(100, delta());
    let audit = Audit::of_scores(&[1.0; 60], &[1.0; 40], &settings).unwrap();
    assert_eq!((audit.epsilon_lower.get(), audit.mu_lower, audit.independent_mu_lower), (0.0, 0.0, 0.0));
    assert_eq!(audit.epsilon_of_mu_lower.get(), 0.0);
    assert!(!audit.contradicts(AuditedClaim::of_gaussian_rho(Rho::new(0.0).unwrap())));
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let refused = |settings: AuditSettings| {
        Audit::of_scores(&[1.0, 2.0], &[0.0], &settings).expect_err("settings that do not fit").to_string()
    };
    assert!(refused(one_trial(4)).contains("number of guesses is 4"));
    assert!(refused(one_trial(0)).contains("number of guesses is 0"));
    assert!(refused(AuditSettings { guesses: vec![], ..one_trial(1) }).contains("number of trials"));
    for confidence in [0.0, 1.0, f64::NAN] {
        assert!(refused(AuditSettings { confidence, ..one_trial(1) }).contains("confidence"));
    }
    assert!(Audit::of_scores(&[], &[], &one_trial(1)).is_err());
    let error = Audit::of_scores(&[f64::NAN], &[0.0], &one_trial(1)).unwrap_err();
    assert!(error.to_string().contains("score 0 of the canaries that were in"), "{error}");
}

#[test]
fn the_mechanism_whose_canaries_are_hidden_together_is_the_gaussian_for_each() {
    // Over all |x|, the sign is right with the probability Φ(μ/2).
    let mut run = Run { source: ChaCha20Rng::seed_from_u64(7) };
    let rights: usize = (0..20_000)
        .map(|_| {
            let [of_those_in, of_those_out] = run.scores(1, 1.0, Hidden::Together);
            let is_right = |score: &f64| *score > 0.0;
            of_those_in.iter().filter(|score| is_right(score)).count()
                + of_those_out.iter().filter(|score| !is_right(score)).count()
        })
        .sum();
    assert!((rights as f64 / 20_000.0 - normal_above(-0.5)).abs() < 0.02, "{rights}");
}
