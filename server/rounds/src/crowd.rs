//! The clients of a population that wait, and the tasks that want them: who may draw whom, and when those who are not
//! drawn are to come back.
//!
//! It lives in memory. What is lost with the process are credits of a few draws and what was learned about the hours
//! of the day; both come back by themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use folkmoot_coordinator::{
    pacing::{Pace, RetryLimits, RetryWindow},
    participation::Waiting,
    scheduling::COHORT_MAX,
    sharing::{Claim, served_on_joining, share},
};
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, TaskId, Timestamp, messages::Artifact};
use folkmoot_storage::TaskRecord;

/// Seconds in which what a cohort lacks is to come together.
const FILL_SECONDS: f64 = 30.0;
/// Seconds over which the pace of draws is averaged.
const DRAW_SECONDS: f64 = 300.0;

/// Milliseconds for which a task's word holds. Drivers ask far more often for a task that wants clients.
const ASKS_MILLISECONDS: u64 = 60_000;

/// Every population's crowd.
#[derive(Debug, Default)]
pub struct Crowds {
    by_population: Mutex<BTreeMap<(OrganisationId, PopulationName), Crowd>>,
}

#[derive(Debug, Default)]
struct Crowd {
    pace: Pace,
    wanting: BTreeMap<TaskId, Wanting>,
    /// The newest weights of a task that offers them to clients which wait.
    offered: Option<Artifact>,
}

/// A task that wants clients, or wanted some.
#[derive(Debug)]
struct Wanting {
    claim: Claim,
    /// What `claim.served` has more than the task was given.
    credit: u64,
    /// The clients that wait for this task to have its cohort together.
    reserved: BTreeSet<ClientId>,
    /// When the task last said what it wants.
    asked_at: Timestamp,
    /// When clients were last drawn, and how many per second of late.
    drawn_at: Timestamp,
    drawn_per_second: f64,
    /// Says that whoever can is to wait whenever it draws. What its draws bring then changes no window.
    wants_all: bool,
}

impl Crowds {
    /// Returns those of the eligible clients that this task may draw: all that no other task has reserved whose turn
    /// comes first. What it wants of them is reserved for it.
    pub fn share(
        &self,
        task: &TaskRecord,
        wants: u64,
        mut eligible: Vec<Waiting>,
        now: Timestamp,
    ) -> Vec<Waiting> {
        self.with(task, |crowd| {
            crowd.join(task, wants, now);
            let claims: Vec<Claim> = crowd.wanting.values().map(|one| one.claim).collect();
            let order = share(&claims, eligible.len() as u64);
            let before = order.iter().map(|grant| grant.task).take_while(|first| *first != task.id);
            let mut taken: BTreeSet<ClientId> = BTreeSet::new();
            for first in before {
                let first = crowd.wanting.get(&first).filter(|one| one.still_asks(now));
                taken.extend(first.into_iter().flat_map(|one| &one.reserved));
            }
            eligible.retain(|client| !taken.contains(&client.candidate.client_id));
            if let Some(own) = crowd.wanting.get_mut(&task.id) {
                let clients = eligible.iter().map(|client| client.candidate.client_id);
                own.reserved = clients.take(wants as usize).collect();
            }
            eligible
        })
    }

    /// Records that a task was given clients.
    pub fn drawn(&self, task: &TaskRecord, clients: u64, now: Timestamp) {
        self.with(task, |crowd| {
            let Some(own) = crowd.wanting.get_mut(&task.id) else { return };
            let seconds = (now.milliseconds_since(own.drawn_at) as f64 / 1000.0).max(0.001);
            let share = 1.0 - (-seconds / DRAW_SECONDS).exp();
            own.drawn_per_second += share * (clients as f64 / seconds - own.drawn_per_second);
            own.drawn_at = now;
            own.claim.served = own.claim.served.saturating_add(clients);
            own.rest(now);
        });
    }

    /// Records that a task gave up gathering a cohort: what it had reserved counts as given, so that the others have
    /// their turn.
    pub fn gave_up(&self, task: &TaskRecord, now: Timestamp) {
        self.with(task, |crowd| {
            if let Some(own) = crowd.wanting.get_mut(&task.id) {
                own.credit += own.reserved.len() as u64;
                own.rest(now);
            }
        });
    }

    /// Forgets the tasks that are not driven any more.
    pub fn retain(&self, tasks: &BTreeSet<TaskId>) {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        for crowd in crowds.values_mut() {
            crowd.wanting.retain(|task, _| tasks.contains(task));
        }
    }

    /// Returns when a client that is not drawn is to come back.
    pub fn retry_window(
        &self,
        organisation: OrganisationId,
        population: &PopulationName,
        limits: RetryLimits,
        now: Timestamp,
    ) -> RetryWindow {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let crowd = crowds.entry((organisation, population.clone())).or_default();
        crowd.pace.observe(now);
        let demand = crowd.wanting.values().map(Wanting::per_second).sum();
        crowd.pace.hand_out(demand, limits, now)
    }

    /// Offers a task's newest weights to the clients that wait.
    pub fn offer(&self, task: &TaskRecord, weights: Artifact) {
        self.with(task, |crowd| crowd.offered = Some(weights));
    }

    /// Returns the weights that clients which wait may fetch.
    pub fn offered(&self, organisation: OrganisationId, population: &PopulationName) -> Option<Artifact> {
        let crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        crowds.get(&(organisation, population.clone())).and_then(|crowd| crowd.offered)
    }

    fn with<T>(&self, task: &TaskRecord, change: impl FnOnce(&mut Crowd) -> T) -> T {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (task.organisation_id, task.description.population.clone());
        change(crowds.entry(key).or_default())
    }
}

impl Crowd {
    /// Notes what a task wants; one that is new begins with what the others have, not with all that they ever had.
    fn join(&mut self, task: &TaskRecord, wants: u64, now: Timestamp) {
        let traffic = task.description.traffic;
        let others: Vec<Claim> =
            self.wanting.iter().filter(|(id, _)| **id != task.id).map(|(_, one)| one.claim).collect();
        let own = self.wanting.entry(task.id).or_insert_with(|| {
            let served = served_on_joining(traffic.priority, traffic.weight, task.served, &others);
            let claim = Claim {
                task: task.id,
                priority: traffic.priority,
                weight: traffic.weight,
                served,
                wants,
                waits_since: now,
            };
            let drawn_per_second = wants as f64 / DRAW_SECONDS;
            let credit = served.saturating_sub(task.served);
            let (reserved, wants_all) = (BTreeSet::new(), task.description.sampled().is_some());
            Wanting { claim, credit, reserved, asked_at: now, drawn_at: now, drawn_per_second, wants_all }
        });
        own.asked_at = now;
        if own.claim.wants == 0 {
            own.claim.waits_since = now;
        }
        own.claim.wants = wants;
        own.claim.served = task.served.saturating_add(own.credit);
    }
}

impl Wanting {
    /// A task that is over, or driven by another process now, holds nobody for long.
    fn still_asks(&self, now: Timestamp) -> bool {
        now.milliseconds_since(self.asked_at) < ASKS_MILLISECONDS
    }

    fn rest(&mut self, now: Timestamp) {
        self.claim.wants = 0;
        self.claim.waits_since = now;
        self.reserved.clear();
    }

    /// The clients per second that the task wants: what its cohort lacks, or what it was given of late.
    fn per_second(&self) -> f64 {
        if self.wants_all {
            return COHORT_MAX as f64 / FILL_SECONDS;
        }
        let lacks = self.claim.wants.saturating_sub(self.reserved.len() as u64);
        (lacks as f64 / FILL_SECONDS).max(self.drawn_per_second)
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_coordinator::{
        participation::History,
        task::{Candidate, TaskState},
    };
    use folkmoot_protocol::{BlobDigest, TensorSchema};
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn task(number: u8, weight: f64, priority: u32) -> TaskRecord {
        let description = json!({
            "name": "a", "population": "digits",
            "plan": {
                "loss": "hinge", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 1
            },
            "scheduling": { "kind": "synchronous", "report_goal": 1 },
            "traffic": { "weight": weight, "priority": priority },
            "stop": { "rounds": 1 },
        });
        TaskRecord {
            id: TaskId::from_random_bytes([number; 16]),
            organisation_id: OrganisationId::from_random_bytes([9; 16]),
            description: serde_json::from_value(description).unwrap(),
            state: TaskState::ACTIVE,
            model: BlobDigest::of(b""),
            model_bytes: 0,
            schema: TensorSchema { tensors: Vec::new() },
            plan: BlobDigest::of(b""),
            plan_bytes: 0,
            evaluation_plan: None,
            evaluation_data: None,
            served: 0,
            created_at: NOW,
            revision: 0,
        }
    }

    fn waiting(count: u8) -> Vec<Waiting> {
        let client = |number: u8| Waiting {
            candidate: Candidate {
                client_id: ClientId::from_random_bytes([number; 16]),
                example_count: 1,
                attributes: BTreeMap::new(),
                sdk_version: "1.0.0".into(),
            },
            history: History::default(),
            user: None,
            token: None,
        };
        (0..count).map(client).collect()
    }

    #[test]
    fn a_large_cohort_is_gathered_beside_small_ones() {
        let (crowds, large, small) = (Crowds::default(), task(1, 1.0, 0), task(2, 1.0, 0));
        assert_eq!(crowds.share(&large, 10, waiting(6), NOW).len(), 6, "it gathers");
        assert_eq!(crowds.share(&small, 1, waiting(7), NOW).len(), 1, "one is more than was reserved");
        assert_eq!(crowds.share(&large, 10, waiting(12), NOW).len(), 12);
        crowds.drawn(&large, 10, NOW);
        assert_eq!(crowds.share(&small, 1, waiting(2), NOW).len(), 2, "what is left is for all");
        crowds.gave_up(&small, NOW);
        let important = task(3, 1.0, 5);
        assert_eq!(crowds.share(&important, 3, waiting(3), NOW).len(), 3);
        assert_eq!(crowds.share(&large, 10, waiting(3), NOW).len(), 0, "a higher priority comes first");
        crowds.retain(&BTreeSet::from([large.id]));
        assert_eq!(crowds.share(&large, 10, waiting(3), NOW).len(), 3, "a task that is over holds nobody");
    }

    #[test]
    fn tasks_have_their_shares() {
        let crowds = Crowds::default();
        let mut tasks = [task(1, 1.0, 0), task(2, 3.0, 0)];
        // One client waits at a time, and whoever may draws it.
        for turn in 0..400u64 {
            let now = NOW.plus_seconds(turn);
            let drawn: Vec<usize> =
                (0..2).filter(|index| !crowds.share(&tasks[*index], 1, waiting(1), now).is_empty()).collect();
            // Both have claimed by now: who comes first may draw.
            let first = (0..2)
                .find(|index| !crowds.share(&tasks[*index], 1, waiting(1), now).is_empty())
                .or(drawn.first().copied());
            let Some(first) = first else { continue };
            tasks[first].served += 1;
            crowds.drawn(&tasks[first], 1, now);
        }
        let served = tasks.map(|task| task.served);
        assert!(served[1].abs_diff(3 * served[0]) < 40, "{served:?}");
    }

    #[test]
    fn few_clients_come_back_at_once_and_many_stay_away() {
        let crowds = Crowds::default();
        let (organisation, population) =
            (OrganisationId::from_random_bytes([9; 16]), "digits".parse().unwrap());
        let window = |milliseconds| {
            let now = NOW.plus_milliseconds(milliseconds);
            crowds.retry_window(organisation, &population, RetryLimits::default(), now).milliseconds_max
        };
        assert!(window(0) <= 5_000);
        let last = (1..5_000).map(window).last().unwrap();
        assert!(last > 300_000, "{last}");
    }
}
