//! Validation of a privacy choice, alone and within its task.

use folkmoot_protocol::Fault;

use super::{
    Amplification, CentralPrivacy, Clipping, DistributedPrivacy, LocalPrivacy, PrivacyContext, Terms,
};

/// The maximum number of versions that correlated noise can be planned for.
const RELEASES_MAX: u64 = 1 << 20;

/// The number of standard deviations of noise that must fit on the grid. Values beyond the grid are clamped.
const ROOM_DEVIATIONS: f64 = 5.0;

impl CentralPrivacy {
    pub(crate) fn validate(&self, context: &PrivacyContext<'_>, faults: &mut Vec<Fault>) {
        let before = faults.len();
        if let Some(limits) = context.privacy.limits() {
            limits.validate(context, faults);
        }
        if self.noise_multiplier.is_none() && context.rounds.is_none() {
            let message = "it is not set, and it cannot be derived without stop.rounds";
            let remedy = "set noise_multiplier or stop.rounds";
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

    /// Checks the requirements of correlated noise.
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
            "correlated noise is planned for at most 2^20 versions, but stop.rounds is larger or not set";
        check(is_planned, "stop.rounds", message, "set it to the number of versions, at most 1048576");
        let is_fixed = matches!(self.clipping, Clipping::Fixed { .. });
        let message = "correlated noise needs the same clipping norm for all versions";
        check(is_fixed, "privacy.clipping", message, "choose clipping.kind = \"fixed\"");
        let is_plain = self.amplification == Amplification::None;
        let message = "correlated noise cannot be combined with amplification by sampling";
        check(is_plain, "privacy.amplification", message, "choose amplification = \"none\"");
        let returns = context.rolls_back;
        let message = "after a rollback to an earlier version, correlated noise no longer cancels";
        let remedy = "remove rollback_margin, or choose privacy.noise.kind = \"independent\"";
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
        faults.extend(norm_fault(self.clipping_norm, value_max));
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
                        format!("it is {value_max}, too small for client noise with a standard deviation of {deviation:.3}"),
                        format!("raise grid.value_max to {least} and lower grid.fraction_bits, or raise epsilon, or lower clipping_norm"),
                    ));
                }
            }
            Ok(None) => {}
        }
    }
}

impl DistributedPrivacy {
    pub(crate) fn validate(&self, context: &PrivacyContext<'_>, faults: &mut Vec<Fault>) {
        let before = faults.len();
        if let Some(limits) = context.privacy.limits() {
            limits.validate(context, faults);
        }
        faults.extend(norm_fault(self.clipping_norm, context.value_max));
        if faults.len() == before
            && let Err(fault) = Terms::derive(context)
        {
            faults.push(*fault);
        }
    }
}

/// Returns the fault of a clipping norm that the grid cannot hold.
fn norm_fault(norm: f64, value_max: f64) -> Option<Fault> {
    let is_right = norm > 0.0 && norm <= value_max;
    let remedy = format!("it must be above 0 and at most grid.value_max, which is {value_max}");
    (!is_right).then(|| Fault::new("privacy.clipping_norm", format!("it is {norm}"), remedy))
}
