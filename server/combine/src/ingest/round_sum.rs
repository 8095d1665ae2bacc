use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use folkmoot_aggregation::{
    Extent, Measurement,
    exact_sum::{add_values, scale, take_values},
};
use folkmoot_protocol::{AssignmentId, RoundId, ValueGrid, saturating::to_length};
use folkmoot_round_log::{RoundLog, RoundLogError};
use folkmoot_storage::AcceptedUpdate;
use folkmoot_update::SquaredNorm;

use super::replay::read_tiles;

/// The number of parameters per lock. The sums of such a tile need 256 KiB, so they stay in a core's cache while values
/// are added.
pub const TILE_PARAMETERS: usize = 32 * 1024;

/// The running sum of a round: 8 bytes per parameter, regardless of the number of clients.
///
/// The sum also contains the values of unfinished uploads. This is safe for two reasons: a table records how many
/// values of each update were added, and integers can be subtracted again exactly. When the round closes,
/// [`RoundSum::reconcile`] turns the sum into the exact sum of the accepted updates.
pub struct RoundSum {
    round: RoundId,
    grid: ValueGrid,
    parameter_count: usize,
    /// True if the aggregator needs the norm and the largest value of each update.
    is_measured: bool,
    tiles: Vec<Mutex<Vec<i64>>>,
    /// True once the round closes. It is set before `reconcile` takes its lock, so that uploads end instead of waiting
    /// for the lock: reading a log can take seconds.
    is_closed: AtomicBool,
    /// The progress of each update. `reconcile` takes the write lock; `fold` takes the read lock.
    folded: RwLock<Mutex<BTreeMap<AssignmentId, FoldedUpdate>>>,
}

#[derive(Clone, Copy)]
struct FoldedUpdate {
    /// The factor of the update's values in the sum.
    weight: f64,
    elements: u64,
    /// The norm and the largest absolute value of the values added so far, if the update is measured.
    size: Size,
    is_measured: bool,
    /// True once `reconcile` has made the update part of the final sum. A request that still sends the same update, and
    /// is refused, must not subtract it.
    is_settled: bool,
}

/// The norm of an update and its largest absolute value. They do not depend on the pieces in which the bytes arrive.
#[derive(Clone, Copy, Default)]
struct Size {
    norm: SquaredNorm,
    peak: f32,
}

impl Size {
    fn add(&mut self, bytes: &[u8], grid: &ValueGrid) {
        self.norm.add(bytes, grid);
        let (values, _) = bytes.as_chunks::<4>();
        self.peak = values.iter().fold(self.peak, |peak, value| peak.max(f32::from_le_bytes(*value).abs()));
    }

    fn join(&mut self, more: Self) {
        self.norm = self.norm.plus(more.norm);
        self.peak = self.peak.max(more.peak);
    }

    fn extent(&self, grid: &ValueGrid) -> Extent {
        let step = (-f64::from(grid.fraction_bits)).exp2();
        Extent { square: (self.norm.steps() * step).powi(2), peak: f64::from(self.peak) }
    }
}

impl RoundSum {
    /// Creates an empty sum. `measurement` determines whether the sum measures the norm and peak of each update.
    pub fn new(round: RoundId, grid: ValueGrid, parameter_count: usize, measurement: Measurement) -> Self {
        let tile = |start: usize| Mutex::new(vec![0; TILE_PARAMETERS.min(parameter_count - start)]);
        let tiles = (0..parameter_count).step_by(TILE_PARAMETERS).map(tile).collect();
        Self {
            round,
            grid,
            parameter_count,
            is_measured: measurement == Measurement::Extents,
            tiles,
            is_closed: AtomicBool::new(false),
            folded: RwLock::default(),
        }
    }

    /// Returns a closed sum with these values.
    pub fn of_values(round: RoundId, grid: ValueGrid, values: &[i64]) -> Self {
        let tiles = values.chunks(TILE_PARAMETERS).map(|tile| Mutex::new(tile.to_vec())).collect();
        Self {
            round,
            grid,
            parameter_count: values.len(),
            is_measured: false,
            tiles,
            is_closed: AtomicBool::new(true),
            folded: RwLock::default(),
        }
    }

    /// Adds an update's values to the sum, beginning at element `first`. Skips values that were added before. Returns
    /// `false` if the round is closed.
    ///
    /// The caller must have checked that the values are on the grid and inside the model.
    pub fn fold(&self, assignment: AssignmentId, weight: f64, first: u64, bytes: &[u8]) -> bool {
        if self.is_closed.load(Ordering::Acquire) {
            return false;
        }
        let folded = self.folded.read().unwrap_or_else(PoisonError::into_inner);
        // Check again under the lock: values added after `reconcile` would stay in the sum.
        if self.is_closed.load(Ordering::Acquire) {
            return false;
        }
        let elements = {
            let mut updates = folded.lock().unwrap_or_else(PoisonError::into_inner);
            let nothing = FoldedUpdate {
                weight,
                elements: 0,
                size: Size::default(),
                is_measured: self.is_measured,
                is_settled: false,
            };
            updates.entry(assignment).or_insert(nothing).elements
        };
        let end = first + bytes.len() as u64 / 4;
        debug_assert!(first <= elements, "values are folded in order");
        if end > elements {
            let new = &bytes[to_length(elements - first) * 4..];
            self.apply(to_length(elements), new, weight, add_values);
            let mut more = Size::default();
            if self.is_measured {
                more.add(new, &self.grid);
            }
            let mut updates = folded.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(update) = updates.get_mut(&assignment) {
                update.elements = end;
                update.size.join(more);
            }
        }
        true
    }

    /// Subtracts an update from the sum. Reads from the log the values that were added.
    ///
    /// # Errors
    /// Fails if the log cannot be read; the sum must not be used afterwards.
    pub fn take_out(&self, log: &RoundLog, assignment: AssignmentId) -> Result<(), RoundLogError> {
        let folded = self.folded.write().unwrap_or_else(PoisonError::into_inner);
        let mut updates = folded.lock().unwrap_or_else(PoisonError::into_inner);
        if updates.get(&assignment).is_none_or(|update| update.is_settled) {
            return Ok(());
        }
        let update = updates.remove(&assignment);
        update.map_or(Ok(()), |update| {
            self.replay(log, assignment, 0..update.elements, update.weight, take_values)
        })
    }

    /// Closes the sum: no more values are added as they arrive.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        // Wait for the values that are being added.
        drop(self.folded.write());
    }

    /// Closes the sum and returns the norms and largest absolute values of the accepted updates. Values that this
    /// process did not add are read from the log. Updates that an edge aggregator holds were measured there.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn measure(&self, log: &RoundLog, accepted: &[AcceptedUpdate]) -> Result<Vec<Extent>, RoundLogError> {
        self.is_closed.store(true, Ordering::Release);
        let folded = self.folded.write().unwrap_or_else(PoisonError::into_inner);
        let updates = folded.lock().unwrap_or_else(PoisonError::into_inner);
        let extents = accepted.iter().map(|update| {
            if let Some(held) = &update.held {
                return Ok(held.extent);
            }
            let known = updates.get(&update.assignment_id);
            let known = known.filter(|one| one.is_measured);
            let (elements, mut size) = known.map_or_else(Default::default, |one| (one.elements, one.size));
            self.read(log, update.assignment_id, elements..self.parameter_count as u64, &mut |_, values| {
                size.add(values, &self.grid);
            })?;
            Ok(size.extent(&self.grid))
        });
        extents.collect()
    }

    /// Closes the sum and makes it the exact sum of `accepted`, each with its factor. Missing values are added from
    /// the log; other updates are subtracted. Updates that an edge aggregator holds are left out.
    ///
    /// # Errors
    /// Fails if the log cannot be read; the sum must not be used afterwards.
    pub fn reconcile(
        &self,
        log: &RoundLog,
        accepted: &[AcceptedUpdate],
        factors: &[f64],
    ) -> Result<(), RoundLogError> {
        let here = accepted.iter().zip(factors).filter(|(update, _)| update.held.is_none());
        let here: Vec<_> = here.map(|(update, factor)| (update.assignment_id, *factor)).collect();
        self.settle(log, &here)
    }

    /// Closes the sum and makes it the exact sum of these updates, each with its factor.
    ///
    /// # Errors
    /// Fails if the log cannot be read; the sum must not be used afterwards.
    pub fn settle(&self, log: &RoundLog, wanted: &[(AssignmentId, f64)]) -> Result<(), RoundLogError> {
        self.is_closed.store(true, Ordering::Release);
        let folded = self.folded.write().unwrap_or_else(PoisonError::into_inner);
        let mut updates = folded.lock().unwrap_or_else(PoisonError::into_inner);
        let parameters = self.parameter_count as u64;
        for (id, factor) in wanted {
            let mut elements = 0;
            match updates.remove(id) {
                Some(folded) if folded.weight == *factor => elements = folded.elements,
                // The final factor differs from the factor on arrival, so subtract the update first.
                Some(folded) => self.replay(log, *id, 0..folded.elements, folded.weight, take_values)?,
                None => {}
            }
            self.replay(log, *id, elements..parameters, *factor, add_values)?;
        }
        for (assignment, update) in std::mem::take(&mut *updates) {
            self.replay(log, assignment, 0..update.elements, update.weight, take_values)?;
        }
        // Record the result, so that a retry after a failed commit finds the updates in the sum.
        for (id, factor) in wanted {
            let whole = FoldedUpdate {
                weight: *factor,
                elements: parameters,
                size: Size::default(),
                is_measured: false,
                is_settled: true,
            };
            updates.insert(*id, whole);
        }
        Ok(())
    }

    /// Returns the size of an update that has been added whole; `None` if it was not, or updates are not measured.
    pub fn extent_of(&self, assignment: AssignmentId) -> Option<Extent> {
        let folded = self.folded.read().unwrap_or_else(PoisonError::into_inner);
        let updates = folded.lock().unwrap_or_else(PoisonError::into_inner);
        let update = updates.get(&assignment).filter(|update| update.is_measured)?;
        (update.elements == self.parameter_count as u64).then(|| update.size.extent(&self.grid))
    }

    /// Returns the sums of all values.
    pub fn values(&self) -> Vec<i64> {
        let mut values = Vec::with_capacity(self.parameter_count);
        self.for_each_tile(|tile| values.extend_from_slice(tile));
        values
    }

    /// Passes the sums to `visit`, tile by tile in order.
    pub fn for_each_tile(&self, mut visit: impl FnMut(&[i64])) {
        self.tiles.iter().for_each(|tile| visit(&tile.lock().unwrap_or_else(PoisonError::into_inner)));
    }

    fn replay(
        &self,
        log: &RoundLog,
        assignment: AssignmentId,
        elements: std::ops::Range<u64>,
        weight: f64,
        operation: fn(&mut [i64], &[u8], f64),
    ) -> Result<(), RoundLogError> {
        self.read(log, assignment, elements, &mut |first, tile| self.apply(first, tile, weight, operation))
    }

    /// Reads an update's values from the log and passes each piece to `visit`, with the index of its first value.
    fn read(
        &self,
        log: &RoundLog,
        assignment: AssignmentId,
        elements: std::ops::Range<u64>,
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), RoundLogError> {
        if elements.is_empty() {
            return Ok(());
        }
        let header = folkmoot_protocol::update::HEADER_BYTES as u64;
        let bytes = header + elements.start * 4..header + elements.end * 4;
        let mut first = to_length(elements.start);
        read_tiles(log, self.round, assignment, bytes, &mut |tile| {
            visit(first, tile);
            first += tile.len() / 4;
        })
    }

    fn apply(&self, first: usize, mut bytes: &[u8], weight: f64, operation: fn(&mut [i64], &[u8], f64)) {
        let scale = scale(&self.grid, weight);
        let mut element = first;
        while !bytes.is_empty() {
            let (tile, offset) = (element / TILE_PARAMETERS, element % TILE_PARAMETERS);
            let count = (TILE_PARAMETERS - offset).min(bytes.len() / 4);
            let (head, rest) = bytes.split_at(count * 4);
            let mut sums = self.tiles[tile].lock().unwrap_or_else(PoisonError::into_inner);
            operation(&mut sums[offset..offset + count], head, scale);
            drop(sums);
            bytes = rest;
            element += count;
        }
    }
}
