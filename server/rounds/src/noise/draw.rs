use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use folkmoot_coordinator::privacy::Terms;
use folkmoot_privacy::{
    RangeError,
    correlated::{CorrelatedError, StateError},
    noise::{Noise, NoiseError, NoiseScale, NoiseStock},
};
use folkmoot_protocol::{RoundId, TaskId};

use super::Sabotage;

/// Says whether this build may draw noise from a seed, which protects nothing.
pub const IS_SEEDED: bool = cfg!(feature = "dangerous-seeded-noise");

/// The noise of the rounds that are under way. It is drawn ahead, so that a commit need not wait for it, and lives in
/// memory only: after a restart it is drawn anew. A task has one round under way that needs some.
#[derive(Default)]
pub struct Noises {
    stocks: Mutex<HashMap<TaskId, (RoundId, NoiseStock)>>,
    sabotage: Option<Sabotage>,
}

/// Noise for a sum cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The scale is out of range.
    #[error(transparent)]
    Scale(#[from] RangeError),
    /// It could not be drawn or added.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// It could not be made of what was drawn.
    #[error(transparent)]
    Correlated(#[from] CorrelatedError),
    /// What was stored of the stream cannot be read.
    #[error("the state of the noise, stored with the last version: {0}")]
    State(#[from] StateError),
    /// A sum with its noise leaves 64 bits.
    #[error("a sum with its noise leaves 64 bits; take fewer grid.fraction_bits")]
    Overflow,
}

impl Noises {
    /// Noises of a coordinator that an audit is to find out.
    pub fn sabotaged(sabotage: Option<Sabotage>) -> Self {
        Self { sabotage, ..Self::default() }
    }

    /// Begins to draw the noise of a task's round on all cores, unless that was done. What was drawn for an earlier round,
    /// which another process has committed, is gone.
    pub fn begin(&self, task: TaskId, round: RoundId, count: usize, scale: NoiseScale) {
        let scale = self.drawn(scale);
        let mut stocks = self.stocks.lock().unwrap_or_else(PoisonError::into_inner);
        if stocks.get(&task).is_none_or(|(of, _)| *of != round) {
            stocks.insert(task, (round, NoiseStock::begin(count, scale, threads())));
        }
    }

    /// Takes a round's noise out: what was drawn ahead, or noise that is drawn now. This blocks until it is drawn.
    ///
    /// # Errors
    /// If there is no randomness to be had. Nothing may be released then.
    pub fn take(
        &self,
        task: TaskId,
        round: RoundId,
        count: usize,
        scale: NoiseScale,
    ) -> Result<Noise, NoiseError> {
        let scale = self.drawn(scale);
        let drawn = self.stocks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
        // What was drawn under other terms is of no use.
        let is_right = |stock: &NoiseStock| stock.scale() == scale && stock.count() == count;
        let drawn = drawn.filter(|(of, stock)| *of == round && is_right(stock)).map(|(_, stock)| stock);
        drawn.unwrap_or_else(|| NoiseStock::begin(count, scale, threads())).take()
    }

    /// Lets go of the noise of a task whose round was abandoned.
    pub fn forget(&self, task: TaskId) {
        self.stocks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }

    /// Returns the scale at which noise is drawn: the one that is asked for, unless that is sabotaged.
    fn drawn(&self, scale: NoiseScale) -> NoiseScale {
        match self.sabotage {
            Some(Sabotage::NoiseIsHalved) => NoiseScale::new(scale.get() / 2.0).unwrap_or(scale),
            _ => scale,
        }
    }
}

/// Returns the scale of the noise on a round's sum: the multiplier times the clipping norm, in steps of the grid.
///
/// # Errors
/// If it is out of the range that can be drawn.
pub fn scale(terms: &Terms, clipping_norm: u64) -> Result<NoiseScale, RangeError> {
    NoiseScale::new(terms.update_multiplier * clipping_norm as f64)
}

/// Adds the noise to the count of short updates: the sum over updates of 1 for a short one and −1 for another. What one
/// client can change of it is 1, the deviation that is asked for is of the halves.
///
/// # Errors
/// If it cannot be drawn.
pub fn noised_count(halves: i64, deviation: f64) -> Result<f64, DrawError> {
    let mut count = [halves];
    folkmoot_privacy::noise::add_noise(&mut count, NoiseScale::new(2.0 * deviation)?, 1)?;
    Ok(count[0] as f64 / 2.0)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
