//! The retention of model versions: the weights of old versions are dropped, and their rows stay.

use std::collections::BTreeSet;

use folkmoot_coordinator::task::{Measured, WarmStart};
use folkmoot_protocol::Timestamp;
use folkmoot_storage::{KeptVersions, StorageError, TaskRecord, TaskRepository};

use crate::{
    coordinator::Coordinator,
    drivers::{DriveError, measured},
};

/// Drops the weights of old versions of all tasks, and returns their number. Keeps the newest versions, as many as
/// `storage.keep_versions` says, the best one, and all that something needs. Does nothing without that setting.
///
/// # Errors
/// Fails if the storage fails. The next call continues.
pub async fn drop_old_versions(coordinator: &Coordinator, now: Timestamp) -> Result<u64, DriveError> {
    let Some(keep) = coordinator.keep_versions else { return Ok(0) };
    let database = coordinator.storage.database()?;
    let tasks = database.tasks_with_versions(keep).await?;
    let starts = if tasks.is_empty() { Vec::new() } else { database.warm_starts().await? };
    let mut count = 0;
    for id in tasks {
        let task = coordinator.storage.task_of_any_organisation(id).await?;
        let task = task.ok_or(StorageError::NotFound("task"))?;
        let of_task = |start: &&WarmStart| start.task_id == id;
        let mut also: BTreeSet<u64> = starts.iter().filter(of_task).map(|start| start.version).collect();
        also.extend(Measured::best(&measured(coordinator, &task).await?).map(|best| best.version));
        let versions = database.kept_versions(id).await?;
        let unneeded = unneeded(&task, &versions, keep, &also);
        let dropped = database.drop_versions(id, &unneeded, now).await?;
        if let (Some(first), Some(last)) = (dropped.first(), dropped.last()) {
            tracing::info!(task = %id, dropped = dropped.len(), first, last, keep, "dropped the weights of old versions");
        }
        count += dropped.len() as u64;
    }
    Ok(count)
}

/// Lists the versions whose weights nothing needs, oldest first. `also` are needed, too.
fn unneeded(task: &TaskRecord, versions: &KeptVersions, keep: u64, also: &BTreeSet<u64>) -> Vec<u64> {
    let Some(newest) = versions.kept.last().copied() else { return Vec::new() };
    let mut needed: BTreeSet<u64> = versions.rolled_out.union(also).copied().collect();
    let mut bases = versions.in_rounds.clone();
    bases.insert(newest);
    if let Some(evaluation) = task.description.evaluation.as_ref().filter(|_| !task.state.is_final()) {
        // Clients may still have to evaluate the newest version that is due.
        bases.insert(newest - newest % evaluation.every_versions.max(1));
    }
    needed.extend(&bases);
    if let Some(downstream) = &task.description.downstream {
        // Compressed versions are computed from all versions since the last snapshot.
        for number in bases {
            needed.extend(number - number % downstream.whole_every.max(1)..=number);
        }
    }
    let is_old = |number: &&u64| number.saturating_add(keep) <= newest;
    versions.kept.iter().filter(is_old).filter(|number| !needed.contains(number)).copied().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use folkmoot_coordinator::task::TaskState;
    use folkmoot_protocol::{BlobDigest, OrganisationId, TaskId, TensorSchema};

    fn task(state: TaskState, more: &Value) -> TaskRecord {
        let mut description = json!({
            "name": "digits",
            "population": "digits",
            "plan": { "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                      "epochs": 1, "batch_size": 16 },
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "stop": { "rounds": 30 },
        });
        for (name, value) in more.as_object().expect("it is a table") {
            description[name] = value.clone();
        }
        TaskRecord {
            id: TaskId::from_random_bytes([1; 16]),
            organisation_id: OrganisationId::from_random_bytes([2; 16]),
            description: serde_json::from_value(description).expect("it is a description"),
            state,
            model: BlobDigest::of(b"model"),
            model_bytes: 5,
            schema: TensorSchema { tensors: Vec::new() },
            plan: BlobDigest::of(b"plan"),
            plan_bytes: 4,
            evaluation_plan: None,
            evaluation_data: None,
            served: 0,
            created_at: Timestamp(0),
            revision: 0,
        }
    }

    #[test]
    fn all_that_is_needed_is_kept() {
        let versions = KeptVersions {
            kept: (0..=20).filter(|number| *number != 3).collect(),
            in_rounds: [11].into(),
            rolled_out: [2].into(),
        };
        let also = [5, 6].into();
        let left = |state, more| {
            let gone = unneeded(&task(state, &more), &versions, 3, &also);
            versions.kept.iter().copied().filter(|number| !gone.contains(number)).collect::<Vec<_>>()
        };
        let active = TaskState::Active { after_round: 0 };
        assert_eq!(left(active, json!({})), [2, 5, 6, 11, 18, 19, 20]);
        let evaluated = json!({ "evaluation": { "central": true, "metric": "loss", "every_versions": 8 } });
        assert_eq!(left(active, evaluated.clone()), [2, 5, 6, 11, 16, 18, 19, 20]);
        assert_eq!(left(TaskState::Cancelled, evaluated), [2, 5, 6, 11, 18, 19, 20]);
        let compressed = json!({ "downstream": { "whole_every": 4 } });
        assert_eq!(left(active, compressed), [2, 5, 6, 8, 9, 10, 11, 18, 19, 20]);
        let none = Vec::<u64>::new();
        assert_eq!(unneeded(&task(active, &json!({})), &KeptVersions::default(), 3, &also), none);
        assert_eq!(unneeded(&task(active, &json!({})), &versions, u64::MAX, &also), none);
    }
}
