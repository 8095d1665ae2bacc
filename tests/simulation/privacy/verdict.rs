//! Compares the charges with the actual privacy loss of every unit: for each task, for each task with its ancestors,
//! and for the population.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::{
    round::{AbandonReason, Phase},
    task::{StopReason, TaskState},
};
use folkmoot_privacy::{Delta, Relation, ledger::Spent};
use folkmoot_storage::{ModelVersionRepository, RoundRepository};
use futures::TryStreamExt;
use object_store::ObjectStore;

use super::{
    charged::{Charged, Forgery},
    pooled::Pooled,
    sampled::{BINS, epsilon_below},
    script::Mechanism,
    truth::{Exposure, Truth},
    world::World,
};
use crate::invariants::{Broken, Holds, broken};

/// The tolerated ratio of the actual loss to the charge. Discrete noise and rounded scales can make the loss differ by
/// this much from the continuous limit.
const ROUNDING: f64 = 1.0 + 1e-6;

type Exposures = BTreeMap<usize, Exposure>;

/// Compares the charges of a world with its record. Returns the world's statistics, to be added to those of all worlds.
///
/// # Errors
/// The first invariant that is violated.
pub async fn judge(world: &mut World, forgery: Option<Forgery>) -> Result<Pooled, Broken> {
    let mut truths = Vec::new();
    for index in 0..world.tasks.len() {
        truths.push(Truth::of(world, index).await?);
    }
    let charged = Charged::read(world, forgery).await?;
    let mut pooled = Pooled::default();
    let mut of_population = Exposures::new();
    for index in 0..truths.len() {
        extend(&mut of_population, judge_task(world, index, &truths, &charged, &mut pooled)?);
    }
    for delta in [1e-3, 1e-5, 1e-6].map(|delta| Delta::new(delta).expect("it is a delta")) {
        covers("the population", &of_population, &charged.by_population(delta)?, delta)?;
    }
    if let Some((epsilon, delta)) = world.script.budget.filter(|_| world.is_budget_as_scripted) {
        let delta = Delta::new(delta).expect("it is a delta");
        is_within("the population", &charged.by_population(delta)?, epsilon)?;
    }
    samples_are_kept(world, &truths).await?;
    no_copy_is_left(world).await?;
    count(world, &truths, of_population.len()).await?;
    Ok(pooled)
}

/// Compares the charges of one task with the privacy loss of its releases. Returns the exposure of each unit.
fn judge_task(
    world: &World,
    index: usize,
    truths: &[Truth],
    charged: &Charged,
    pooled: &mut Pooled,
) -> Result<Exposures, Broken> {
    let truth = &truths[index];
    let exposures = truth.exposures(&world.record, u64::MAX);
    let ((delta, limit), whose) = (limits(world, index), format!("task {index}"));
    let spent = charged.by_task(truth.id, delta)?;
    pooled.margin(truth.script.mechanism, covers(&whose, &exposures, &spent, delta)?);
    is_within(&whose, &spent, limit)?;
    let lineage = lineage(charged, truths, truth, &exposures, world);
    covers(
        &format!("the descent of {whose}"),
        &lineage,
        &charged.by_lineage(truth.id, delta, world)?,
        delta,
    )?;
    is_measured(index, truth)?;
    if let Some(charge) = charged.charge(truth.id) {
        pooled.add_task(&world.record, truth, charge);
    }
    Ok(exposures)
}

async fn count(world: &mut World, truths: &[Truth], units: usize) -> Holds {
    for (index, truth) in truths.iter().enumerate() {
        world.coverage.count_many("versions released", truth.releases.len() as u64);
        match truth.is_as_asked {
            Some(_) => world.coverage.count("noise as it was asked for"),
            None if !truth.releases.is_empty() => world.coverage.count("noise as it was measured"),
            None => {}
        }
        let reason = TaskState::Completed { reason: StopReason::PrivacyBudget };
        if world.task(index).await?.state == reason {
            world.coverage.count("tasks ended by a budget");
        }
    }
    world.coverage.count_many("units compared", units as u64);
    world.coverage.count_many("users protected", u64::from(world.script.protects_users));
    Ok(())
}

fn limits(world: &World, index: usize) -> (Delta, f64) {
    let limits = world.tasks[index].script.description.privacy.limits().expect("every task is private");
    (Delta::new(limits.delta).expect("it is a delta"), limits.epsilon)
}

/// Returns the charged epsilon minus the epsilon of the most exposed unit. Fails if the charge is too small.
fn covers(whose: &str, exposures: &Exposures, spent: &Spent, delta: Delta) -> Result<Option<f64>, Broken> {
    // Under the relation "replace one", a unit shifts the sum twice as far.
    let factor = if spent.relation == Relation::ReplaceOne { 2.0f64 } else { 1.0 };
    let mut worst: BTreeMap<String, (f64, &Exposure)> = BTreeMap::new();
    for exposure in exposures.values() {
        let (square, _) = worst.entry(format!("{:?}", exposure.coins)).or_insert((0.0, exposure));
        *square = square.max(exposure.square * factor * factor);
    }
    let mut margin = None;
    for (square, exposure) in worst.into_values() {
        let real = epsilon_below(&exposure.coins, square.sqrt(), delta.get(), BINS);
        let charged = spent.epsilon.get();
        if real > charged * ROUNDING {
            let detail = format!(
                "{whose} is charged epsilon {charged} at {delta}, and a unit was exposed to {real}: {exposure:?}"
            );
            return Err(broken("what_is_charged_covers_what_happened", detail));
        }
        let is_plain = exposure.coins.iter().all(|one| one.releases == 0);
        if let Some(rho) = spent.rho.filter(|rho| is_plain && square / 2.0 > rho.get() * ROUNDING) {
            let detail =
                format!("{whose} is charged {rho} of rho, and a unit was exposed to {}", square / 2.0);
            return Err(broken("what_is_charged_covers_what_happened", detail));
        }
        if real > 0.0 {
            margin = Some(margin.unwrap_or(f64::INFINITY).min(charged - real));
        }
    }
    Ok(margin)
}

fn is_within(whose: &str, spent: &Spent, limit: f64) -> Holds {
    if spent.epsilon.get() <= limit * ROUNDING {
        return Ok(());
    }
    Err(broken("a_budget_is_kept", format!("{whose} has spent {} of {limit}", spent.epsilon)))
}

/// Checks that a task has the noise that it sets, even if the charge would allow less noise.
fn is_measured(index: usize, truth: &Truth) -> Holds {
    if truth.is_as_asked != Some(false) {
        return Ok(());
    }
    let detail = format!("task {index} has asked for {:?}: {:?}", truth.script.multiplier, truth.energy);
    Err(broken("the_noise_is_what_was_asked_for", detail))
}

/// Adds the exposure by the versions from which a task descends to the exposure by its own versions.
fn lineage(charged: &Charged, truths: &[Truth], truth: &Truth, own: &Exposures, world: &World) -> Exposures {
    let mut all = own.clone();
    for ancestor in charged.ancestors(truth.id) {
        let found = truths.iter().find(|one| one.id == ancestor.task_id);
        extend(&mut all, found.map(|one| one.exposures(&world.record, ancestor.version)).unwrap_or_default());
    }
    all
}

fn extend(all: &mut Exposures, others: Exposures) {
    for (unit, exposure) in others {
        let sum = all.entry(unit).or_default();
        sum.square += exposure.square;
        sum.coins.extend(exposure.coins.into_iter().filter(|one| one.releases > 0));
    }
}

/// Checks that each sample that was drawn leads to a version, or is withheld because of the budget. No sample may be
/// drawn again.
async fn samples_are_kept(world: &World, truths: &[Truth]) -> Holds {
    let released: BTreeSet<_> =
        truths.iter().flat_map(|truth| &truth.releases).map(|release| release.round).collect();
    for truth in truths {
        for record in world.storage.rounds(truth.id, 1000, None).await? {
            let is_withheld =
                matches!(record.round.phase, Phase::Abandoned { reason: AbandonReason::PrivacyBudget, .. });
            let is_drawn = world.record.draws.contains_key(&record.round.id);
            if is_drawn && !is_withheld && !released.contains(&record.round.id) {
                return Err(broken("a_sample_is_kept", format!("{:?}", record.round)));
            }
            // If the round used only the fastest clients, it would be a different mechanism.
            let cut_off = world.record.cut_off.contains(&record.round.id);
            if is_drawn && cut_off && !world.record.stopped.contains(&record.round.id) {
                return Err(broken("a_sample_is_waited_for", format!("{:?}", record.round)));
            }
        }
    }
    Ok(())
}

/// Checks that the blobs contain no unreleased version, because two noisy copies of one sum reveal more than is
/// charged. With local noise, computing a version again gives the same result, so the blob of a withheld version may
/// remain.
async fn no_copy_is_left(world: &World) -> Holds {
    if world.tasks.iter().any(|task| task.script.mechanism == Mechanism::Local) {
        return Ok(());
    }
    let mut released = BTreeSet::new();
    let mut bytes = 0;
    for task in &world.tasks {
        for version in world.storage.model_versions(task.id, 1000, None).await? {
            bytes = version.weights_bytes;
            released.insert(version.weights.to_string());
        }
    }
    let listed: Vec<_> = world
        .store
        .list(None)
        .try_collect()
        .await
        .map_err(|error: object_store::Error| broken("the_store_lists", error.to_string()))?;
    for blob in listed.iter().filter(|blob| blob.size == bytes) {
        let name = blob.location.filename().unwrap_or_default();
        if !released.contains(name) {
            return Err(broken("no_noisy_copy_is_left", blob.location.to_string()));
        }
    }
    Ok(())
}
