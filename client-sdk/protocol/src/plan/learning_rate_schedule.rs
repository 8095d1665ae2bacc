use serde::{Deserialize, Serialize};

use super::fault::Faults;
use crate::limits::LEARNING_RATE_FACTORS_MAX;

/// The factor of the learning rate in local step `s`, counted from 0 after the plan's warm-up.
///
/// The schedule restarts in every round: it applies to the local work, not to the whole training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LearningRateSchedule {
    /// The factor is always 1.
    #[default]
    Constant,
    /// 1 + (final_factor − 1)·min(s / steps, 1).
    Linear {
        /// The factor from step `steps` on, 0 or more.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.1])))]
        final_factor: f32,
        /// The number of steps until the final factor, at least 1.
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
        steps: u32,
    },
    /// final_factor + (1 − final_factor)·(1 + cos(π·min(s / steps, 1))) / 2
    /// (Loshchilov and Hutter 2017, equation 5).
    Cosine {
        /// The factor from step `steps` on, 0 or more.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.1])))]
        final_factor: f32,
        /// The number of steps until the final factor, at least 1.
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
        steps: u32,
    },
    /// factor^⌊s / every⌋.
    Step {
        /// The factor of each change, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.9])))]
        factor: f32,
        /// The number of steps between two changes, at least 1.
        #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
        every: u32,
    },
    /// factor^s.
    Exponential {
        /// The factor of each step, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.9])))]
        factor: f32,
    },
}

impl LearningRateSchedule {
    pub(super) fn is_constant(&self) -> bool {
        *self == Self::Constant
    }

    /// Lists the faults of explicit factors, which replace a schedule and a warm-up.
    pub(super) fn list_factor_faults(&self, factors: &[f32], has_warmup: bool, faults: &mut Faults) {
        let (field, count) = ("learning_rate_factors", factors.len() as f64);
        if factors.len() > LEARNING_RATE_FACTORS_MAX {
            faults.add(field, count, "a list of at most 4096 factors");
        }
        factors.iter().for_each(|factor| faults.expect_not_negative(field, *factor));
        if !factors.is_empty() && (has_warmup || !self.is_constant()) {
            faults.add(field, count, "an empty list with warmup_steps or a learning_rate_schedule");
        }
    }

    pub(super) fn list_faults(&self, faults: &mut Faults) {
        match *self {
            Self::Constant => {}
            Self::Linear { final_factor, steps } => {
                faults.expect_not_negative("learning_rate_schedule.linear.final_factor", final_factor);
                faults.expect_at_least_one("learning_rate_schedule.linear.steps", steps.into());
            }
            Self::Cosine { final_factor, steps } => {
                faults.expect_not_negative("learning_rate_schedule.cosine.final_factor", final_factor);
                faults.expect_at_least_one("learning_rate_schedule.cosine.steps", steps.into());
            }
            Self::Step { factor, every } => {
                faults.expect_positive("learning_rate_schedule.step.factor", factor);
                faults.expect_at_least_one("learning_rate_schedule.step.every", every.into());
            }
            Self::Exponential { factor } => {
                faults.expect_positive("learning_rate_schedule.exponential.factor", factor);
            }
        }
    }
}

/// Lists the faults of the first factor of a warm-up.
pub(super) fn list_warmup_faults(steps: u32, from: Option<f32>, faults: &mut Faults) {
    let Some(from) = from else { return };
    if !(0.0..=1.0).contains(&from) {
        faults.add("warmup_from", from.into(), "0 to 1");
    } else if steps == 0 {
        faults.add("warmup_from", from.into(), "absent without warmup_steps");
    }
}
