use folkmoot_protocol::TaskId;
use serde::{Deserialize, Serialize};

use super::{Charge, Event, Participation};
use crate::{
    Delta, Epsilon, NoiseMultiplier, RangeError, Relation, Rho, accountant::rho_for_epsilon, claim::Cost,
};

/// The smallest and the largest noise multiplier that the search tries.
const MULTIPLIERS: [f64; 2] = [1e-2, 1e6];
/// The number of halvings after which a multiplier is known to nine digits.
const HALVINGS: u32 = 64;

/// The charged releases of a population. The totals assume a client that was in as many releases as selection allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals(Vec<Total>);

/// Releases of one task that have the same charge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Total {
    task_id: TaskId,
    charge: Charge,
    releases: u64,
    /// True if clients of the task have begun to send updates with noise of their own.
    is_begun: bool,
}

/// An upper bound on the privacy spent on any client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// Epsilon at the requested delta.
    pub epsilon: Epsilon,
    /// The neighbouring relation under which epsilon holds.
    pub relation: Relation,
    /// The zCDP parameter; `None` where sampling was accounted.
    pub rho: Option<Rho>,
    /// The name of the accountant that computed epsilon.
    pub accountant: &'static str,
}

/// The ledger contains a Poisson-sampled release whose relation does not allow sampling to be accounted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the ledger contains a Poisson-sampled release whose cost is unknown: its relation must be zero_out or add_or_remove"
)]
pub struct RelationError;

impl Totals {
    /// Adds the charge of a ledger entry. Entries without a charge are ignored.
    pub fn count(&mut self, event: &Event) {
        match event {
            Event::Release(release) => self.add(release.task_id, release.charge, 1),
            Event::Collection(collection) => self.begin(collection.task_id, collection.charge),
            Event::Settings(_) | Event::Task(_) => {}
        }
    }

    /// Adds releases of a task.
    pub fn add(&mut self, task_id: TaskId, charge: Charge, releases: u64) {
        let total = self.total(task_id, charge);
        total.releases = total.releases.saturating_add(releases);
    }

    /// Records that clients of a task have begun to send updates with noise of their own.
    pub fn begin(&mut self, task_id: TaskId, charge: Charge) {
        self.total(task_id, charge).is_begun = true;
    }

    /// Returns whether clients of a task have begun to send updates with noise of their own.
    pub fn has_begun(&self, task_id: TaskId) -> bool {
        self.0.iter().any(|total| total.task_id == task_id && total.is_begun)
    }

    /// Adds all releases of `others`.
    pub fn extend(&mut self, others: &Self) {
        for other in &others.0 {
            self.add(other.task_id, other.charge, other.releases);
            self.total(other.task_id, other.charge).is_begun |= other.is_begun;
        }
    }

    /// Returns whether no charge was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether any task other than `task_id` was charged.
    pub fn has_others(&self, task_id: TaskId) -> bool {
        self.0.iter().any(|total| total.task_id != task_id)
    }

    fn total(&mut self, task_id: TaskId, charge: Charge) -> &mut Total {
        let found = self.0.iter().position(|total| total.task_id == task_id && total.charge == charge);
        let place = found.unwrap_or_else(|| {
            self.0.push(Total { task_id, charge, releases: 0, is_begun: false });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// Returns the number of versions that were released.
    pub fn releases(&self) -> u64 {
        self.0.iter().map(|total| total.releases).sum()
    }

    /// Returns whether any release was charged as Poisson-sampled.
    pub fn has_sampled(&self) -> bool {
        self.0.iter().any(|total| matches!(total.charge.participation, Participation::Poisson { .. }))
    }

    /// Returns the totals of one task.
    pub fn of_task(&self, task_id: TaskId) -> Self {
        Self(self.0.iter().filter(|total| total.task_id == task_id).copied().collect())
    }

    /// Computes the privacy spent on a client that was in as many releases as selection allows.
    ///
    /// [`Cost`] accounts it. The result holds under the relation of the releases, or under [`Relation::ZeroOut`] if
    /// their relations differ.
    ///
    /// # Errors
    /// [`RelationError`] if a release cannot be accounted. This build writes no such release.
    pub fn spent(&self, delta: Delta) -> Result<Spent, RelationError> {
        self.spent_under(self.relation(), delta)
    }

    /// Computes the privacy spent under a given relation. If any release was sampled, the result holds under zero-out
    /// instead, because sampling can be accounted only under zero-out.
    ///
    /// # Errors
    /// As [`Totals::spent`].
    pub fn spent_under(&self, relation: Relation, delta: Delta) -> Result<Spent, RelationError> {
        let charges = self.0.iter().map(|total| (total.charge, total.counted()));
        let (cost, relation) = Cost::of_charges(charges, relation).map_err(|_| RelationError)?;
        let epsilon = cost.epsilon(delta).map_err(|_| RelationError)?;
        Ok(Spent { epsilon, relation, rho: cost.rho(), accountant: cost.accountant().name() })
    }

    /// Returns whether one more release of a task stays within a budget.
    ///
    /// # Errors
    /// As [`Totals::spent`].
    pub fn allows(
        &self,
        task_id: TaskId,
        charge: Charge,
        relation: Relation,
        (epsilon, delta): (Epsilon, Delta),
    ) -> Result<bool, RelationError> {
        let mut next = self.clone();
        next.add(task_id, charge, 1);
        Ok(next.spent_under(relation, delta)?.epsilon <= epsilon)
    }

    /// Returns the relation that all releases share, or zero-out if they differ.
    fn relation(&self) -> Relation {
        let mut relations = self.0.iter().map(|total| total.charge.noise_multiplier.relation());
        let first = relations.next().unwrap_or_default();
        if relations.all(|relation| relation == first) { first } else { Relation::ZeroOut }
    }
}

impl Total {
    /// Returns the number of releases to charge: the number of versions, but at least 1 once clients of the task have
    /// begun to send.
    fn counted(&self) -> u64 {
        self.releases.max(u64::from(self.is_begun))
    }
}

/// No multiplier keeps the releases within the budget.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrateError {
    /// Even the largest multiplier exceeds the budget.
    #[error(
        "even a noise multiplier of {} exceeds the budget; raise epsilon or delta, or plan fewer releases",
        MULTIPLIERS[1]
    )]
    OutOfReach,
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// Finds the smallest multiplier with which `releases` releases of one task stay within a budget.
///
/// # Errors
/// [`CalibrateError::OutOfReach`] if no multiplier up to 10^6 is enough.
pub fn multiplier_for(
    participation: Participation,
    releases: u64,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<f64, CalibrateError> {
    let task_id = TaskId::from_random_bytes([0; 16]);
    // The multiplier is relative to the sensitivity under its own relation, so the choice of the relation does not
    // change the result.
    let is_enough = |multiplier: f64| -> Result<bool, CalibrateError> {
        let noise_multiplier = NoiseMultiplier::new(multiplier, Relation::ZeroOut)?;
        let mut totals = Totals::default();
        totals.add(task_id, Charge { noise_multiplier, participation }, releases);
        Ok(totals.spent(delta).is_ok_and(|spent| spent.epsilon <= epsilon))
    };
    let [mut low, mut high] = MULTIPLIERS;
    let at_most = match participation {
        Participation::AtMost { count } => Some(releases.min(count)),
        Participation::Whole { count } => Some(count),
        Participation::Poisson { .. } => None,
    };
    if let Some(participations) = at_most {
        // The closed form is exact up to its last digits, so search close to its result.
        let rho = rho_for_epsilon(epsilon, delta).get();
        let near = (participations as f64 / (2.0 * rho)).sqrt();
        (low, high) = (low.max(near * (1.0 - 1e-9)), (near * (1.0 + 1e-9)).clamp(low, high));
    }
    if !is_enough(high)? {
        return Err(CalibrateError::OutOfReach);
    }
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if high / low < 1.0 + 1e-9 || middle <= low || middle >= high {
            break;
        }
        if is_enough(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SamplingRate;

    fn task(number: u8) -> TaskId {
        TaskId::from_random_bytes([number; 16])
    }

    fn charge(multiplier: f64, participation: Participation) -> Charge {
        let noise_multiplier = NoiseMultiplier::new(multiplier, Relation::ZeroOut).unwrap();
        Charge { noise_multiplier, participation }
    }

    fn delta() -> Delta {
        Delta::new(1e-5).unwrap()
    }

    #[test]
    fn participations_are_capped_for_each_task() {
        let mut totals = Totals::default();
        let ten = charge(5.0, Participation::AtMost { count: 10 });
        for _ in 0..1000 {
            totals.add(task(1), ten, 1);
        }
        assert_eq!(totals.spent(delta()).unwrap().rho.unwrap().get(), 0.2);
        totals.add(task(2), ten, 4);
        let spent = totals.spent(delta()).unwrap();
        assert!((spent.rho.unwrap().get() - 0.28).abs() < 1e-15);
        let cost = Cost::of_rho(spent.rho.unwrap());
        assert_eq!(Ok(spent.epsilon), cost.epsilon(delta()));
        assert_eq!((totals.releases(), totals.of_task(task(2)).releases()), (1004, 4));
    }

    #[test]
    fn sampled_and_other_releases_compose() {
        let rate = SamplingRate::new(0.01).unwrap();
        let mut totals = Totals::default();
        totals.add(task(1), charge(1.0, Participation::Poisson { rate }), 1000);
        let sampled = totals.spent(delta()).unwrap();
        // dp-accounting's bound for the same releases, with its own orders, is 2.101.
        assert!((2.0..2.102).contains(&sampled.epsilon.get()), "{sampled:?}");
        assert_eq!((sampled.rho, sampled.accountant), (None, "RDP"));
        totals.add(task(2), charge(5.0, Participation::AtMost { count: 3 }), 3);
        let both = totals.spent(delta()).unwrap();
        assert!(both.epsilon > sampled.epsilon && both.epsilon.get() < sampled.epsilon.get() + 3.0);
    }

    #[test]
    fn a_whole_task_costs_the_same_from_its_first_release_on() {
        let mut totals = Totals::default();
        totals.add(task(1), charge(2.0, Participation::Whole { count: 1 }), 0);
        assert_eq!(totals.spent(delta()).unwrap().rho.unwrap().get(), 0.0);
        for releases in [1, 499] {
            totals.add(task(1), charge(2.0, Participation::Whole { count: 1 }), releases);
            assert_eq!(totals.spent(delta()).unwrap().rho.unwrap().get(), 0.125);
        }
        let rate = SamplingRate::new(0.01).unwrap();
        totals.add(task(2), charge(1.0, Participation::Poisson { rate }), 10);
        assert_eq!(totals.spent(delta()).unwrap().accountant, "RDP");
    }

    #[test]
    fn a_collection_costs_all_that_a_client_may_send_before_there_is_a_version() {
        let local = charge(2.0, Participation::Whole { count: 3 });
        let mut totals = Totals::default();
        let round_id = folkmoot_protocol::RoundId::from_random_bytes([1; 16]);
        totals.count(&Event::Collection(crate::ledger::Collection {
            task_id: task(1),
            round_id,
            charge: local,
        }));
        assert!(totals.has_begun(task(1)) && !totals.has_begun(task(2)));
        assert_eq!((totals.spent(delta()).unwrap().rho.unwrap().get(), totals.releases()), (0.375, 0));
        totals.add(task(1), local, 5);
        assert_eq!(totals.spent(delta()).unwrap().rho.unwrap().get(), 0.375, "versions cost nothing more");
        // A clone of the task collects updates from the same clients again, so the ledger charges it again.
        totals.begin(task(2), local);
        assert_eq!(totals.spent(delta()).unwrap().rho.unwrap().get(), 0.75);
    }

    #[test]
    fn relations_that_differ_are_brought_to_one() {
        let replace = NoiseMultiplier::new(1.0, Relation::ReplaceOne).unwrap();
        let local = Charge { noise_multiplier: replace, participation: Participation::Whole { count: 2 } };
        let mut totals = Totals::default();
        totals.add(task(1), local, 7);
        let spent = totals.spent(delta()).unwrap();
        assert_eq!((spent.relation, spent.rho.unwrap().get()), (Relation::ReplaceOne, 1.0));
        totals.add(task(2), charge(1.0, Participation::AtMost { count: 1 }), 1);
        let spent = totals.spent(delta()).unwrap();
        // Under zero-out instead of replace-one, the first task's updates move the sum by half as much.
        assert_eq!((spent.relation, spent.rho.unwrap().get()), (Relation::ZeroOut, 0.25 + 0.5));
        // The ledger accounts a population under one relation from the beginning, so its sum never falls.
        let mut alone = Totals::default();
        alone.add(task(1), local, 7);
        let before = alone.spent_under(Relation::ZeroOut, delta()).unwrap();
        assert!(before.rho.unwrap().get() < spent.rho.unwrap().get());
    }

    #[test]
    fn a_multiplier_is_the_smallest_that_is_enough() {
        let rate = SamplingRate::new(0.01).unwrap();
        for participation in [Participation::AtMost { count: 7 }, Participation::Poisson { rate }] {
            for epsilon in [0.5, 8.0] {
                let epsilon = Epsilon::new(epsilon).unwrap();
                let z = multiplier_for(participation, 50, epsilon, delta()).unwrap();
                let spent = |z: f64| {
                    let mut totals = Totals::default();
                    totals.add(task(1), charge(z, participation), 49);
                    (
                        totals
                            .allows(task(1), charge(z, participation), Relation::ZeroOut, (epsilon, delta()))
                            .unwrap(),
                        totals,
                    )
                };
                assert!(spent(z).0, "{participation:?} {epsilon} {z}");
                assert!(!spent(z * 0.999).0, "{participation:?} {epsilon} {z}");
            }
        }
        let tiny = Epsilon::new(1e-9).unwrap();
        let all = Participation::AtMost { count: u64::MAX };
        assert_eq!(multiplier_for(all, u64::MAX, tiny, delta()), Err(CalibrateError::OutOfReach));
    }
}
