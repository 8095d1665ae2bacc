//! Divides the waiting clients of a population among the tasks that want them. The other clients get a time to check in
//! again.
//!
//! The state is kept in memory only. A restart loses the credits of a few draws and the learned daily pattern of
//! check-ins; new draws and check-ins rebuild them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use folkmoot_coordinator::{
    participation::Waiting,
    scheduling::COHORT_MAX,
    sharing::{Claim, served_on_joining, share},
};
use folkmoot_protocol::{
    ClientId, OrganisationId, PopulationName, TaskId, Timestamp, messages::Artifact, saturating::to_length,
};
use folkmoot_storage::TaskRecord;
use serde::{Deserialize, Serialize};

use crate::pacing::{Pace, RetryLimits, RetryWindow};

/// The target time, in seconds, in which the missing clients of a cohort arrive.
const FILL_SECONDS: f64 = 30.0;
/// The time constant, in seconds, of the moving average of the rate of draws.
const DRAW_SECONDS: f64 = 300.0;

/// The time, in milliseconds, after which a task's request for clients expires. A driver renews the request far more
/// often.
const ASKS_MILLISECONDS: u64 = 60_000;

/// The time, in milliseconds, after which a demand that another process has reported expires.
const TOLD_MILLISECONDS: u64 = 10_000;

/// The waiting clients of all populations, and the tasks that want them.
#[derive(Debug, Default)]
pub struct Crowds {
    by_population: Mutex<BTreeMap<(OrganisationId, PopulationName), Crowd>>,
}

#[derive(Debug, Default)]
struct Crowd {
    pace: Pace,
    wanting: BTreeMap<TaskId, Wanting>,
    /// The newest weights that a task offers to waiting clients for prefetching.
    offered: Option<Artifact>,
    /// The latest demand from the other process that drives the population's tasks.
    told: Option<Demand>,
}

/// The demand for clients of a population. Its driver reports it to the other processes, because they answer clients of
/// the population, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    organisation: OrganisationId,
    population: PopulationName,
    /// The rate of clients that its tasks want.
    per_second: f64,
    /// The newest weights that clients may prefetch.
    offered: Option<Artifact>,
    /// The time at which the demand expires, unless it is reported again.
    until: Timestamp,
}

/// A task that wants clients, or wanted some earlier.
#[derive(Debug)]
struct Wanting {
    claim: Claim,
    /// The part of `claim.served` that does not stand for clients. It was added to put the task level with the others.
    credit: u64,
    /// The clients reserved for this task while it gathers its cohort.
    reserved: BTreeSet<ClientId>,
    /// When the task last asked for clients.
    asked_at: Timestamp,
    /// The time of the last draw. `drawn_per_second` is the recent rate of draws, in clients.
    drawn_at: Timestamp,
    drawn_per_second: f64,
    /// True if every available client should wait for every draw, as for sampled tasks. The retry window then does not
    /// depend on the rate of draws.
    wants_all: bool,
}

impl Crowds {
    /// Returns the eligible clients that this task may draw. Tasks whose turn comes first have reserved the others.
    /// Reserves as many clients as the task wants.
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
                own.reserved = clients.take(to_length(wants)).collect();
            }
            eligible
        })
    }

    /// Records that a task was given `clients` clients.
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

    /// Records that a task gave up gathering a cohort. Its reserved clients are counted as given to it, so that other
    /// tasks get their turn.
    pub fn gave_up(&self, task: &TaskRecord, now: Timestamp) {
        self.with(task, |crowd| {
            if let Some(own) = crowd.wanting.get_mut(&task.id) {
                own.credit += own.reserved.len() as u64;
                own.rest(now);
            }
        });
    }

    /// Removes tasks that are no longer driven.
    pub fn retain(&self, tasks: &BTreeSet<TaskId>) {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        for crowd in crowds.values_mut() {
            crowd.wanting.retain(|task, _| tasks.contains(task));
        }
    }

    /// Lists the demands of the populations whose tasks this process drives.
    pub fn demands(&self, now: Timestamp) -> Vec<Demand> {
        let crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let driven = crowds.iter().filter(|(_, crowd)| !crowd.wanting.is_empty());
        let demand =
            |((organisation, population), crowd): (&(OrganisationId, PopulationName), &Crowd)| Demand {
                organisation: *organisation,
                population: population.clone(),
                per_second: crowd.wanting.values().map(Wanting::per_second).sum(),
                offered: crowd.offered,
                until: now.plus_milliseconds(TOLD_MILLISECONDS),
            };
        driven.map(demand).collect()
    }

    /// Records the demand that another process has reported.
    pub fn hear(&self, demand: Demand) {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (demand.organisation, demand.population.clone());
        crowds.entry(key).or_default().told = Some(demand);
    }

    /// Returns the retry window of a client that was not selected. `processes` is the number of processes among which
    /// clients come back.
    pub fn retry_window(
        &self,
        organisation: OrganisationId,
        population: &PopulationName,
        processes: usize,
        limits: RetryLimits,
        now: Timestamp,
    ) -> RetryWindow {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let crowd = crowds.entry((organisation, population.clone())).or_default();
        crowd.pace.observe(now);
        let own: f64 = crowd.wanting.values().map(Wanting::per_second).sum();
        let told = crowd.told.as_ref().filter(|told| told.until > now).map_or(0.0, |told| told.per_second);
        crowd.pace.hand_out((own + told) / processes.max(1) as f64, limits, now)
    }

    /// Offers a task's newest weights to waiting clients.
    pub fn offer(&self, task: &TaskRecord, weights: Artifact) {
        self.with(task, |crowd| crowd.offered = Some(weights));
    }

    /// Returns the weights that waiting clients may fetch.
    pub fn offered(&self, organisation: OrganisationId, population: &PopulationName) -> Option<Artifact> {
        let crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let crowd = crowds.get(&(organisation, population.clone()))?;
        // A process that has given up a population would offer outdated weights.
        let told = crowd.told.as_ref().and_then(|told| told.offered);
        if crowd.wanting.is_empty() { told.or(crowd.offered) } else { crowd.offered }
    }

    fn with<T>(&self, task: &TaskRecord, change: impl FnOnce(&mut Crowd) -> T) -> T {
        let mut crowds = self.by_population.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (task.organisation_id, task.description.population.clone());
        change(crowds.entry(key).or_default())
    }
}

impl Crowd {
    /// Records the number of clients that a task wants. A new task starts level with the others: clients that the
    /// others were given before it started do not delay them.
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
    /// Returns whether the task's request is recent. After a task ends or moves to another process, its reservations
    /// soon expire.
    fn still_asks(&self, now: Timestamp) -> bool {
        now.milliseconds_since(self.asked_at) < ASKS_MILLISECONDS
    }

    fn rest(&mut self, now: Timestamp) {
        self.claim.wants = 0;
        self.claim.waits_since = now;
        self.reserved.clear();
    }

    /// Returns the demand in clients per second: the rate that would fill the cohort in time, or the recent rate of
    /// draws if it is higher.
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
            }
            .into(),
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
        // One client waits at a time, and each of the two tasks may draw it.
        for turn in 0..400u64 {
            let now = NOW.plus_seconds(turn);
            let drawn: Vec<usize> =
                (0..2).filter(|index| !crowds.share(&tasks[*index], 1, waiting(1), now).is_empty()).collect();
            // Both tasks have asked for clients by now. The task whose turn it is may draw.
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
    fn a_process_that_drives_nothing_knows_the_demand_of_the_driver() {
        let (driver, other, large) = (Crowds::default(), Crowds::default(), task(1, 1.0, 0));
        let (organisation, population) = (large.organisation_id, large.description.population.clone());
        // Many clients wait, so without demand they stay away for long.
        let window = |crowds: &Crowds, processes: usize| {
            let limits = RetryLimits::default();
            let window = |_| crowds.retry_window(organisation, &population, processes, limits, NOW);
            (0..20_000).map(window).last().expect("there are some").milliseconds_max
        };
        let without = window(&Crowds::default(), 1);
        driver.share(&large, 9_000, Vec::new(), NOW);
        let weights = Artifact { digest: BlobDigest::of(b"weights"), bytes: 7 };
        driver.offer(&large, weights);
        driver.demands(NOW).into_iter().for_each(|demand| other.hear(demand));
        assert_eq!(other.offered(organisation, &population), Some(weights));
        let (here, there) = (window(&driver, 2), window(&other, 2));
        assert_eq!(here, there, "both halves of the clients come back as soon");
        assert!(there < without / 2, "{there} {without}");
        assert!(other.demands(NOW).is_empty(), "it drives no task");
    }

    #[test]
    fn few_clients_come_back_at_once_and_many_stay_away() {
        let crowds = Crowds::default();
        let (organisation, population) =
            (OrganisationId::from_random_bytes([9; 16]), "digits".parse().unwrap());
        let window = |milliseconds| {
            let now = NOW.plus_milliseconds(milliseconds);
            crowds.retry_window(organisation, &population, 1, RetryLimits::default(), now).milliseconds_max
        };
        assert!(window(0) <= 5_000);
        let last = (1..5_000).map(window).last().unwrap();
        assert!(last > 300_000, "{last}");
    }
}
