//! Checks in every tick that each charge is written together with its release.

use std::collections::BTreeMap;

use folkmoot_privacy::ledger::Event;
use folkmoot_protocol::TaskId;
use folkmoot_storage::{LedgerRepository, ModelVersionRepository};

use super::World;
use crate::{
    invariants::{Holds, broken},
    privacy::script::Mechanism,
};

impl World {
    /// Checks that the ledger has an entry for every version that a round produced, and for every local task that has
    /// received a byte.
    pub(super) async fn charges_keep_up(&self) -> Holds {
        let entries = self.storage.ledger_entries(self.organisation, &self.population, 0, 10_000).await?;
        let mut charges: BTreeMap<TaskId, (usize, bool)> = BTreeMap::new();
        for entry in &entries {
            match &entry.event {
                Event::Release(release) => charges.entry(release.task_id).or_default().0 += 1,
                Event::Collection(collection) => charges.entry(collection.task_id).or_default().1 = true,
                Event::Settings(_) | Event::Task(_) => {}
            }
        }
        for task in &self.tasks {
            let (charged, is_begun) = charges.get(&task.id).copied().unwrap_or_default();
            let versions = self.storage.model_versions(task.id, 1000, None).await?;
            let made = versions.iter().filter(|version| version.round_id.is_some()).count();
            let has_arrived = self.record.sent.values().any(|sent| sent.task == task.id);
            let is_local = task.script.mechanism == Mechanism::Local;
            if charged != made || is_local && has_arrived && !is_begun {
                let detail =
                    format!("task {}: {made} versions, {charged} charges, begun: {is_begun}", task.id);
                return Err(broken("a_charge_is_written_with_its_release", detail));
            }
        }
        Ok(())
    }
}
