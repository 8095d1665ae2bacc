//! Reads the charges from the ledger. Can also forge them, to test that the simulation finds missing charges.

use std::collections::BTreeMap;

use folkmoot_coordinator::task::TaskState;
use folkmoot_privacy::{
    Delta, Relation, SamplingRate,
    ledger::{Charge, Event, Participation, Spent, Totals},
};
use folkmoot_protocol::TaskId;
use folkmoot_rounds::privacy::inherited;
use folkmoot_storage::{Ancestor, LedgerRepository, ModelVersionRepository};

use super::world::World;
use crate::invariants::{Broken, broken};

/// A way of charging too little. The simulation must find each of them within a few seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// Sampled rounds are charged at half the sampling rate.
    RatesAreHalved,
    /// Clients may take part in one more version than is charged.
    AParticipationIsMissed,
    /// The last version of each task is not charged.
    TheLastReleaseIsMissed,
    /// The versions before a rollback are not charged.
    RolledBackVersionsAreMissed,
    /// Cancelled tasks are not charged.
    CancelledTasksAreForgiven,
    /// Only the last task of the population is charged.
    ClonesBeginAnew,
    /// Local noise is charged only after the first version was released.
    CollectionsWaitForAVersion,
    /// The versions from which a task descends are not charged.
    AncestorsAreForgotten,
}

/// The charges in a population's ledger.
pub struct Charged {
    events: Vec<Event>,
    ancestors: BTreeMap<TaskId, Vec<Ancestor>>,
    forgery: Option<Forgery>,
}

impl Charged {
    /// Reads the ledger and applies the forgery.
    pub async fn read(world: &World, forgery: Option<Forgery>) -> Result<Self, Broken> {
        let entries = world.storage.ledger_entries(world.organisation, &world.population, 0, 10_000).await?;
        let mut events: Vec<Event> = entries.into_iter().map(|entry| entry.event).collect();
        let mut ancestors = BTreeMap::new();
        for index in 0..world.tasks.len() {
            let id = world.tasks[index].id;
            let first = world.storage.model_version(id, 0).await?;
            let first = first.ok_or_else(|| broken("a_task_has_version_0", id.to_string()))?;
            ancestors.insert(id, first.making.ancestors);
            match forgery {
                Some(Forgery::CancelledTasksAreForgiven)
                    if world.task(index).await?.state == TaskState::Cancelled =>
                {
                    events.retain(|event| event.charged().is_none_or(|(task, _)| task != id));
                }
                Some(Forgery::RolledBackVersionsAreMissed) => {
                    let versions = world.storage.model_versions(id, 1000, None).await?;
                    for version in versions {
                        let Some(to) = version.making.rolled_back_to else { continue };
                        let gone = to + 1..version.number;
                        events.retain(|event| !matches!(event, Event::Release(one) if one.task_id == id && gone.contains(&one.version)));
                    }
                }
                _ => {}
            }
        }
        forge(&mut events, forgery);
        Ok(Self { events, ancestors, forgery })
    }

    /// Returns the charge of a task.
    pub fn charge(&self, task: TaskId) -> Option<Charge> {
        let charged = self.events.iter().filter_map(Event::charged);
        charged.filter(|(id, _)| *id == task).map(|(_, charge)| charge).next()
    }

    /// Returns the privacy loss charged to a task alone.
    pub fn by_task(&self, task: TaskId, delta: Delta) -> Result<Spent, Broken> {
        spent(self.totals(Some(task)).spent(delta))
    }

    /// Returns the privacy loss charged to a task and to the versions from which it descends.
    pub fn by_lineage(&self, task: TaskId, delta: Delta, world: &World) -> Result<Spent, Broken> {
        let mut totals = self.totals(Some(task));
        if self.forgery != Some(Forgery::AncestorsAreForgotten) {
            totals.extend(&inherited(self.ancestors(task), &world.population));
        }
        spent(totals.spent(delta))
    }

    /// Returns the total privacy loss charged to all tasks.
    pub fn by_population(&self, delta: Delta) -> Result<Spent, Broken> {
        let last = self.events.iter().rev().filter_map(Event::charged).map(|(task, _)| task).next();
        let only = last.filter(|_| self.forgery == Some(Forgery::ClonesBeginAnew));
        spent(self.totals(only).spent_under(Relation::ZeroOut, delta))
    }

    pub fn ancestors(&self, task: TaskId) -> &[Ancestor] {
        self.ancestors.get(&task).map_or(&[], Vec::as_slice)
    }

    fn totals(&self, task: Option<TaskId>) -> Totals {
        let mut totals = Totals::default();
        let is_of =
            |event: &&Event| event.charged().is_some_and(|(id, _)| task.is_none_or(|task| task == id));
        self.events.iter().filter(is_of).for_each(|event| totals.count(event));
        totals
    }
}

fn spent<E: std::fmt::Display>(spent: Result<Spent, E>) -> Result<Spent, Broken> {
    spent.map_err(|error| broken("the_ledger_can_be_accounted", error.to_string()))
}

fn forge(events: &mut Vec<Event>, forgery: Option<Forgery>) {
    match forgery {
        Some(Forgery::RatesAreHalved) => recharge(events, |participation| match participation {
            Participation::Poisson { rate } => {
                Participation::Poisson { rate: SamplingRate::new(rate.get() / 2.0).expect("it is a rate") }
            }
            other => other,
        }),
        Some(Forgery::AParticipationIsMissed) => recharge(events, |participation| match participation {
            Participation::AtMost { count } if count > 1 => Participation::AtMost { count: count - 1 },
            Participation::Whole { count } if count > 1 => Participation::Whole { count: count - 1 },
            other => other,
        }),
        Some(Forgery::TheLastReleaseIsMissed) => {
            let mut last = BTreeMap::new();
            for event in events.iter() {
                if let Event::Release(release) = event {
                    last.insert(release.task_id, release.version);
                }
            }
            events.retain(
                |event| !matches!(event, Event::Release(one) if last.get(&one.task_id) == Some(&one.version)),
            );
        }
        Some(Forgery::CollectionsWaitForAVersion) => {
            let released = |id: TaskId| {
                events.iter().any(|event| matches!(event, Event::Release(one) if one.task_id == id))
            };
            let is_early = |event: &Event| matches!(event, Event::Collection(one) if !released(one.task_id));
            let kept: Vec<bool> = events.iter().map(|event| !is_early(event)).collect();
            let mut kept = kept.into_iter();
            events.retain(|_| kept.next().unwrap_or(true));
        }
        _ => {}
    }
}

fn recharge(events: &mut [Event], change: impl Fn(Participation) -> Participation) {
    for event in events {
        match event {
            Event::Release(one) => one.charge.participation = change(one.charge.participation),
            Event::Collection(one) => one.charge.participation = change(one.charge.participation),
            Event::Settings(_) | Event::Task(_) => {}
        }
    }
}
