//! Wake-ups, in this process and in the other coordinators that share its database.
//!
//! A signal may be lost, and nothing depends on it: every waiter also reads the database from time to time.

use std::sync::{OnceLock, PoisonError, RwLock};

use folkmoot_crowd::Demand;
use folkmoot_protocol::{ClientId, OrganisationId, PopulationName, RoundId};
use tokio::sync::mpsc::UnboundedSender;

/// Something that happened, and that others may wait for.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// A fact was recorded: the drivers look for work.
    Fact,
    /// These clients have an assignment.
    Assigned(Vec<ClientId>),
    /// There is news for the polls of these clients: they are asked for their current updates, or a step of secure aggregation
    /// has ended.
    Asked(Vec<ClientId>),
    /// A round has opened after a commit.
    Opened,
    /// A round has ended, and nobody needs its updates any more.
    Ended(RoundId),
    /// The demand of a population that the sender drives.
    Demand(Demand),
}

/// The coordinators that share a database, as this process knows them.
#[derive(Debug, Default)]
pub struct Processes {
    /// The ids of the living coordinators; empty if this one is alone.
    living: RwLock<Vec<String>>,
    /// The way to the others.
    outbox: OnceLock<UnboundedSender<Signal>>,
}

impl Processes {
    /// Sets the ids of the living coordinators.
    pub fn set_living(&self, ids: Vec<String>) {
        *self.living.write().unwrap_or_else(PoisonError::into_inner) = ids;
    }

    /// Returns the number of living coordinators, at least 1.
    pub fn count(&self) -> usize {
        self.living.read().unwrap_or_else(PoisonError::into_inner).len().max(1)
    }

    /// Sends a signal to the other coordinators.
    pub fn relay(&self, signal: Signal) {
        if let Some(outbox) = self.outbox.get() {
            // A closed outbox means that the process is shutting down.
            let _ = outbox.send(signal);
        }
    }

    /// Sends the signals of this process to `outbox` from now on. Call it once.
    pub fn connect(&self, outbox: UnboundedSender<Signal>) {
        let _ = self.outbox.set(outbox);
    }

    /// Returns whether the coordinator `id` should drive the tasks of a population. All tasks of a population have the
    /// same driver, because they share its clients.
    ///
    /// Every coordinator that knows the same others gives the same answer. When one joins or leaves, only the
    /// populations that it gets or had move: each population chooses the coordinator with the largest hash of both
    /// names (rendezvous hashing, Thaler and Ravishankar 1998).
    pub fn drives(&self, id: &str, organisation: OrganisationId, population: &PopulationName) -> bool {
        let living = self.living.read().unwrap_or_else(PoisonError::into_inner);
        if !living.iter().any(|other| other == id) {
            // This coordinator is alone, or cannot reach the others: the leases decide.
            return true;
        }
        let weight = |id: &str| {
            let mut hasher = blake3::Hasher::new();
            for part in [id, &organisation.to_string(), &population.to_string()] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
            *hasher.finalize().as_bytes()
        };
        living.iter().max_by_key(|other| weight(other)).is_some_and(|chosen| chosen == id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn driver(processes: &Processes, ids: &[&str], population: &str) -> String {
        let organisation = OrganisationId::from_random_bytes([1; 16]);
        let population = population.parse().unwrap();
        let drivers = ids.iter().filter(|id| processes.drives(id, organisation, &population));
        let [driver] = drivers.collect::<Vec<_>>()[..] else { panic!("one coordinator drives a population") };
        (*driver).to_owned()
    }

    #[test]
    fn populations_are_shared_out_and_few_move() {
        let processes = Processes::default();
        let populations: Vec<String> = (0..300).map(|number| format!("p{number}")).collect();
        let shared_out = |ids: &[&str]| -> Vec<String> {
            processes.set_living(ids.iter().map(|id| (*id).to_owned()).collect());
            populations.iter().map(|population| driver(&processes, ids, population)).collect()
        };
        let three = shared_out(&["a", "b", "c"]);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        three.iter().for_each(|id| *counts.entry(id).or_default() += 1);
        assert!(counts.values().all(|count| (70..130).contains(count)), "{counts:?}");
        let two = shared_out(&["a", "c"]);
        for (before, after) in three.iter().zip(&two) {
            assert!(before == "b" || before == after, "only the populations of the one that left move");
        }
        assert_eq!(shared_out(&["c", "b", "a"]), three, "the order does not matter");
    }

    #[test]
    fn a_coordinator_that_is_out_of_touch_relies_on_leases() {
        let (organisation, population) = (OrganisationId::from_random_bytes([1; 16]), "p".parse().unwrap());
        let processes = Processes::default();
        assert!(processes.drives("a", organisation, &population), "alone");
        processes.set_living(vec!["b".into()]);
        assert!(processes.drives("a", organisation, &population), "the others do not know it");
    }
}
