use std::collections::BTreeMap;

use folkmoot_notification::Event;
use folkmoot_protocol::TaskId;
use folkmoot_rounds::{coordinator::Coordinator, privacy::Budget};
use folkmoot_storage::{StorageError, WatchedTask};

use super::{Message, Occasion, Told, Writer};

/// The share of a budget from which on it is nearly spent, as in the console.
const NEARLY: f64 = 0.9;

/// Returns a notice if the task's budget, or the one of its population, is nearly spent and no notice was delivered
/// yet. Computes the cost only if the task has a new version since the last look.
pub(super) async fn occasion(
    coordinator: &Coordinator,
    writer: &Writer<'_>,
    watched: &WatchedTask,
    version: u64,
    looked_at: &mut BTreeMap<TaskId, u64>,
) -> Result<Option<Occasion>, StorageError> {
    let task = &watched.task;
    if task.description.privacy.is_none() || !writer.wants(task, Event::BudgetNearlySpent) {
        return Ok(None);
    }
    if looked_at.get(&task.id) == Some(&version) {
        return Ok(None);
    }
    let Some(budget) = Budget::of(coordinator, task).await? else { return Ok(None) };
    // Where clients add the noise, the whole task is charged before its first update.
    let is_charged_once = task.description.privacy.is_added_by_clients();
    let own = (!is_charged_once).then(|| (budget.by_lineage.epsilon.get(), budget.epsilon.get()));
    let common = budget.of_population_budget.zip(budget.population.budget);
    let common = common.map(|(spent, budget)| (spent.epsilon.get(), budget.epsilon.get()));
    let is_near = |(spent, whole): (f64, f64)| spent >= NEARLY * whole;
    let near = [("the task", own), ("its population", common)]
        .into_iter()
        .find_map(|(whose, sums)| sums.filter(|sums| is_near(*sums)).map(|sums| (whose, sums)));
    let Some((whose, (spent, whole))) = near else {
        looked_at.insert(task.id, version);
        if watched.told_budget {
            // The budget was raised.
            coordinator.storage.database()?.tell_budget(task.id, false).await?;
        }
        return Ok(None);
    };
    if watched.told_budget {
        looked_at.insert(task.id, version);
        return Ok(None);
    }
    let name = &task.description.name;
    let message = Message {
        title: format!("The privacy budget of {name} is nearly spent"),
        cause: format!("Epsilon {spent:.2} of {whole:.2} is spent, by the budget of {whose}."),
        remedy: Some(
            "The task ends before it would exceed the budget, so nothing needs to be done to keep the promise.".into(),
        ),
    };
    let notice = writer.notice(task, Event::BudgetNearlySpent, version, message);
    Ok(Some(Occasion { notice, told: Told::Budget(task.id) }))
}
