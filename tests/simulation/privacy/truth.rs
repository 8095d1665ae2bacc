//! Computes how much a world's releases actually revealed about each unit, only from the record and the released
//! weights.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::privacy::Clipping;
use folkmoot_protocol::{RoundId, TaskId};
use folkmoot_storage::{ModelVersionRecord, ModelVersionRepository};

use super::{
    measure::{Energy, Scatter},
    record::Record,
    sampled::Sampled,
    script::{Mechanism, TaskScript},
    world::World,
};
use crate::invariants::{Broken, broken};

/// An update is short if its norm is below this share of the clipping norm.
const SHORT_SHARE: f64 = 1.0 - 1.0 / 1024.0;

/// The exposure of one unit by a set of releases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposure {
    /// The squared shift of the releases that certainly include the unit, in standard deviations of the noise.
    pub square: f64,
    /// The releases that include the unit only if its coin decides so.
    pub coins: Vec<Sampled>,
}

/// A version that a round produced.
#[derive(Clone, Debug)]
pub struct Release {
    pub number: u64,
    pub round: RoundId,
    /// The clipping norm that the clients received.
    pub norm: f64,
    /// The noise on each parameter of the sum, relative to the clipping norm.
    pub noise: Vec<f64>,
    /// The noise on the count of short updates, relative to its published deviation.
    pub count_noise: Option<f64>,
}

/// A task's releases.
#[derive(Clone, Debug)]
pub struct Truth {
    pub id: TaskId,
    pub script: TaskScript,
    pub releases: Vec<Release>,
    /// The standard deviation of the noise relative to the clipping norm; `None` for a stream, or if no update was
    /// sent.
    deviation: Option<f64>,
    /// All noise values, which have the same standard deviation.
    pub energy: Energy,
    /// True if the noise agrees with the noise multiplier that the task sets; `None` if the multiplier is computed from
    /// epsilon.
    pub is_as_asked: Option<bool>,
}

impl Truth {
    /// Reads a task's released weights and subtracts its clients' updates. The rest is the noise.
    pub async fn of(world: &World, index: usize) -> Result<Self, Broken> {
        let (id, script) = (world.tasks[index].id, world.tasks[index].script.clone());
        let mut versions = world.storage.model_versions(id, 1000, None).await?;
        versions.sort_by_key(|version| version.number);
        let mut releases = Vec::new();
        for pair in versions.windows(2) {
            if let Some(round) = pair[1].round_id {
                releases.push(release(world, &script, (&pair[0], &pair[1]), round).await?);
            }
        }
        let mut energy = Energy::default();
        match script.mechanism {
            Mechanism::Local => energy = world.record.local_noise.get(&id).copied().unwrap_or_default(),
            Mechanism::Tree | Mechanism::Blt => {}
            _ => releases.iter().for_each(|release| energy.add(release.noise.iter().copied())),
        }
        let asked = script.asked();
        let is_as_asked = asked.filter(|_| energy.count > 0).map(|asked| energy.agrees_with(asked));
        let deviation = match is_as_asked {
            Some(true) => asked,
            _ => (energy.count > 0).then(|| energy.deviation_max()),
        };
        Ok(Self { id, script, releases, deviation, energy, is_as_asked })
    }

    /// Returns the exposure of each unit by the versions up to `until`.
    pub fn exposures(&self, record: &Record, until: u64) -> BTreeMap<usize, Exposure> {
        let releases: Vec<&Release> = self.releases.iter().filter(|one| one.number <= until).collect();
        match self.script.mechanism {
            Mechanism::Local => self.sent(record, &releases, until == u64::MAX),
            Mechanism::Tree | Mechanism::Blt => self.streamed(record, &releases),
            Mechanism::Poisson => self.sampled(record, &releases),
            Mechanism::Fixed | Mechanism::Adaptive => self.summed(record, &releases),
        }
    }

    fn summed(&self, record: &Record, releases: &[&Release]) -> BTreeMap<usize, Exposure> {
        let mut exposures: BTreeMap<usize, Exposure> = BTreeMap::new();
        let Some(deviation) = self.deviation else { return exposures };
        // Whether a unit is short moves the count by one half.
        let of_count = self.script.count_deviation().map_or(0.0, |count| 0.5 / count);
        for release in releases {
            for (unit, length) in lengths(record, release) {
                let square = (length / deviation).powi(2) + of_count.powi(2);
                exposures.entry(unit).or_default().square += square;
            }
        }
        exposures
    }

    fn sampled(&self, record: &Record, releases: &[&Release]) -> BTreeMap<usize, Exposure> {
        let Some(deviation) = self.deviation else { return BTreeMap::new() };
        let draws = releases.iter().filter_map(|release| record.draws.get(&release.round));
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        draws.flat_map(|draw| &draw.waiting).for_each(|unit| *counts.entry(*unit).or_default() += 1);
        let exposure = |(unit, count): (usize, u64)| {
            // A draw skips a unit only if the unit has reached its maximum number of participations.
            let releases = count.min(self.script.participations_max);
            let shift = record.lengths.get(&unit).copied().unwrap_or_default() / deviation;
            let coins = vec![Sampled { rate: self.script.rate, shift, releases }];
            (unit, Exposure { square: 0.0, coins })
        };
        counts.into_iter().map(exposure).collect()
    }

    fn streamed(&self, record: &Record, releases: &[&Release]) -> BTreeMap<usize, Exposure> {
        if releases.is_empty() {
            return BTreeMap::new();
        }
        let mut scatter = Scatter::default();
        let noise: Vec<Vec<f64>> = releases.iter().map(|release| release.noise.clone()).collect();
        scatter.add(&noise, 1.0);
        let exposure = |(unit, moves): (usize, Vec<f64>)| {
            (unit, Exposure { square: scatter.square_min(&moves), coins: Vec::new() })
        };
        moves(record, releases).into_iter().map(exposure).collect()
    }

    fn sent(&self, record: &Record, releases: &[&Release], is_all: bool) -> BTreeMap<usize, Exposure> {
        let mut exposures: BTreeMap<usize, Exposure> = BTreeMap::new();
        let Some(deviation) = self.deviation else { return exposures };
        let rounds: BTreeSet<RoundId> = releases.iter().map(|release| release.round).collect();
        let norm = self.script.norm();
        for sent in record.sent.values() {
            if sent.task == self.id && (is_all || rounds.contains(&sent.round)) {
                exposures.entry(sent.unit).or_default().square += (sent.norm / norm / deviation).powi(2);
            }
        }
        exposures
    }
}

/// Returns the distances by which each unit shifted the releases, in clipping norms.
pub fn moves(record: &Record, releases: &[&Release]) -> BTreeMap<usize, Vec<f64>> {
    let mut moves: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (place, release) in releases.iter().enumerate() {
        for (unit, length) in lengths(record, release) {
            moves.entry(unit).or_insert_with(|| vec![0.0; releases.len()])[place] += length;
        }
    }
    moves
}

/// Returns the distance by which each unit shifted a release, in clipping norms. All updates of a unit have the same
/// direction, so their norms add up.
fn lengths(record: &Record, release: &Release) -> BTreeMap<usize, f64> {
    let mut lengths = BTreeMap::new();
    for sent in record.accepted(release.round) {
        *lengths.entry(sent.unit).or_default() += sent.norm / release.norm;
    }
    lengths
}

async fn release(
    world: &World,
    script: &TaskScript,
    (before, after): (&ModelVersionRecord, &ModelVersionRecord),
    round: RoundId,
) -> Result<Release, Broken> {
    let (old, new) = (weights(world, before).await?, weights(world, after).await?);
    let unit = f64::from(script.description.grid.fraction_bits).exp2();
    let norm = before.making.clipping_norm.unwrap_or_else(|| script.norm());
    let told = (norm * unit).floor() / unit;
    let goal = script.report_goal as f64;
    let mut noise: Vec<f64> = new.iter().zip(&old).map(|(new, old)| (new - old) * goal).collect();
    for sent in world.record.accepted(round) {
        noise.iter_mut().zip(&sent.values).for_each(|(sum, value)| *sum -= f64::from(*value));
    }
    noise.iter_mut().for_each(|value| *value /= told);
    let count_noise = script.count_deviation().map(|deviation| {
        let Some(Clipping::Adaptive { quantile, rate, .. }) = script.clipping() else { return 0.0 };
        // The adaptive norm becomes norm · e^(−rate · (share − quantile)) (Andrew et al. 2021).
        let next = after.making.clipping_norm.unwrap_or(norm);
        let share = quantile - (next / norm).ln() / rate;
        let halves: f64 = world
            .record
            .accepted(round)
            .map(|sent| if sent.norm <= told * SHORT_SHARE { 0.5 } else { -0.5 })
            .sum();
        ((share - 0.5) * goal - halves) / deviation
    });
    Ok(Release { number: after.number, round, norm: told, noise, count_noise })
}

async fn weights(world: &World, version: &ModelVersionRecord) -> Result<Vec<f64>, Broken> {
    let bytes = world.coordinator.blobs.get(version.weights).await;
    let bytes = bytes.map_err(|error| broken("released_weights_can_be_read", error.to_string()))?;
    let (values, _) = bytes.as_chunks::<4>();
    Ok(values.iter().map(|value| f64::from(f32::from_le_bytes(*value))).collect())
}

impl TaskScript {
    pub fn clipping(&self) -> Option<Clipping> {
        self.description.privacy.central().map(|central| central.clipping)
    }

    /// Returns the initial clipping norm.
    pub fn norm(&self) -> f64 {
        let local = self.description.privacy.local().map(|local| local.clipping_norm);
        let central = self.clipping().map(|clipping| clipping.first_norm());
        local.or(central).unwrap_or(1.0)
    }

    /// Returns the published standard deviation of the noise on the count of short updates: 1/20 of the report goal
    /// (Andrew et al. 2021).
    pub fn count_deviation(&self) -> Option<f64> {
        (self.mechanism == Mechanism::Adaptive).then_some(self.report_goal as f64 / 20.0)
    }

    /// Returns the noise multiplier of the updates, computed from the task's noise multiplier; `None` if the task sets
    /// none.
    fn asked(&self) -> Option<f64> {
        let asked = self.multiplier?;
        Some(self.of_updates(asked))
    }

    /// Returns the noise multiplier of the updates if `multiplier` covers both the updates and the count (Andrew et al.
    /// 2021, theorem 1).
    pub fn of_updates(&self, multiplier: f64) -> f64 {
        let count = self.count_deviation().map_or(0.0, |count| (2.0 * count).powi(-2));
        (multiplier.powi(-2) - count).powf(-0.5)
    }
}
