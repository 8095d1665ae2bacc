//! Measures how often audits detect noise that is too small: a table of simulated runs.
//!
//! `cargo run --release -p folkmoot-privacy --example audit_power`
//!
//! Each printed line is for m canaries, a claimed noise multiplier z, and the standard deviation of the actual noise
//! divided by that of the claimed noise. The first three results are the shares of runs in which each bound contradicts
//! the claim. The last three are the medians of the bounds.

use folkmoot_privacy::{
    Delta, NoiseMultiplier, Relation,
    accountant::gaussian_epsilon,
    audit::{Audit, AuditSettings, AuditedClaim},
};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

/// The number of runs for each line.
const RUNS: u32 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut source = ChaCha20Rng::seed_from_u64(1);
    let delta = Delta::new(1e-6)?;
    println!(
        "    m     z  noise  epsilon  any mechanism  independent   medians: epsilon     mu  independent mu"
    );
    for canaries in [200, 1000, 5000] {
        let settings = AuditSettings::for_canaries(canaries, delta);
        for z in [0.5, 1.0, 2.0] {
            let multiplier = NoiseMultiplier::new(z, Relation::ZeroOut)?;
            let claims = [
                AuditedClaim::Epsilon { epsilon: gaussian_epsilon(multiplier, 1, delta) },
                AuditedClaim::Gaussian { mu: 1.0 / z },
                AuditedClaim::of_gaussian(multiplier, 1),
            ];
            for noise in [1.0, 0.5, 0.25] {
                let mut audits = Vec::new();
                for _ in 0..RUNS {
                    let [of_those_in, of_those_out] = scores(&mut source, canaries, 1.0 / (noise * z));
                    audits.push(Audit::of_scores(&of_those_in, &of_those_out, &settings)?);
                }
                let share = |claim: AuditedClaim| {
                    audits.iter().filter(|audit| audit.contradicts(claim)).count() as f64 / f64::from(RUNS)
                };
                let median = |bound: fn(&Audit) -> f64| {
                    let mut bounds: Vec<f64> = audits.iter().map(bound).collect();
                    bounds.sort_by(f64::total_cmp);
                    bounds[bounds.len() / 2]
                };
                let [by_epsilon, by_mu, by_independent] = claims.map(share);
                println!(
                    "{canaries:5} {z:5.2} {noise:6.2} {by_epsilon:8.2} {by_mu:14.2} {by_independent:12.2} \
                     {:18.3} {:6.3} {:15.3}",
                    median(|audit| audit.epsilon_lower.get()),
                    median(|audit| audit.mu_lower),
                    median(|audit| audit.independent_mu_lower),
                );
            }
        }
    }
    Ok(())
}

/// Simulates a run of an ideal Gaussian mechanism. Returns the scores of the canaries that were put in and of those
/// that were left out.
fn scores(source: &mut ChaCha20Rng, canaries: u64, mu: f64) -> [Vec<f64>; 2] {
    let mut scores = [Vec::new(), Vec::new()];
    for _ in 0..canaries {
        let is_out = source.next_u64() & 1 == 1;
        let mean = if is_out { 0.0 } else { mu };
        scores[usize::from(is_out)].push(mean + normal(source));
    }
    scores
}

/// Draws a standard normal number (Box and Muller 1958).
fn normal(source: &mut ChaCha20Rng) -> f64 {
    let mut uniform = || ((source.next_u64() >> 11) as f64 + 0.5) * f64::exp2(-53.0);
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}
