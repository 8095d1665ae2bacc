use bytes::Bytes;
use folkmoot_coordinator::{
    aggregation::{Combination, ExactMean, Measured, Measurement},
    finalizer::{Commit, Finalizer},
    task::TaskDescription,
};
use folkmoot_protocol::RoundId;
use folkmoot_storage::AcceptedUpdate;

use super::{Bases, MakeError, Private, Rows, replayed, rows::floats, summed};
use crate::{ingest::Ingest, noise::Noises};

/// All that the next version is made of.
pub struct Making {
    /// The task's choices.
    pub description: TaskDescription,
    /// The round that commits.
    pub round_id: RoundId,
    /// The updates that it combines, by assignment id.
    pub accepted: Vec<AcceptedUpdate>,
    /// What staleness leaves of each, in (0, 1].
    pub attenuations: Vec<f64>,
    /// The newest weights: float32, little-endian.
    pub newest: Bytes,
    /// The versions from which the updates started.
    pub bases: Bases,
    /// What the finalizer keeps, as it was stored with the newest version.
    pub finalizer_state: Option<Bytes>,
    /// The commit.
    pub commit: Commit,
    /// The noise, where a version is to be private.
    pub private: Option<Private>,
}

/// The next version.
pub struct Made {
    /// The weights: float32, little-endian.
    pub weights: Vec<u8>,
    /// What the finalizer keeps for the next one; empty if it keeps nothing.
    pub finalizer_state: Vec<u8>,
    /// How far the model moved, in L2.
    pub change_norm: f64,
    /// The norm to which the next round clips, where the coordinator makes versions private.
    pub clipping_norm: Option<f64>,
    /// Where the stream of noise stands; empty where there is none.
    pub noise_state: Vec<u8>,
}

impl Making {
    /// Makes the next version. The same input makes the same bytes, but for noise.
    ///
    /// # Errors
    /// If the round log cannot be read, or there is no noise.
    pub fn make(&self, ingest: &Ingest, noises: &Noises) -> Result<Made, MakeError> {
        let parameter_count = self.newest.len() / size_of::<f32>();
        let finalizer = self.description.finalizer.finalizer();
        let mut next = Next::new(finalizer, &self.commit, &self.newest, self.finalizer_state.as_deref());
        let mut noise_state = Vec::new();
        let weights: Vec<u64> = self.accepted.iter().map(|update| update.weight).collect();
        let aggregator = &self.description.aggregator;
        if self.description.sums_on_arrival() {
            let measurement = aggregator.measurement();
            let sum = ingest.sum_of(self.round_id, self.description.grid, parameter_count, measurement);
            let measured = match measurement {
                Measurement::Extents => Measured::Extents(sum.measure(ingest.log(), &self.accepted)?),
                _ => Measured::None,
            };
            let combination = aggregator.combination(&weights, &self.attenuations, &measured);
            let Combination::Mean { factors, divisor } = combination else {
                unreachable!("only means are summed while updates arrive")
            };
            if let Err(error) = sum.reconcile(ingest.log(), &self.accepted, &factors) {
                // A sum that could be half reconciled is made again from the log.
                ingest.forget_sum(self.round_id);
                return Err(error.into());
            }
            match &self.private {
                Some(private) => {
                    let grid = &self.description.grid;
                    noise_state = private.means(self.round_id, grid, &sum, noises, |tile| next.take(tile))?;
                }
                None => {
                    let mean = ExactMean::new(&self.description.grid, divisor)
                        .expect("only a private round aggregates without an update");
                    summed::means(&sum, &mean, |tile| next.take(tile));
                }
            }
        } else {
            let rows = Rows::new(ingest.log(), &self.accepted, &self.bases, parameter_count);
            replayed::means(rows, aggregator, &weights, &self.attenuations, |tile| next.take(tile))?;
        }
        let mut made = Made { noise_state, ..next.made() };
        if let Some(private) = &self.private {
            let grid = &self.description.grid;
            made.clipping_norm = Some(private.next_norm(ingest, &self.accepted, grid, parameter_count)?);
        }
        Ok(made)
    }
}

/// The next version on its way: the newest weights, what the finalizer keeps, and one new copy of each are all the
/// memory.
struct Next<'a> {
    finalizer: &'a dyn Finalizer,
    commit: &'a Commit,
    newest: &'a [u8],
    parameter_count: usize,
    done: usize,
    weights: Vec<u8>,
    state: Vec<Vec<f32>>,
    change_squares: f64,
}

impl<'a> Next<'a> {
    fn new(
        finalizer: &'a dyn Finalizer,
        commit: &'a Commit,
        newest: &'a [u8],
        stored: Option<&[u8]>,
    ) -> Self {
        let parameter_count = newest.len() / size_of::<f32>();
        let slots = finalizer.state_count();
        let whole = slots * parameter_count * size_of::<f32>();
        let state = match stored.filter(|bytes| bytes.len() == whole && parameter_count > 0) {
            Some(bytes) => {
                bytes.chunks(parameter_count * size_of::<f32>()).map(|slot| floats(slot).collect()).collect()
            }
            None => (0..slots).map(|slot| vec![finalizer.initial_state(slot); parameter_count]).collect(),
        };
        let weights = Vec::with_capacity(newest.len());
        Self { finalizer, commit, newest, parameter_count, done: 0, weights, state, change_squares: 0.0 }
    }

    fn take(&mut self, mean_delta: &[f64]) {
        let (begin, end) = (self.done, (self.done + mean_delta.len()).min(self.parameter_count));
        let before: Vec<f32> =
            floats(&self.newest[begin * size_of::<f32>()..end * size_of::<f32>()]).collect();
        let mut weights = before.clone();
        let mut state: Vec<&mut [f32]> = self.state.iter_mut().map(|slot| &mut slot[begin..end]).collect();
        self.finalizer.advance(self.commit, &mut weights, mean_delta, &mut state);
        for (weight, before) in weights.iter().zip(&before) {
            self.weights.extend_from_slice(&weight.to_le_bytes());
            self.change_squares += (f64::from(*weight) - f64::from(*before)).powi(2);
        }
        self.done = end;
    }

    fn made(self) -> Made {
        let finalizer_state = self.state.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
        Made {
            weights: self.weights,
            finalizer_state,
            change_norm: self.change_squares.sqrt(),
            clipping_norm: None,
            noise_state: Vec::new(),
        }
    }
}
