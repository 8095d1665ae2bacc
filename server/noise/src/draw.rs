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

/// True if this build can draw noise from a seed. Such noise protects nobody.
pub const IS_SEEDED: bool = cfg!(feature = "dangerous-seeded-noise");

/// The noise of open rounds. It is drawn ahead, so that a commit need not wait. It is kept in memory only, so after a
/// restart new noise is drawn. A task has at most one open round that needs noise.
#[derive(Default)]
pub struct Noises {
    stocks: Mutex<HashMap<TaskId, (RoundId, NoiseStock)>>,
    sabotage: Option<Sabotage>,
}

/// The reason why noise could not be drawn or added to a sum.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The scale is out of range.
    #[error(transparent)]
    Scale(#[from] RangeError),
    /// The noise cannot be drawn or added.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The correlated noise cannot be computed from the draws.
    #[error(transparent)]
    Correlated(#[from] CorrelatedError),
    /// The stored state of the correlated noise cannot be read.
    #[error("the noise state stored with the last version cannot be read: {0}")]
    State(#[from] StateError),
    /// A sum with its noise exceeds 64 bits.
    #[error("a sum with its noise exceeds 64 bits; lower `grid.fraction_bits`")]
    Overflow,
}

impl Noises {
    /// Creates an empty store. If `sabotage` is set, its noise has a deliberate fault that an audit must detect.
    pub fn sabotaged(sabotage: Option<Sabotage>) -> Self {
        Self { sabotage, ..Self::default() }
    }

    /// Starts to draw the noise of a task's round on all cores, unless it was already started. Discards the task's
    /// noise for an earlier round, which another process must have committed.
    pub fn begin(&self, task: TaskId, round: RoundId, count: usize, scale: NoiseScale) {
        let scale = self.drawn(scale);
        let mut stocks = self.stocks.lock().unwrap_or_else(PoisonError::into_inner);
        if stocks.get(&task).is_none_or(|(of, _)| *of != round) {
            stocks.insert(task, (round, NoiseStock::begin(count, scale, threads())));
        }
    }

    /// Removes and returns a round's noise: noise that was drawn ahead, or else new noise. Blocks until the draw is
    /// complete.
    ///
    /// # Errors
    /// Fails if the random number generator fails. Nothing may be released then.
    pub fn take(
        &self,
        task: TaskId,
        round: RoundId,
        count: usize,
        scale: NoiseScale,
    ) -> Result<Noise, NoiseError> {
        let scale = self.drawn(scale);
        let drawn = self.stocks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
        // Noise for another scale or number of values cannot be used.
        let is_right = |stock: &NoiseStock| stock.scale() == scale && stock.count() == count;
        let drawn = drawn.filter(|(of, stock)| *of == round && is_right(stock)).map(|(_, stock)| stock);
        drawn.unwrap_or_else(|| NoiseStock::begin(count, scale, threads())).take()
    }

    /// Discards the noise of a task whose round was abandoned.
    pub fn forget(&self, task: TaskId) {
        self.stocks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }

    /// Returns the scale at which noise is drawn: `scale`, unless the sabotage halves it.
    fn drawn(&self, scale: NoiseScale) -> NoiseScale {
        match self.sabotage {
            Some(Sabotage::NoiseIsHalved) => NoiseScale::new(scale.get() / 2.0).unwrap_or(scale),
            _ => scale,
        }
    }
}

/// Returns the scale of the noise on a round's sum, in steps of the grid: the noise multiplier times the clipping
/// norm.
///
/// # Errors
/// Fails if the scale is out of the supported range.
pub fn scale(terms: &Terms, clipping_norm: u64) -> Result<NoiseScale, RangeError> {
    NoiseScale::new(terms.update_multiplier * clipping_norm as f64)
}

/// Returns half of `halves` plus noise. `halves` contains 1 for each short update and −1 for each other update, so one
/// client changes it by at most 1. `deviation` is the standard deviation of the noise after halving.
///
/// # Errors
/// Fails if the noise cannot be drawn.
pub fn noised_count(halves: i64, deviation: f64) -> Result<f64, DrawError> {
    let mut count = [halves];
    folkmoot_privacy::noise::add_noise(&mut count, NoiseScale::new(2.0 * deviation)?, 1)?;
    Ok(count[0] as f64 / 2.0)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
