use std::collections::BTreeMap;

use super::coalition::Coalition;

/// A cooperative game: a utility for each set of the clients of a round. Each set is evaluated at most once.
pub(crate) struct Game<U> {
    pub(super) count: usize,
    utility: U,
    known: BTreeMap<Coalition, f64>,
}

impl<E, U: FnMut(&[Coalition]) -> Result<Vec<f64>, E>> Game<U> {
    /// Creates the game of `count` clients. `utility` returns a number for each set that it gets.
    pub(crate) fn new(count: usize, utility: U) -> Self {
        Self { count, utility, known: BTreeMap::new() }
    }

    /// Evaluates the sets that are not known yet, all together.
    ///
    /// # Errors
    /// Returns the error of the utility.
    pub(super) fn evaluate(&mut self, sets: impl IntoIterator<Item = Coalition>) -> Result<(), E> {
        let mut unknown: Vec<Coalition> =
            sets.into_iter().filter(|set| !self.known.contains_key(set)).collect();
        unknown.sort();
        unknown.dedup();
        if unknown.is_empty() {
            return Ok(());
        }
        let values = (self.utility)(&unknown)?;
        self.known.extend(unknown.into_iter().zip(values));
        Ok(())
    }

    /// Returns the utility of a set, or NaN if the set was not evaluated.
    pub(super) fn value(&self, set: &Coalition) -> f64 {
        self.known.get(set).copied().unwrap_or(f64::NAN)
    }

    /// Returns the number of sets that were evaluated.
    pub(super) fn evaluations(&self) -> usize {
        self.known.len()
    }

    /// Returns whether every utility so far is a finite number.
    pub(super) fn is_finite(&self) -> bool {
        self.known.values().all(|value| value.is_finite())
    }
}
