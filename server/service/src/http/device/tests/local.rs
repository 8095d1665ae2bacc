//! Tests of tasks with local noise. Everything that a device sends is charged, even if the update is refused or its
//! round is abandoned.

use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy},
    task::{StopReason, TaskState},
};
use folkmoot_privacy::{Delta, Epsilon, ledger::Event};
use folkmoot_protocol::update::{UpdateHeader, UpdateMetrics};
use folkmoot_rounds::privacy::Budget;
use folkmoot_storage::{LedgerRepository, ModelRepository, PrivacyChange, PrivacyOutcome, TaskRepository};
use serde_json::Value;

use super::*;

const EPSILON: f64 = 30.0;

/// A task in which a device takes part at most twice.
fn local() -> Value {
    let mut description = described();
    description["aggregator"] = json!({ "kind": "uniform_mean" });
    description["grid"] = json!({ "value_max": 4096.0, "fraction_bits": 20, "weight_max": 1 });
    description["privacy"] = json!({
        "kind": "local", "epsilon": EPSILON, "delta": 1e-6, "participations_max": 2, "clipping_norm": 1.0,
    });
    description
}

/// Returns the bytes of an update for an assignment.
fn update_of(
    edge: &Edge,
    assignment: &AssignmentRecord,
    schema: &folkmoot_protocol::TensorSchema,
) -> Vec<u8> {
    assert_eq!(assignment.client_id, edge.client);
    let count = schema.parameter_count();
    let header = UpdateHeader {
        assignment_id: assignment.id,
        schema_digest: schema.digest(),
        base_version: assignment.base_version,
        weight: 1,
        metrics: UpdateMetrics::default(),
        element_count: count,
        is_compressed: false,
    };
    let mut bytes = header.encode().to_vec();
    bytes.extend((0..count).flat_map(|_| 0.5f32.to_le_bytes()));
    bytes
}

impl Edge {
    /// Sends the update that an assignment expects.
    async fn answer(&mut self, task: TaskId, assignment: &AssignmentRecord) -> Option<ErrorCode> {
        let task = self.coordinator.storage.task_of_any_organisation(task).await.unwrap().unwrap();
        let update = update_of(self, assignment, &task.schema);
        let (status, problem) = self.send("PUT", &path_of(assignment), Some(&update)).await;
        assert_eq!(problem.is_none(), status.is_success());
        code(problem)
    }

    /// Cancels a task, and lets its round end.
    async fn cancel(&self, task: TaskId) {
        let storage = &self.coordinator.storage;
        let record = storage.task_of_any_organisation(task).await.unwrap().unwrap();
        storage.set_task_state(task, TaskState::Cancelled, record.revision).await.unwrap();
        while drive_task(&self.coordinator, task, self.now()).await.unwrap() {}
        assert!(storage.unfinished_round(task).await.unwrap().is_none());
    }

    /// Creates a task that may be refused.
    async fn try_open(&self, description: Value) -> Result<TaskId, (ErrorCode, String)> {
        let model = self.coordinator.storage.models(self.organisation, 1).await.unwrap().remove(0);
        let request = CreateTaskRequest {
            description: serde_json::from_value(description).unwrap(),
            model: model.model,
            evaluation_data: None,
            warm_start: None,
            activate: true,
        };
        let made = registry::create_task(&self.coordinator, self.organisation, request, self.now()).await;
        made.map(|task| task.id).map_err(|refusal| (refusal.code(), refusal.0.detail.clone()))
    }

    /// Returns the epsilon that a task, and its whole population, have spent.
    async fn spent(&self, task: TaskId) -> (f64, f64) {
        let record = self.coordinator.storage.task_of_any_organisation(task).await.unwrap().unwrap();
        let budget = Budget::of(&self.coordinator, &record).await.unwrap().unwrap();
        (budget.by_task.epsilon.get(), budget.by_population.epsilon.get())
    }

    /// Lists the tasks whose first update was charged.
    async fn collected(&self) -> Vec<TaskId> {
        let population = "digits".parse().unwrap();
        let entries = self.coordinator.storage.ledger_entries(self.organisation, &population, 0, 100).await;
        let of = |event| match event {
            Event::Collection(collection) => Some(collection.task_id),
            _ => None,
        };
        entries.unwrap().into_iter().filter_map(|entry| of(entry.event)).collect()
    }

    /// Sets the budget of all tasks of the population.
    async fn set_budget(&self, epsilon: f64) {
        let budget =
            PopulationBudget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(1e-6).unwrap() };
        let privacy = PopulationPrivacy { budget: Some(budget), ..PopulationPrivacy::default() };
        let (storage, population) = (&self.coordinator.storage, "digits".parse().unwrap());
        let change = PrivacyChange { privacy, weakened: None, may_weaken: true, by: "test", now: self.now() };
        let set = storage.set_population_privacy(self.organisation, &population, &change).await.unwrap();
        assert_eq!(set, PrivacyOutcome::Set);
    }
}

fn path_of(assignment: &AssignmentRecord) -> String {
    format!("/v1/assignments/{}/update", assignment.id)
}

#[tokio::test]
async fn a_task_that_is_cancelled_in_mid_round_has_paid() {
    let mut edge = Edge::new().await;
    let (task, assignment) = edge.assign_to(local()).await;
    assert_eq!((edge.collected().await, edge.spent(task).await.0), (vec![], 0.0), "nothing was sent yet");
    assert_eq!(edge.answer(task, &assignment).await, None);
    edge.cancel(task).await;
    assert_eq!(edge.collected().await, [task], "before there is a version");
    let (by_task, by_population) = edge.spent(task).await;
    assert!(by_task > 0.99 * EPSILON && by_task <= EPSILON, "{by_task}");
    // A new task treats the device as if it had never taken part, so the population needs a budget for both tasks.
    let (code, detail) = edge.try_open(local()).await.unwrap_err();
    assert_eq!(code, ErrorCode::TaskInvalid);
    assert!(detail.contains("no budget limits their total spending"), "{detail}");
    edge.set_budget(3.0 * EPSILON).await;
    let (again, assignment) = edge.assign_to(local()).await;
    assert_eq!(edge.answer(again, &assignment).await, None);
    edge.cancel(again).await;
    assert_eq!(edge.collected().await, [task, again]);
    assert!(edge.spent(again).await.1 > by_population);
}

#[tokio::test]
async fn what_was_refused_was_seen_and_is_charged() {
    let mut edge = Edge::new().await;
    let (task, assignment) = edge.assign_to(local()).await;
    let (_, problem) = edge.send("PUT", &path_of(&assignment), Some(b"not an update")).await;
    assert!(code(problem).is_some());
    assert_eq!(edge.collected().await, [task]);
}

#[tokio::test]
async fn a_clone_asks_nobody_past_the_budget_of_the_population() {
    let mut edge = Edge::new().await;
    let (task, assignment) = edge.assign_to(local()).await;
    assert_eq!(edge.answer(task, &assignment).await, None);
    edge.cancel(task).await;
    // A clone that was created while the budget had room for both tasks ends when the budget is lowered to fit only the
    // first task and a fifth of another.
    let (_, by_population) = edge.spent(task).await;
    edge.set_budget(3.0 * by_population).await;
    let clone = edge.create(local()).await.unwrap();
    edge.set_budget(1.2 * by_population).await;
    edge.wait_for(clone).await;
    let record = edge.coordinator.storage.task_of_any_organisation(clone).await.unwrap().unwrap();
    assert_eq!(record.state, TaskState::Completed { reason: StopReason::PrivacyBudget });
    assert_eq!(edge.coordinator.storage.outstanding_assignment(edge.client).await.unwrap(), None);
    assert_eq!(edge.collected().await, [task]);
    // Another clone cannot even be created.
    let refusal = edge.create(local()).await.unwrap_err();
    assert_eq!(refusal.code(), ErrorCode::TaskInvalid);
    assert!(refusal.to_string().contains("one more version would exceed that"), "{refusal}");
}

#[tokio::test]
async fn an_update_that_the_budget_does_not_allow_is_not_taken() {
    let mut edge = Edge::new().await;
    let (task, assignment) = edge.assign_to(local()).await;
    edge.set_budget(1.0).await;
    assert_eq!(edge.answer(task, &assignment).await, Some(ErrorCode::RoundClosed));
    assert_eq!((edge.collected().await, edge.spent(task).await.0), (vec![], 0.0));
    let kept = folkmoot_rounds::ingest::logged(&edge.coordinator.ingest, assignment.round_id, assignment.id);
    assert!(kept.is_ok_and(|bytes| bytes == 0), "not a byte");
}
