use folkmoot_coordinator::{ClientKind, privacy::PopulationPrivacy, rollout::Share};
use folkmoot_protocol::OrganisationId;

use super::Act;
use crate::{PrivacyChange, RolloutRecord};

impl Act {
    pub(crate) fn client_kind_set(
        organisation_id: OrganisationId,
        population: &impl ToString,
        before: ClientKind,
        after: ClientKind,
    ) -> Self {
        Self::new(organisation_id, "population.set_clients", population.to_string()).changed(
            "clients",
            Some(before.to_string()),
            Some(after.to_string()),
        )
    }

    pub(crate) fn viewers_download_set(
        organisation_id: OrganisationId,
        population: &impl ToString,
        before: bool,
        after: bool,
    ) -> Self {
        let [before, after] = [before, after].map(|may| Some(may.to_string()));
        let act = Self::new(organisation_id, "population.set_downloads", population.to_string());
        act.changed("viewers_download", before, after)
    }

    pub(crate) fn privacy_set(
        organisation_id: OrganisationId,
        population: &impl ToString,
        before: &PopulationPrivacy,
        change: &PrivacyChange<'_>,
    ) -> Self {
        let budget = |privacy: &PopulationPrivacy| {
            let budget = privacy.budget?;
            Some(format!("epsilon {} at delta {}", budget.epsilon, budget.delta))
        };
        let act = Self::new(organisation_id, "population.set_privacy", population.to_string())
            .changed("unit", Some(before.unit.to_string()), Some(change.privacy.unit.to_string()))
            .changed("budget", budget(before), budget(&change.privacy));
        match change.weakened {
            Some(reason) => act.with("reason", reason),
            None => act,
        }
    }

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
