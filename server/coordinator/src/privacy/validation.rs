//! What is wrong with a choice of privacy, by itself and in its task.

use super::{Amplification, CentralPrivacy, Clipping, LocalPrivacy, PrivacyContext, Terms};
use crate::fault::Fault;

/// More versions than any task plans with correlated noise.
const RELEASES_MAX: u64 = 1 << 20;

/// Standard deviations of the noise that must have room on the grid: beyond, values are cut off.
const ROOM_DEVIATIONS: f64 = 5.0;

impl CentralPrivacy {
    pub(crate) fn validate(&self, context: &PrivacyContext<'_>, faults: &mut Vec<Fault>) {
        let before = faults.len();
        if let Some(limits) = context.privacy.limits() {
            limits.validate(context, faults);
        }
        if self.noise_multiplier.is_none() && context.rounds.is_none() {
            let message = "without stop.rounds it cannot be derived";
            let remedy = "give it, or give stop.rounds";
            faults.push(Fault::new("privacy.noise_multiplier", message, remedy));
        }
        self.clipping.validate(context.value_max, faults);
        self.validate_noise(context, faults);
        if faults.len() == before
            && let Err(fault) = Terms::derive(context)
        {
            faults.push(*fault);
        }
    }

    /// Checks what correlated noise goes with.
    fn validate_noise(&self, context: &PrivacyContext<'_>, faults: &mut Vec<Fault>) {
        let Some(separation) = self.noise.separation() else { return };
        let mut check = |is_right: bool, field: &str, message: &str, remedy: &str| {
            if !is_right {
                faults.push(Fault::new(field, message, remedy));
            }
        };
        check(separation > 0, "privacy.noise.separation", "it is 0", "it must be at least 1");
        let is_planned = context.rounds.is_some_and(|rounds| rounds <= RELEASES_MAX);
        let message =
            "privacy.noise is planned for a number of versions, and this gives none, or more than 2^20";
        check(is_planned, "stop.rounds", message, "say after how many versions the task ends");
        let is_fixed = matches!(self.clipping, Clipping::Fixed { .. });
        let message =
            "the noise of one version is taken off in others, which goes with one norm for all of them only";
        check(is_fixed, "privacy.clipping", message, "choose clipping.kind = \"fixed\"");
        let is_plain = self.amplification == Amplification::None;
        let message = "sampling cannot be claimed beside noise that is correlated";
        check(is_plain, "privacy.amplification", message, "choose amplification = \"none\"");
        let returns = context.rolls_back;
        let message = "after a return to an earlier version the noise of versions does not cancel any more";
        let remedy = "leave it out, or choose privacy.noise.kind = \"independent\"";
        check(!returns, "evaluation.rollback_margin", message, remedy);
    }
}

impl LocalPrivacy {
    pub(crate) fn validate(&self, context: &PrivacyContext<'_>, faults: &mut Vec<Fault>) {
        let before = faults.len();
        if let Some(limits) = context.privacy.limits() {
            limits.validate(context, faults);
        }
        let value_max = context.value_max;
        if !(self.clipping_norm > 0.0 && self.clipping_norm <= value_max) {
            faults.push(Fault::new(
                "privacy.clipping_norm",
                format!("it is {}", self.clipping_norm),
                format!("it must be above 0 and at most grid.value_max, which is {value_max}"),
            ));
        }
        if faults.len() > before {
            return;
        }
        match Terms::derive(context) {
            Err(fault) => faults.push(*fault),
            Ok(Some(terms)) => {
                let deviation = terms.update_multiplier * self.clipping_norm;
                if deviation * ROOM_DEVIATIONS > value_max {
                    let least = (deviation * ROOM_DEVIATIONS).ceil();
                    faults.push(Fault::new(
                        "grid.value_max",
                        format!("it is {value_max}, and the noise of a client has a standard deviation of {deviation:.3}"),
                        format!("raise it to {least} and lower grid.fraction_bits, raise epsilon, or lower the norm"),
                    ));
                }
            }
            Ok(None) => {}
        }
    }
}
