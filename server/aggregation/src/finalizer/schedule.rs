use folkmoot_protocol::{Fault, LearningRateSchedule};
use serde::{Deserialize, Serialize};

use super::checks::{expect_positive, refuse};

/// The change of the server's learning rate over the commits of a task.
///
/// The formulas are the same as in a plan's schedule, with commits instead of local steps. Unlike a plan's schedule,
/// this one never restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CommitSchedule {
    /// The number of commits over which the rate rises linearly to its full value, before the schedule begins.
    pub warmup_commits: u32,
    /// The schedule of the rate's factor after the warm-up. Its step `s` is the commit, counted from 0.
    pub learning_rate_schedule: LearningRateSchedule,
}

impl CommitSchedule {
    /// Returns the factor of the server's learning rate in commit `number`, counted from 1.
    ///
    /// During the warm-up it is (s + 1) / warmup_commits. Powers are computed as products and the cosine in
    /// software, so the factor has the same bits on every machine.
    pub fn factor(&self, number: u64) -> f64 {
        let commit = number.saturating_sub(1);
        match commit.checked_sub(self.warmup_commits.into()) {
            None => (commit + 1) as f64 / f64::from(self.warmup_commits),
            Some(step) => schedule_factor(self.learning_rate_schedule, step),
        }
    }

    /// Returns whether the factor is always 1.
    pub(super) fn is_constant(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let path = |rest: &str| format!("schedule.learning_rate_schedule.{rest}");
        match self.learning_rate_schedule {
            LearningRateSchedule::Constant => {}
            LearningRateSchedule::Linear { final_factor, steps } => {
                expect_end(&path("linear"), final_factor, steps, faults);
            }
            LearningRateSchedule::Cosine { final_factor, steps } => {
                expect_end(&path("cosine"), final_factor, steps, faults);
            }
            LearningRateSchedule::Step { factor, every } => {
                expect_decline(&path("step.factor"), factor, faults);
                expect_positive(&path("step.every"), every.into(), faults);
            }
            LearningRateSchedule::Exponential { factor } => {
                expect_decline(&path("exponential.factor"), factor, faults);
            }
        }
    }
}

fn expect_end(path: &str, final_factor: f32, steps: u32, faults: &mut Vec<Fault>) {
    if !final_factor.is_finite() || final_factor < 0.0 {
        refuse(&format!("{path}.final_factor"), final_factor.into(), "it must be 0 or above", faults);
    }
    expect_positive(&format!("{path}.steps"), steps.into(), faults);
}

/// Records a fault unless the factor is in (0, 1]. A task may run indefinitely, and a larger factor would
/// overflow.
fn expect_decline(path: &str, factor: f32, faults: &mut Vec<Fault>) {
    if !(factor > 0.0 && factor <= 1.0) {
        let remedy = "it must be above 0 and at most 1; use a linear schedule for a rate that rises";
        refuse(path, factor.into(), remedy, faults);
    }
}

/// Returns the factor of a commit, counted from 0 after the warm-up.
fn schedule_factor(schedule: LearningRateSchedule, step: u64) -> f64 {
    let progress = |steps: u32| (step as f64 / f64::from(steps)).min(1.0);
    match schedule {
        LearningRateSchedule::Constant => 1.0,
        LearningRateSchedule::Linear { final_factor, steps } => {
            1.0 + (f64::from(final_factor) - 1.0) * progress(steps)
        }
        LearningRateSchedule::Cosine { final_factor, steps } => {
            let last = f64::from(final_factor);
            last + (1.0 - last) * (1.0 + libm::cos(std::f64::consts::PI * progress(steps))) / 2.0
        }
        LearningRateSchedule::Step { factor, every } => power(factor.into(), step / u64::from(every.max(1))),
        LearningRateSchedule::Exponential { factor } => power(factor.into(), step),
    }
}

/// Returns base^exponent by repeated squaring. The standard library's `powf` may differ between platforms.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors<const N: usize>(
        schedule: LearningRateSchedule,
        warmup_commits: u32,
        numbers: [u64; N],
    ) -> [f64; N] {
        let schedule = CommitSchedule { warmup_commits, learning_rate_schedule: schedule };
        numbers.map(|number| schedule.factor(number))
    }

    #[test]
    fn factors_by_hand() {
        let constant = LearningRateSchedule::Constant;
        assert_eq!(factors(constant, 0, [0, 1, 2, u64::MAX]), [1.0; 4]);
        let linear = LearningRateSchedule::Linear { final_factor: 0.5, steps: 4 };
        assert_eq!(factors(linear, 0, [1, 3, 5, 10]), [1.0, 0.75, 0.5, 0.5]);
        let cosine = LearningRateSchedule::Cosine { final_factor: 0.5, steps: 4 };
        assert_eq!(factors(cosine, 0, [1, 3, 5, 10]), [1.0, 0.75, 0.5, 0.5]);
        let step = LearningRateSchedule::Step { factor: 0.5, every: 3 };
        assert_eq!(factors(step, 0, [1, 3, 4, 7]), [1.0, 1.0, 0.5, 0.25]);
        let exponential = LearningRateSchedule::Exponential { factor: 0.5 };
        assert_eq!(factors(exponential, 0, [1, 2, 3, 14, u64::MAX]), [1.0, 0.5, 0.25, 0.5f64.powi(13), 0.0]);
    }

    #[test]
    fn the_schedule_begins_after_the_warmup() {
        let exponential = LearningRateSchedule::Exponential { factor: 0.5 };
        assert_eq!(factors(exponential, 4, [1, 2, 4, 5, 6]), [0.25, 0.5, 1.0, 1.0, 0.5]);
    }

    #[test]
    fn a_schedule_that_grows_without_end_or_has_no_length_is_refused() {
        let fields = |learning_rate_schedule| {
            let mut faults = Vec::new();
            CommitSchedule { warmup_commits: 0, learning_rate_schedule }.validate(&mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        let path = "finalizer.schedule.learning_rate_schedule";
        let expected = |names: &[&str]| names.iter().map(|name| format!("{path}.{name}")).collect::<Vec<_>>();
        assert_eq!(
            fields(LearningRateSchedule::Cosine { final_factor: f32::NAN, steps: 0 }),
            expected(&["cosine.final_factor", "cosine.steps"])
        );
        assert_eq!(
            fields(LearningRateSchedule::Step { factor: 0.0, every: 0 }),
            expected(&["step.factor", "step.every"])
        );
        assert_eq!(
            fields(LearningRateSchedule::Exponential { factor: 1.01 }),
            expected(&["exponential.factor"])
        );
        assert!(fields(LearningRateSchedule::Linear { final_factor: 3.0, steps: 1 }).is_empty());
    }
}
