//! Collects statistics over all worlds, for facts that no single world shows with certainty: the amount of noise
//! relative to the charge, and the results of coins.

use std::{collections::BTreeMap, fmt};

use folkmoot_privacy::ledger::{Charge, Participation};

use super::{
    measure::{Energy, Scatter, low_share, too_many},
    record::Record,
    script::Mechanism,
    truth::{Release, Truth, moves},
};
use crate::invariants::{Holds, broken};

/// The properties of a stream: its mechanism, its number of versions, its maximum number of participations, and its
/// separation.
type Stream = (Mechanism, u64, u64, u64);

/// Sums over all worlds.
#[derive(Clone, Debug, Default)]
pub struct Pooled {
    /// The noise of each mechanism, relative to the charged noise.
    noise: BTreeMap<Mechanism, Energy>,
    /// The noise on the counts of short updates, relative to its published standard deviation.
    counts: Energy,
    /// For each kind of stream, the noise relative to the charged noise, and the shifts that units cause in the
    /// versions.
    streams: BTreeMap<Stream, (Scatter, Vec<Vec<f64>>)>,
    /// The coins of sampled rounds. The key is the charged rate in millionths.
    coins: BTreeMap<u64, Coins>,
    /// For each mechanism, the smallest difference between the charged and the actual epsilon of any task.
    margins: BTreeMap<Mechanism, f64>,
}

/// Coins with the same charged rate.
#[derive(Clone, Copy, Debug, Default)]
struct Coins {
    tossed: u64,
    heads: u64,
}

impl Pooled {
    pub fn margin(&mut self, mechanism: Mechanism, margin: Option<f64>) {
        if let Some(margin) = margin {
            let smallest = self.margins.entry(mechanism).or_insert(f64::INFINITY);
            *smallest = smallest.min(margin);
        }
    }

    /// Adds the noise and coins of a task, relative to its charge.
    pub fn add_task(&mut self, record: &Record, truth: &Truth, charge: Charge) {
        let mechanism = truth.script.mechanism;
        let multiplier = charge.noise_multiplier.standard_deviation_per_clipping_norm();
        self.counts.add(truth.releases.iter().filter_map(|release| release.count_noise));
        if matches!(mechanism, Mechanism::Tree | Mechanism::Blt) {
            return self.add_stream(record, truth, multiplier);
        }
        let expected = truth.script.of_updates(multiplier);
        let noise = self.noise.entry(mechanism).or_default();
        noise.squares += truth.energy.squares / (expected * expected);
        noise.count += truth.energy.count;
        let Participation::Poisson { rate } = charge.participation else { return };
        if truth.script.description.privacy.limits().is_some_and(|limits| limits.participations_max.is_some())
        {
            // A unit that has reached its maximum number of participations waits, but has no coin.
            return;
        }
        let coins = self.coins.entry((rate.get() * 1e6).round() as u64).or_default();
        for draw in truth.releases.iter().filter_map(|release| record.draws.get(&release.round)) {
            coins.tossed += draw.waiting.len() as u64;
            coins.heads += draw.drawn.len() as u64;
        }
    }

    fn add_stream(&mut self, record: &Record, truth: &Truth, multiplier: f64) {
        let script = &truth.script;
        let planned = script.description.stop.rounds.unwrap_or_default();
        if truth.releases.len() as u64 != planned {
            return;
        }
        let separation = script.description.privacy.central().and_then(|central| central.noise.separation());
        let key = (script.mechanism, planned, script.participations_max, separation.unwrap_or(1));
        let (scatter, patterns) = self.streams.entry(key).or_default();
        let noise: Vec<Vec<f64>> = truth.releases.iter().map(|release| release.noise.clone()).collect();
        scatter.add(&noise, multiplier);
        let releases: Vec<&Release> = truth.releases.iter().collect();
        for moves in moves(record, &releases).into_values() {
            // Clipping changes the norm by up to a billionth. Round down, so that equal patterns become equal and each
            // is stored only once.
            let rounded: Vec<f64> = moves.iter().map(|one| (one * 1e6).floor() / 1e6).collect();
            if !patterns.contains(&rounded) {
                patterns.push(rounded);
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (mechanism, energy) in &other.noise {
            let sum = self.noise.entry(*mechanism).or_default();
            sum.squares += energy.squares;
            sum.count += energy.count;
        }
        self.counts.squares += other.counts.squares;
        self.counts.count += other.counts.count;
        for (key, (scatter, patterns)) in &other.streams {
            let (sum, known) = self.streams.entry(*key).or_default();
            sum.merge(scatter);
            let new: Vec<_> = patterns.iter().filter(|one| !known.contains(*one)).cloned().collect();
            known.extend(new);
        }
        for (rate, coins) in &other.coins {
            let sum = self.coins.entry(*rate).or_default();
            sum.tossed += coins.tossed;
            sum.heads += coins.heads;
        }
        other.margins.iter().for_each(|(mechanism, margin)| self.margin(*mechanism, Some(*margin)));
    }

    /// Checks the statistics of all worlds.
    ///
    /// # Errors
    /// The first invariant that the statistics show to be violated.
    pub fn judge(&self) -> Holds {
        for (mechanism, energy) in
            self.noise.iter().map(|(one, energy)| (one.name(), energy)).chain([("count", &self.counts)])
        {
            if energy.count > 0 && energy.squares < energy.count as f64 * low_share(energy.count) {
                return Err(broken("there_is_the_noise_that_is_charged", format!("{mechanism}: {energy:?}")));
            }
        }
        for (rate, Coins { tossed, heads }) in &self.coins {
            let rate = *rate as f64 / 1e6;
            if too_many(*tossed, *heads, rate) {
                let detail = format!("{heads} of {tossed} coins at a rate of {rate}");
                return Err(broken("coins_fall_as_is_charged", detail));
            }
        }
        for (stream, (scatter, patterns)) in &self.streams {
            for moves in patterns {
                // The charge covers a shift by one standard deviation.
                let square = scatter.square_min(moves);
                if square > 1.0 {
                    let detail = format!("{stream:?}: {moves:?} is a move by {}", square.sqrt());
                    return Err(broken("there_is_the_noise_that_is_charged", detail));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Pooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (mechanism, margin) in &self.margins {
            writeln!(
                f,
                "  {margin:>10.6}  smallest epsilon charged above what happened: {}",
                mechanism.name()
            )?;
        }
        for (mechanism, energy) in &self.noise {
            let ratio = (energy.squares / energy.count as f64).sqrt();
            writeln!(
                f,
                "  {ratio:>10.6}  noise over what is charged, of {} values: {}",
                energy.count,
                mechanism.name()
            )?;
        }
        let ratio = (self.counts.squares / self.counts.count.max(1) as f64).sqrt();
        writeln!(f, "  {ratio:>10.6}  noise over what is published, of {} counts", self.counts.count)?;
        for mechanism in [Mechanism::Tree, Mechanism::Blt] {
            let streams = self.streams.iter().filter(|((one, ..), _)| *one == mechanism);
            let squares = streams
                .flat_map(|(_, (scatter, patterns))| patterns.iter().map(|one| scatter.square_min(one)));
            let largest = squares.fold(0.0, f64::max).sqrt();
            writeln!(
                f,
                "  {largest:>10.6}  largest move over what is charged, at least: {}",
                mechanism.name()
            )?;
        }
        for (rate, Coins { tossed, heads }) in &self.coins {
            let charged = *rate as f64 / 1e6;
            let share = *heads as f64 / (*tossed).max(1) as f64;
            writeln!(f, "  {share:>10.6}  share of {tossed} coins, {charged} charged")?;
        }
        Ok(())
    }
}
