//! The privacy planner: the noise that a budget requires, and whether a model can learn with it.

mod verdict;

use serde::Serialize;
use verdict::HARMLESS;
pub use verdict::{Verdict, noise_to_signal_over_rounds};

use crate::accountant::{rho_for_epsilon, rho_of_gaussian};
use crate::budget::{Delta, Epsilon, RangeError, Rho, SamplingRate, Unit};
use crate::calibrate::{CalibrateError, smallest_multiplier};
use crate::claim::{Cost, epsilon_by_loss_distribution};
use crate::ledger::{Charge, Participation};
use crate::noise_multiplier::{NoiseMultiplier, Relation};
use crate::opinion::Opinion;

/// The maximum number of points on the epsilon curve.
const CURVE_POINTS: u64 = 64;

/// A planned training. It claims either the default (no amplification, capped participations) or Poisson sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Intention {
    /// The number of clients in the population.
    pub clients: u64,
    /// The number of updates that a round sums, and the divisor of the sum.
    pub report_goal: u64,
    /// The number of rounds.
    pub rounds: u64,
    /// The maximum number of rounds a client can be in. Ignored where Poisson sampling is claimed.
    pub participations_max: u64,
    /// True to claim that each round draws every client independently with probability report goal / clients.
    pub is_poisson_claimed: bool,
    /// The epsilon that all rounds together may spend.
    pub epsilon: Epsilon,
    /// The delta at which epsilon must hold.
    pub delta: Delta,
    /// The privacy unit.
    pub unit: Unit,
    /// The number of parameters of the model.
    pub parameters: u64,
    /// The L2 norm to which updates are clipped, above 0.
    pub clipping_norm: f64,
}

/// The cost of a plan, and a verdict on whether the model can learn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The standard deviation of the noise on a round's sum, divided by the clipping norm.
    pub noise_multiplier: NoiseMultiplier,
    /// Epsilon of the worst-off client after all rounds, by the accountant that enforces a task's budget.
    pub epsilon: Epsilon,
    /// The same epsilon by the privacy loss distribution, where Poisson sampling is claimed: tighter, for display only.
    pub epsilon_by_loss_distribution: Option<Epsilon>,
    /// ρ of the worst-off client, where no sampling is claimed.
    pub rho: Option<Rho>,
    /// The probability with which a client is drawn, where Poisson sampling is claimed.
    pub sampling_rate: Option<SamplingRate>,
    /// The standard deviation of the noise on each parameter of the mean update: z·C/m.
    pub mean_noise_deviation: f64,
    /// The norm of the noise on the mean update, in clipping norms: z·√d/m. The mean update's own norm is at most 1.
    pub noise_to_signal: f64,
    /// The same ratio over all rounds, z·√d/(m·√T): noise adds up as √T, steps in one direction as T.
    pub noise_to_signal_over_rounds: f64,
    /// Pairs of a count and the epsilon after it. The count is the number of versions that a client was in or, where
    /// Poisson sampling is claimed, the number of rounds.
    pub epsilon_curve: Vec<(u64, Epsilon)>,
    /// A verbal rating of the epsilon.
    pub opinion: Opinion,
    /// Whether the model can learn in spite of the noise.
    pub verdict: Verdict,
    /// Changes that would help; empty if the noise is harmless.
    pub advice: Vec<Advice>,
}

/// A change that would help by itself, with the numbers that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Advice {
    /// Collect more updates in a round, so that they share the noise.
    RaiseReportGoal {
        /// A report goal at which the noise is harmless.
        report_goal: u64,
        /// True if the population can fill such rounds while every client keeps to its cap on participations.
        is_in_population: bool,
    },
    /// Lower the cap on each client's participations.
    CapParticipations {
        /// The smallest sensible cap: all rounds are filled, and all clients take part equally often.
        participations_max: u64,
        /// The noise-to-signal ratio over all rounds with this cap.
        noise_to_signal_over_rounds: f64,
    },
    /// Accept a larger delta that is still below 1 / clients.
    RaiseDelta {
        /// A tenth of 1 / clients.
        delta: Delta,
        /// The noise-to-signal ratio over all rounds with this delta.
        noise_to_signal_over_rounds: f64,
    },
    /// Use a smaller model, or train only a part of it.
    TrainFewerParameters {
        /// The largest number of parameters at which the noise is harmless.
        parameters: u64,
    },
    /// Use correlated noise (DP-FTRL), which a minimum separation of a client's rounds makes cheap.
    CorrelateNoise,
}

impl Intention {
    /// Computes the noise, the cost and the verdict.
    ///
    /// # Errors
    /// [`CalibrateError`] if a number is out of range (a count of 0, for example) or no noise is enough.
    pub fn forecast(&self) -> Result<Forecast, CalibrateError> {
        for (name, count) in [
            ("report goal", self.report_goal),
            ("rounds", self.rounds),
            ("participations_max", self.participations_max),
            ("clients", self.clients),
            ("parameters", self.parameters),
        ] {
            RangeError::unless(count > 0, name, count as f64, "at least 1")?;
        }
        let is_right = self.clipping_norm > 0.0 && self.clipping_norm.is_finite();
        RangeError::unless(is_right, "clipping norm", self.clipping_norm, "above 0")?;
        if self.is_poisson_claimed {
            let (goal, is_right) = (self.report_goal as f64, self.report_goal <= self.clients);
            RangeError::unless(is_right, "report goal", goal, "at most the number of clients")?;
        }
        let noise_multiplier = self.multiplier(self.participations_max, self.delta)?;
        let noise_to_signal_over_rounds = self.relative_noise(noise_multiplier);
        let verdict = Verdict::of(noise_to_signal_over_rounds);
        let participations = self.participations_max.min(self.rounds);
        let sampling_rate = self.sampling_rate();
        let rho = sampling_rate.is_none().then(|| rho_of_gaussian(noise_multiplier, participations));
        let epsilon_curve = self.epsilon_curve(noise_multiplier)?;
        let epsilon = epsilon_curve.last().map_or(self.epsilon, |(_, epsilon)| *epsilon);
        let per_update = noise_multiplier.get() / self.report_goal as f64;
        Ok(Forecast {
            noise_multiplier,
            epsilon,
            epsilon_by_loss_distribution: sampling_rate.and_then(|rate| {
                epsilon_by_loss_distribution(rate, noise_multiplier, self.rounds, self.delta)
            }),
            rho,
            sampling_rate,
            mean_noise_deviation: per_update * self.clipping_norm,
            noise_to_signal: per_update * (self.parameters as f64).sqrt(),
            noise_to_signal_over_rounds,
            epsilon_curve,
            opinion: Opinion::new(epsilon, self.delta, self.unit, self.clients),
            verdict,
            advice: if verdict == Verdict::Harmless {
                Vec::new()
            } else {
                self.advice(noise_to_signal_over_rounds)?
            },
        })
    }

    /// Returns the probability with which a client is drawn, if Poisson sampling is claimed.
    fn sampling_rate(&self) -> Option<SamplingRate> {
        let rate = self.report_goal as f64 / self.clients as f64;
        if self.is_poisson_claimed { SamplingRate::new(rate).ok() } else { None }
    }

    /// Finds the smallest multiplier that meets the budget.
    fn multiplier(&self, participations_max: u64, delta: Delta) -> Result<NoiseMultiplier, CalibrateError> {
        if let Some(rate) = self.sampling_rate() {
            return smallest_multiplier(self.epsilon, Relation::ZeroOut, |multiplier| {
                one_sampled(rate, multiplier)?.times(self.rounds).ok()?.epsilon(delta).ok()
            });
        }
        let participations = participations_max.min(self.rounds);
        let rho_max = rho_for_epsilon(self.epsilon, delta);
        smallest_multiplier(self.epsilon, Relation::ZeroOut, |multiplier| {
            let rho = rho_of_gaussian(multiplier, participations);
            // The conversion is monotone, so compare ρ instead of converting it for every candidate.
            (rho <= rho_max).then_some(self.epsilon)
        })
    }

    /// Returns the noise-to-signal ratio over all rounds.
    fn relative_noise(&self, multiplier: NoiseMultiplier) -> f64 {
        noise_to_signal_over_rounds(multiplier.get(), self.parameters, self.report_goal, self.rounds)
    }

    fn epsilon_curve(&self, multiplier: NoiseMultiplier) -> Result<Vec<(u64, Epsilon)>, CalibrateError> {
        let last =
            if self.is_poisson_claimed { self.rounds } else { self.participations_max.min(self.rounds) };
        let points = CURVE_POINTS.min(last);
        let versions = (1..=points).map(|point| {
            u64::try_from(u128::from(last) * u128::from(point) / u128::from(points)).unwrap_or(last)
        });
        let out_of_reach = || CalibrateError::OutOfReach { target: self.epsilon };
        let Some(rate) = self.sampling_rate() else {
            let after = |count: u64| {
                let cost = Cost::of_rho(rho_of_gaussian(multiplier, count));
                Some((count, cost.epsilon(self.delta).ok()?))
            };
            return versions.map(after).collect::<Option<Vec<_>>>().ok_or_else(out_of_reach);
        };
        let one = one_sampled(rate, multiplier).ok_or_else(out_of_reach)?;
        let after = |round: u64| Some((round, one.times(round).ok()?.epsilon(self.delta).ok()?));
        versions.map(after).collect::<Option<Vec<_>>>().ok_or_else(out_of_reach)
    }

    fn advice(&self, ratio: f64) -> Result<Vec<Advice>, CalibrateError> {
        let mut advice = if self.is_poisson_claimed {
            self.larger_sample()?.into_iter().collect()
        } else {
            self.more_of_each_round(ratio)?
        };
        if let Ok(delta) = Delta::new(0.1 / self.clients as f64)
            && delta > self.delta
        {
            let multiplier = self.multiplier(self.participations_max, delta)?;
            let noise_to_signal_over_rounds = self.relative_noise(multiplier);
            advice.push(Advice::RaiseDelta { delta, noise_to_signal_over_rounds });
        }
        let parameters = (self.parameters as f64 * (HARMLESS / ratio).powi(2)) as u64;
        if parameters > 0 {
            advice.push(Advice::TrainFewerParameters { parameters });
        }
        if self.rounds > 1 {
            advice.push(Advice::CorrelateNoise);
        }
        Ok(advice)
    }

    /// Finds the first doubling of the report goal at which the noise is harmless. A larger sample is amplified less,
    /// so the multiplier is calibrated again for each.
    fn larger_sample(&self) -> Result<Option<Advice>, CalibrateError> {
        let doubled = |goal: &u64| (*goal < self.clients).then(|| goal.saturating_mul(2).min(self.clients));
        let goals: Vec<u64> = std::iter::successors(Some(self.report_goal), doubled).skip(1).collect();
        // The noise falls with each doubling, so bisect.
        let (mut low, mut high) = (0, goals.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let larger = Self { report_goal: goals[middle], ..*self };
            let multiplier = larger.multiplier(self.participations_max, self.delta)?;
            if larger.relative_noise(multiplier) <= HARMLESS { high = middle } else { low = middle + 1 }
        }
        let found = goals.get(low);
        Ok(found.map(|&report_goal| Advice::RaiseReportGoal { report_goal, is_in_population: true }))
    }

    /// Returns advice for a claim without sampling: more updates in a round, or fewer participations of a client.
    fn more_of_each_round(&self, ratio: f64) -> Result<Vec<Advice>, CalibrateError> {
        let mut advice = Vec::new();
        let report_goal = (self.report_goal as f64 * ratio / HARMLESS).ceil() as u64;
        // Larger rounds need more participations in all, which the population must provide within the cap.
        let needed = u128::from(report_goal) * u128::from(self.rounds);
        let available = u128::from(self.clients) * u128::from(self.participations_max.min(self.rounds));
        advice.push(Advice::RaiseReportGoal { report_goal, is_in_population: needed <= available });
        let filled =
            (u128::from(self.report_goal) * u128::from(self.rounds)).div_ceil(u128::from(self.clients));
        let participations_max = u64::try_from(filled).unwrap_or(u64::MAX).max(1);
        if participations_max < self.participations_max.min(self.rounds) {
            let multiplier = self.multiplier(participations_max, self.delta)?;
            let noise_to_signal_over_rounds = self.relative_noise(multiplier);
            advice.push(Advice::CapParticipations { participations_max, noise_to_signal_over_rounds });
        }
        Ok(advice)
    }
}

/// Returns the cost of one release with Poisson sampling.
fn one_sampled(rate: SamplingRate, noise_multiplier: NoiseMultiplier) -> Option<Cost> {
    let charge = Charge { noise_multiplier, participation: Participation::Poisson { rate } };
    Cost::of_charge(charge, 1, Relation::ZeroOut).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::zcdp_epsilon;

    fn intention() -> Intention {
        Intention {
            clients: 1_000_000,
            report_goal: 6500,
            rounds: 1000,
            participations_max: 10,
            is_poisson_claimed: false,
            epsilon: Epsilon::new(8.0).unwrap(),
            delta: Delta::new(1e-10).unwrap(),
            unit: Unit::Client,
            parameters: 2_000_000,
            clipping_norm: 0.5,
        }
    }

    #[test]
    fn a_large_population_hardly_notices() {
        let forecast = intention().forecast().unwrap();
        assert_eq!((forecast.verdict, forecast.advice.len()), (Verdict::Harmless, 0));
        let z = forecast.noise_multiplier.get();
        assert!((forecast.mean_noise_deviation - z * 0.5 / 6500.0).abs() < 1e-12);
        assert!((forecast.noise_to_signal - z * 2e6f64.sqrt() / 6500.0).abs() < 1e-12);
        let rho = forecast.rho.unwrap();
        let spent = zcdp_epsilon(rho, intention().delta).get();
        assert!(spent <= 8.0 && spent > 7.99, "{spent}");
        let curve = &forecast.epsilon_curve;
        assert_eq!((curve.len(), curve[9].0), (10, 10));
        assert!(curve.windows(2).all(|two| two[0].1 < two[1].1));
        assert_eq!(curve[9].1, zcdp_epsilon(rho, intention().delta));
        assert_eq!(curve[9].1, forecast.epsilon);
        let often = Intention { participations_max: 1000, ..intention() }.forecast().unwrap();
        assert_eq!((often.epsilon_curve.len(), often.epsilon_curve[63].0), (64, 1000));
    }

    #[test]
    fn a_small_population_is_told_what_would_help() {
        let small = Intention { clients: 200, report_goal: 20, participations_max: 1000, ..intention() };
        let forecast = small.forecast().unwrap();
        assert_eq!(forecast.verdict, Verdict::Hopeless);
        let before = forecast.noise_to_signal_over_rounds;
        for advice in &forecast.advice {
            match *advice {
                Advice::RaiseReportGoal { report_goal, is_in_population } => {
                    assert!(!is_in_population);
                    let raised = Intention { report_goal, ..small }.forecast().unwrap();
                    assert_eq!(raised.verdict, Verdict::Harmless);
                }
                Advice::CapParticipations { participations_max, noise_to_signal_over_rounds } => {
                    assert_eq!(participations_max, 100);
                    assert!(noise_to_signal_over_rounds < 0.4 * before);
                }
                Advice::RaiseDelta { delta, noise_to_signal_over_rounds } => {
                    assert!(delta.get() < 1.0 / 200.0 && noise_to_signal_over_rounds < before);
                }
                Advice::TrainFewerParameters { parameters } => {
                    let fewer = Intention { parameters, ..small }.forecast().unwrap();
                    assert_eq!(fewer.verdict, Verdict::Harmless);
                }
                Advice::CorrelateNoise => {}
            }
        }
        assert_eq!(forecast.advice.len(), 5);
    }

    #[test]
    fn a_claim_of_sampling_needs_less_noise_and_names_both_bounds() {
        let whole = Intention { clients: 10_000, report_goal: 100, participations_max: 1000, ..intention() };
        let plain = whole.forecast().unwrap();
        let sampled = Intention { is_poisson_claimed: true, ..whole };
        let forecast = sampled.forecast().unwrap();
        assert_eq!((forecast.sampling_rate.unwrap().get(), forecast.rho), (0.01, None));
        assert!(forecast.noise_multiplier.get() < 0.2 * plain.noise_multiplier.get(), "{forecast:?}");
        let [rdp, tight] =
            [forecast.epsilon, forecast.epsilon_by_loss_distribution.unwrap()].map(Epsilon::get);
        assert!(rdp <= 8.0 && rdp > 7.9 && tight < rdp && tight > 0.5 * rdp, "{tight} {rdp}");
        let curve = &forecast.epsilon_curve;
        assert!(curve.windows(2).all(|two| two[0].1 <= two[1].1) && curve[63] == (1000, forecast.epsilon));
        for advice in &forecast.advice {
            if let Advice::RaiseReportGoal { report_goal, .. } = *advice {
                let raised = Intention { report_goal, ..sampled }.forecast().unwrap();
                assert_eq!(raised.verdict, Verdict::Harmless);
            }
        }
        assert_ne!(forecast.verdict, Verdict::Harmless);
        assert!(Intention { report_goal: 10_001, ..sampled }.forecast().is_err());
    }

    #[test]
    fn a_plan_without_rounds_is_refused() {
        for wrong in [
            Intention { rounds: 0, ..intention() },
            Intention { report_goal: 0, ..intention() },
            Intention { clipping_norm: f64::NAN, ..intention() },
        ] {
            assert!(wrong.forecast().is_err());
        }
        let huge =
            Intention { rounds: u64::MAX, participations_max: u64::MAX, clients: u64::MAX, ..intention() };
        // A forecast and an error are both right; the function must not panic.
        let _ = huge.forecast();
    }
}
