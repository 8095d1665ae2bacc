use folkmoot_coordinator::rollout::Share;

use super::Act;
use crate::RolloutRecord;

impl Act {
    pub(crate) fn rollout_created(rollout: &RolloutRecord) -> Self {
        Self::new(rollout.organisation_id, "rollout.create", rollout_name(rollout))
            .with("channel", &rollout.channel)
            .with("task", rollout.task_id)
            .with("version", rollout.version)
            .with("share", rollout.share.fraction())
            .with("failures_max", rollout.failures_max.fraction())
    }

    pub(crate) fn rollout_changed(before: &RolloutRecord, after: &RolloutRecord) -> Self {
        let share = |share: Share| Some(share.fraction().to_string());
        Self::new(after.organisation_id, "rollout.change", rollout_name(after))
            .changed("share", share(before.share), share(after.share))
            .changed("failures_max", share(before.failures_max), share(after.failures_max))
            .changed("held", before.held.clone(), after.held.clone())
    }

    pub(crate) fn rollout_held(rollout: &RolloutRecord) -> Self {
        let act = Self::new(rollout.organisation_id, "rollout.hold", rollout_name(rollout));
        act.changed("held", None, rollout.held.clone())
    }
}

/// Names a rollout in the audit log.
fn rollout_name(rollout: &RolloutRecord) -> String {
    format!("{} {}", rollout.population, rollout.number)
}
