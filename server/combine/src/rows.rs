use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use folkmoot_aggregation::{BLOCK, Combination};
use folkmoot_coordinator::scheduling::Correction;
use folkmoot_protocol::{saturating::to_float32, update::HEADER_BYTES};
use folkmoot_round_log::{RoundLog, RoundLogError};
use folkmoot_storage::AcceptedUpdate;

/// The maximum total size of the rows of a tile, in bytes.
const TILE_BYTES_MAX: usize = 16 << 20;
/// The maximum number of parameters in a tile.
pub(super) const TILE_PARAMETERS_MAX: usize = 128 * BLOCK;

/// The weights of the versions from which updates started. Some staleness corrections compare these weights.
#[derive(Clone, Debug, Default)]
pub struct Bases {
    /// The correction for stale updates.
    pub correction: Correction,
    /// Weights by version number: float32, little-endian.
    pub weights: BTreeMap<u64, Bytes>,
    /// The number of the newest version.
    pub newest: u64,
}

/// The values of several updates. They are read range by range and corrected for staleness.
pub struct Rows<'a> {
    log: &'a RoundLog,
    pub(super) updates: &'a [AcceptedUpdate],
    bases: &'a Bases,
    parameter_count: usize,
    values: Vec<f32>,
}

impl<'a> Rows<'a> {
    /// Creates the rows of `updates`, in their order.
    pub fn new(
        log: &'a RoundLog,
        updates: &'a [AcceptedUpdate],
        bases: &'a Bases,
        parameter_count: usize,
    ) -> Self {
        Self { log, updates, bases, parameter_count, values: Vec::new() }
    }

    /// Returns the number of parameters of an update.
    pub(super) fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// Passes every tile to `visit`, in order. The arguments of `visit` are the index of the tile's first parameter,
    /// and one row of values for each update.
    ///
    /// The tile size depends only on the number of updates, so sums over tiles are the same on every machine.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or is shorter than the model.
    pub fn for_each_tile(&mut self, mut visit: impl FnMut(usize, &[&[f32]])) -> Result<(), RoundLogError> {
        let most = TILE_BYTES_MAX / size_of::<f32>() / self.updates.len().max(1);
        let size = (most / BLOCK * BLOCK).clamp(BLOCK, TILE_PARAMETERS_MAX);
        for start in (0..self.parameter_count).step_by(size) {
            let tile = start..(start + size).min(self.parameter_count);
            self.read(tile.clone())?;
            let rows: Vec<&[f32]> = self.values.chunks(tile.len()).collect();
            visit(start, &rows);
        }
        Ok(())
    }

    /// Calls `visit` for each tile in order, as [`Rows::for_each_tile`] does, with the combined rows.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or is shorter than the model.
    pub fn for_each_mean(
        &mut self,
        combination: &Combination,
        mut visit: impl FnMut(usize, &[&[f32]], &mut [f64]),
    ) -> Result<(), RoundLogError> {
        let mut means = Vec::new();
        self.for_each_tile(|first, tile| {
            means.clear();
            means.resize(tile.first().map_or(0, |row| row.len()), 0.0);
            combination.combine(first, tile, &mut means);
            visit(first, tile, &mut means);
        })
    }

    fn read(&mut self, tile: Range<usize>) -> Result<(), RoundLogError> {
        self.values.clear();
        let mut bytes = vec![0; tile.len() * size_of::<f32>()];
        self.updates.iter().try_for_each(|update| self.append(update, tile.clone(), &mut bytes))
    }

    /// Reads a range of parameters of the update with this index.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or is shorter than the model.
    pub fn of_one(&mut self, update: usize, parameters: Range<usize>) -> Result<&[f32], RoundLogError> {
        self.values.clear();
        let mut bytes = vec![0; parameters.len() * size_of::<f32>()];
        self.append(&self.updates[update], parameters, &mut bytes)?;
        Ok(&self.values)
    }

    /// Appends the values of an update. `bytes` has their length.
    fn append(
        &mut self,
        update: &AcceptedUpdate,
        tile: Range<usize>,
        bytes: &mut [u8],
    ) -> Result<(), RoundLogError> {
        let mut reader = self.log.read(update.round_id, update.assignment_id)?;
        let wanted = (HEADER_BYTES + tile.end * size_of::<f32>()) as u64;
        if reader.len() < wanted {
            return Err(RoundLogError::TooShort { len: reader.len(), wanted });
        }
        reader.seek((HEADER_BYTES + tile.start * size_of::<f32>()) as u64)?;
        let count = reader.read_tile(bytes)?;
        if count < bytes.len() {
            return Err(RoundLogError::TooShort { len: count as u64, wanted });
        }
        let begin = self.values.len();
        self.values.extend(floats(bytes));
        self.correct(update.base_version, tile, begin);
        Ok(())
    }

    fn correct(&mut self, base_version: u64, tile: Range<usize>, begin: usize) {
        let Bases { correction, weights, newest } = self.bases;
        if *correction == Correction::None || base_version == *newest {
            return;
        }
        let of =
            |version: u64| &weights[&version][tile.start * size_of::<f32>()..tile.end * size_of::<f32>()];
        let versions = floats(of(base_version)).zip(floats(of(*newest)));
        for (value, (start, newest)) in self.values[begin..].iter_mut().zip(versions) {
            *value = to_float32(correction.of(f64::from(*value), f64::from(start), f64::from(newest)));
        }
    }
}

/// Reads float32 values, little-endian.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}
