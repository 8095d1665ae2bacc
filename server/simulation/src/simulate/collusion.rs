//! Hostile clients that collude.
//!
//! For each version, they compute an update from honest updates that they know. The result is a function of the world's
//! seed, the plan and the version only. So threads, faults and the order of assignments have no effect.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use folkmoot_coordinator::scheduling::SchedulingPolicy;
use folkmoot_protocol::BlobDigest;

use super::{Crowd, training::Training};
use crate::attack::{Agreed, Attack, Cohort, Known};

/// The maximum number of hostile clients whose honest updates the others know. The clients with the lowest numbers are
/// chosen.
const MEMBERS_MAX: usize = 16;
/// The number of versions whose updates are cached. An older one is computed again.
const VERSIONS_MAX: usize = 4;

/// A plan and a version.
type Base = (BlobDigest, u64);
/// The updates for a version, once a thread has computed them.
type Shared = Arc<OnceLock<Result<Agreed, String>>>;

/// The hostile clients and the updates on which they have agreed. One thread computes the updates for a version; other
/// threads that need them wait for it.
pub struct Collusion {
    attack: Attack,
    members: Vec<usize>,
    cohort: Cohort,
    agreed: Mutex<VecDeque<(Base, Shared)>>,
}

impl Collusion {
    /// Returns the collusion of the hostile clients in a task with this scheduling; `None` if there is none.
    pub fn of(crowd: &Crowd, policy: &dyn SchedulingPolicy) -> Option<Self> {
        let (mut members, attack) = crowd.hostile().filter(|(_, attack)| attack.known_min().is_some())?;
        let cohort = cohort(policy, crowd.len(), members.len());
        members.truncate(MEMBERS_MAX);
        Some(Self { attack: attack.clone(), members, cohort, agreed: Mutex::default() })
    }

    /// Returns the update that a hostile client uploads. `train` returns a client's honest update of the version, by the
    /// client's number. It is called only if no thread has computed the version's updates.
    ///
    /// # Errors
    /// If an honest training failed, its error.
    pub fn update(
        &self,
        training: &Training,
        train: impl FnMut(usize) -> Result<Vec<f32>, String>,
    ) -> Result<Vec<f32>, String> {
        let shared = self.shared((training.lesson.digest, training.base_version));
        match shared.get_or_init(|| self.agree(train)) {
            Ok(agreed) => Ok(agreed.update(training.assignment_id.seed())),
            Err(error) => Err(error.clone()),
        }
    }

    fn agree(&self, train: impl FnMut(usize) -> Result<Vec<f32>, String>) -> Result<Agreed, String> {
        let updates = self.members.iter().copied().map(train).collect::<Result<Vec<_>, _>>()?;
        let known = Known::of(updates, self.cohort);
        self.attack.agree(&known).ok_or_else(|| "the attack is not one of clients that collude".to_owned())
    }

    fn shared(&self, base: Base) -> Shared {
        let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shared)) = agreed.iter().find(|(of, _)| *of == base) {
            return shared.clone();
        }
        if agreed.len() == VERSIONS_MAX {
            agreed.pop_front();
        }
        let shared = Shared::default();
        agreed.push_back((base, shared.clone()));
        shared
    }
}

/// Returns the clients of a round in a world of `clients` clients, `hostile` of them hostile. If every update makes a
/// version, a round is the clients that train at the same time.
fn cohort(policy: &dyn SchedulingPolicy, clients: usize, hostile: usize) -> Cohort {
    let most = match policy.updates().1 {
        0 | 1 => policy.concurrency(),
        most => most,
    };
    let of_round = usize::try_from(most).unwrap_or(usize::MAX).clamp(1, clients);
    let share = hostile as f64 / clients as f64;
    Cohort { clients: of_round, hostile: ((share * of_round as f64).round() as usize).max(1) }
}

#[cfg(test)]
mod tests;
