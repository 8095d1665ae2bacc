//! Differential privacy for a version: adds noise to the sum, divides by a fixed number, and adapts the clipping norm.

use bytes::Bytes;
use folkmoot_aggregation::ExactMean;
use folkmoot_coordinator::privacy::{Clipping, Stream, Terms, next_clipping_norm};
use folkmoot_noise::{DrawError, Noises, StreamNoise, noise_scale, noised_count};
use folkmoot_protocol::{RoundId, TaskId, ValueGrid, update::HEADER_BYTES};
use folkmoot_storage::AcceptedUpdate;
use folkmoot_update::SquaredNorm;

use crate::{
    MakeError,
    ingest::{Ingest, RoundSum, read_tiles},
};

/// An update is short if its norm is less than this share of the clipping norm. A clipped update has the full norm,
/// except for rounding.
const SHORT_SHARE: f64 = 1.0 - 1.0 / 1024.0;
/// The number of parameters per tile.
const TILE_PARAMETERS: usize = 32 * 1024;

/// The privacy terms, the clipping and the noise state of one release.
#[derive(Clone, Debug)]
pub struct Private {
    /// The task.
    pub task: TaskId,
    /// The charge of a version and the noise that matches the charge.
    pub terms: Terms,
    /// The rule for the clipping norm: fixed or adaptive.
    pub clipping: Clipping,
    /// The norm to which the round's updates were clipped.
    pub norm: f64,
    /// The state of the correlated noise, as stored with the newest version. `None` before the first version, and for
    /// independent noise.
    pub stream_state: Option<Bytes>,
}

impl Private {
    /// Returns the clipping norm in steps of the grid, which is the sensitivity of the sum.
    pub fn norm_steps(&self, grid: &ValueGrid) -> u64 {
        grid.norm_steps(self.norm)
    }

    /// Passes the noised mean to `visit`, tile by tile, and returns the state of the correlated noise for the next
    /// version (empty for independent noise). The exact sum is neither changed nor exposed.
    ///
    /// # Errors
    /// Fails if no noise can be drawn, before `visit` is called.
    pub(super) fn means(
        &self,
        round: RoundId,
        grid: &ValueGrid,
        sum: &RoundSum,
        noises: &Noises,
        mut visit: impl FnMut(&[f64]),
    ) -> Result<Vec<u8>, MakeError> {
        let mut sums = sum.values();
        let state = match &self.terms.stream {
            Some(stream) => self.add_correlated(stream, round, grid, noises, &mut sums)?,
            None => {
                let scale = noise_scale(&self.terms, self.norm_steps(grid)).map_err(DrawError::from)?;
                let noise = noises.take(self.task, round, sums.len(), scale).map_err(DrawError::from)?;
                noise.add_to(&mut sums).map_err(DrawError::from)?;
                Vec::new()
            }
        };
        let mean = ExactMean::new(grid, self.terms.report_goal as f64).expect("a report goal is at least 1");
        for tile in sums.chunks(TILE_PARAMETERS) {
            let means: Vec<f64> = tile.iter().map(|sum| mean.of(*sum)).collect();
            visit(&means);
        }
        Ok(state)
    }

    /// Adds the next version's correlated noise to the sums, and returns the new state of the noise.
    fn add_correlated(
        &self,
        stream: &Stream,
        round: RoundId,
        grid: &ValueGrid,
        noises: &Noises,
        sums: &mut [i64],
    ) -> Result<Vec<u8>, DrawError> {
        let mut noise = match &self.stream_state {
            Some(state) => StreamNoise::from_bytes(state)?,
            None => StreamNoise::begin(stream, sums.len())?,
        };
        let scale = noise.scale(&self.terms, stream, self.norm_steps(grid))?;
        let drawn = noises.take(self.task, round, sums.len() * noise.draws(), scale)?;
        let noised = noise.next(drawn, sums.len())?;
        for (sum, noise) in sums.iter_mut().zip(noised.iter()) {
            *sum = sum.checked_add(*noise).ok_or(DrawError::Overflow)?;
        }
        Ok(noise.to_bytes())
    }

    /// Returns the clipping norm of the next round.
    ///
    /// # Errors
    /// Fails if the log cannot be read or no noise can be drawn.
    pub(super) fn next_norm(
        &self,
        ingest: &Ingest,
        accepted: &[AcceptedUpdate],
        grid: &ValueGrid,
        parameter_count: usize,
    ) -> Result<f64, MakeError> {
        let (Clipping::Adaptive { quantile, rate, .. }, Some(deviation)) =
            (self.clipping, self.terms.count_deviation)
        else {
            return Ok(self.norm);
        };
        let limit = self.norm_steps(grid) as f64 * SHORT_SHARE;
        let whole = HEADER_BYTES as u64..(HEADER_BYTES + parameter_count * size_of::<f32>()) as u64;
        let mut halves = 0;
        for update in accepted {
            let mut norm = SquaredNorm::default();
            let (round, id) = (update.round_id, update.assignment_id);
            read_tiles(ingest.log(), round, id, whole.clone(), &mut |tile| norm.add(tile, grid))?;
            halves += if norm.steps() <= limit { 1 } else { -1 };
        }
        let count = noised_count(halves, deviation)?;
        let norm_max = f64::from(grid.value_max);
        Ok(next_clipping_norm(self.norm, (quantile, rate), count, self.terms.report_goal, norm_max))
    }
}
