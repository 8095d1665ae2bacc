//! Computes the next weights from a closed round's updates, tile by tile: combine, then finalize.
//!
//! There are two ways to compute the mean delta. If an update's factor depends on that update alone, the update was
//! added to an exact sum while it arrived ([`crate::ingest::RoundSum`]). Otherwise the updates are read back from the
//! round log, one range of parameters at a time for all updates. Memory then depends on the size of a tile, not on the
//! size of the model.

use std::sync::Arc;

use bytes::Bytes;
use folkmoot_aggregation::{AggregatorChoice, ExactMean, anomaly::Alignments, finalizer::Commit};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_noise::Noises;
use folkmoot_protocol::{ClientId, RoundId};
use folkmoot_storage::AcceptedUpdate;
use folkmoot_strategy::{AggregationCommit, FinalizationCommit, Part};

use crate::{
    Bases, Made, MakeError, Masked, Own, OwnExamples, PartPlaces, PartialSum, Private, Rows, Weighed,
    agnostic,
    guided::{self, Guide},
    ingest::{Ingest, RoundSum},
    next::{Next, Step},
    own,
    parts::PartMeans,
    replayed, summed,
};

/// All inputs of the computation of the next version.
pub struct Making {
    /// The task's description.
    pub description: TaskDescription,
    /// The round that is being committed.
    pub round_id: RoundId,
    /// The updates to combine, ordered by assignment id.
    pub accepted: Vec<AcceptedUpdate>,
    /// The sum of the updates that edge aggregators hold; `None` if they hold none.
    pub partial: Option<PartialSum>,
    /// For each update in `accepted`, the factor that discounts its weight for staleness; 1 for a fresh update.
    pub attenuations: Vec<f64>,
    /// The newest weights: float32, little-endian.
    pub newest: Bytes,
    /// The versions from which the updates started.
    pub bases: Bases,
    /// [`Made::finalizer_state`] as it was stored with the newest version; `None` if none was stored.
    pub finalizer_state: Option<Bytes>,
    /// The version number and mean staleness of this commit, for the finalizer.
    pub commit: Commit,
    /// The noise and clipping; `None` for versions without noise from the coordinator.
    pub private: Option<Private>,
    /// The masks of the updates; `None` if they are not masked.
    pub masked: Option<Masked>,
    /// The places of the task's clusters or widths; `None` if it has neither.
    pub parts: Option<PartPlaces>,
    /// The task's own parts.
    pub own: Own,
    /// The client of each update in `accepted`, if the aggregator knows its clients; empty otherwise.
    pub members: Vec<ClientId>,
    /// The coordinator's examples, if the aggregator uses any.
    pub examples: Option<OwnExamples>,
}

impl Making {
    /// Computes the next version. Except for the noise, the same input gives the same bytes.
    ///
    /// # Errors
    /// Fails if the round log cannot be read, the noise cannot be drawn, or a component fails.
    pub fn make(&self, ingest: &Ingest, noises: &Noises) -> Result<Made, MakeError> {
        let parameter_count = self.newest.len() / size_of::<f32>();
        let stored = self.finalizer_state.as_deref().unwrap_or_default();
        let step = self.step(parameter_count)?;
        let mut next = Next::new(step, &self.commit, &self.newest, stored, self.keeps_own_state())?;
        next.parts = self.parts.as_ref().map(|places| PartMeans::new(places, &self.description.grid));
        let mut own_state = Vec::new();
        let mut noise_state = Vec::new();
        let weights: Vec<u64> = self.accepted.iter().map(|update| update.weight).collect();
        let mut metrics = None;
        let mut alignments = self.description.scores_updates().then(|| Alignments::new(self.accepted.len()));
        if let Some(masked) = &self.masked {
            let unmasked = masked.sum(
                ingest,
                self.round_id,
                (&self.accepted, self.partial.as_ref()),
                (self.description.grid, parameter_count),
            )?;
            metrics = Some(unmasked.metrics);
            match &self.private {
                Some(private) => {
                    let (grid, sum) = (&self.description.grid, &unmasked.sum);
                    noise_state = private.means(self.round_id, grid, sum, noises, |tile| next.take(tile))?;
                }
                None => summed::means(&unmasked.sum, &unmasked.mean, |tile| next.take(tile)),
            }
        } else if self.description.sums_on_arrival() {
            let (sum, divisor) = self.summed_on_arrival(ingest, parameter_count)?;
            match &self.private {
                Some(private) => {
                    let grid = &self.description.grid;
                    noise_state = private.means(self.round_id, grid, &sum, noises, |tile| next.take(tile))?;
                }
                None => {
                    let mean = ExactMean::new(&self.description.grid, divisor)
                        .expect("only a private round can aggregate without an update");
                    summed::means(&sum, &mean, |tile| next.take(tile));
                }
            }
        } else {
            let rows = Rows::new(ingest.log(), &self.accepted, &self.bases, parameter_count);
            own_state = self.read_back(rows, &weights, &mut next, &mut alignments)?;
        }
        let ids = self.accepted.iter().map(|update| update.assignment_id);
        let scores = alignments.and_then(|alignments| alignments.scores(ids));
        let mut made = Made { noise_state, metrics, scores, ..next.made(own_state)? };
        if let Some(private) = &self.private {
            let grid = &self.description.grid;
            made.clipping_norm = Some(private.next_norm(ingest, &self.accepted, grid, parameter_count)?);
        }
        Ok(made)
    }

    /// Returns whether the part that combines updates keeps a state with the version.
    fn keeps_own_state(&self) -> bool {
        self.own.aggregator.is_some() || matches!(self.description.aggregator, AggregatorChoice::Afl(_))
    }

    /// Combines updates from the round log, and scores them if they are scored. Returns the state of a component for the next commit.
    fn read_back(
        &self,
        rows: Rows<'_>,
        weights: &[u64],
        next: &mut Next<'_>,
        alignments: &mut Option<Alignments>,
    ) -> Result<Vec<u8>, MakeError> {
        let attenuations = &self.attenuations;
        match (&self.own.aggregator, &self.examples) {
            (Some(Part::Component(strategy)), _) => {
                let commit = self.aggregation_commit(rows.parameter_count());
                let before = std::mem::take(&mut next.own_state);
                return own::means(rows, strategy, &commit, &before, |rows, tile| {
                    score(alignments, rows, tile);
                    next.take(tile);
                });
            }
            // A simulation has no need of scores.
            (Some(Part::Functions(functions)), _) => {
                *alignments = None;
                let commit = self.aggregation_commit(rows.parameter_count());
                own::whole(rows, &**functions, &commit, &self.newest, |tile| next.take(tile))?;
            }
            (None, _) if let AggregatorChoice::Afl(rule) = &self.description.aggregator => {
                let before = std::mem::take(&mut next.own_state);
                return agnostic::means(rows, rule, &self.members, &before, |rows, tile| {
                    score(alignments, rows, tile);
                    next.take(tile);
                });
            }
            (None, Some(own)) => {
                let (description, round_id) = (&self.description, self.round_id);
                let seed = replayed::seed(round_id, &self.accepted);
                let guide = Guide { description, own, round_id, seed, weights, attenuations };
                guided::means(rows, &guide, &mut |rows, tile| {
                    score(alignments, rows, tile);
                    next.take(tile);
                })?;
            }
            (None, None) => {
                let measure = |rows: &[&[f32]], tile: &[f64]| score(alignments, rows, tile);
                let take = |tile: &[f64]| next.take(tile);
                let (description, round) = (&self.description, self.round_id);
                replayed::means(rows, description, round, weights, attenuations, measure, take)?;
            }
        }
        Ok(Vec::new())
    }

    /// Returns the sum of the updates, which were added while they arrived, and the divisor of their mean.
    fn summed_on_arrival(
        &self,
        ingest: &Ingest,
        parameter_count: usize,
    ) -> Result<(Arc<RoundSum>, f64), MakeError> {
        let updates = (&*self.accepted, &*self.attenuations);
        let Weighed { sum, factors, divisor } =
            Weighed::of(ingest, &self.description, self.round_id, updates, parameter_count)?;
        if let Err(error) = sum.reconcile(ingest.log(), &self.accepted, &factors) {
            // The sum may be half reconciled; rebuild it from the log.
            ingest.forget_sum(self.round_id);
            return Err(error.into());
        }
        let Some(partial) = &self.partial else { return Ok((sum, divisor)) };
        let mut values = sum.values();
        partial.add_to(&mut values);
        Ok((Arc::new(RoundSum::of_values(self.round_id, self.description.grid, &values)), divisor))
    }

    /// Begins the step of the finalizer.
    fn step(&self, parameter_count: usize) -> Result<Step<'_>, MakeError> {
        let commit = FinalizationCommit {
            version: self.commit.number,
            parameters: parameter_count as u64,
            updates: self.commit.updates,
            mean_staleness: self.commit.mean_staleness,
        };
        match (self.description.finalizer.finalizer(), &self.own.finalizer) {
            (Ok(finalizer), _) => Ok(Step::BuiltIn(finalizer)),
            (Err(_), Some(Part::Component(strategy))) => Ok(Step::Own(Box::new(strategy.finalize(&commit)?))),
            (Err(_), Some(Part::Functions(functions))) => {
                let aggregate = Vec::with_capacity(parameter_count);
                Ok(Step::Functions { functions: &**functions, commit, aggregate })
            }
            (Err(_), None) => unreachable!("the caller has loaded the component"),
        }
    }

    fn aggregation_commit(&self, parameter_count: usize) -> AggregationCommit {
        AggregationCommit {
            version: self.commit.number,
            parameters: parameter_count as u64,
            seed: replayed::seed(self.round_id, &self.accepted),
            updates: own::facts(&self.accepted, &self.attenuations, self.bases.newest),
        }
    }
}

/// Adds a tile of the updates and of their aggregate to the alignments, if updates are scored.
fn score(alignments: &mut Option<Alignments>, rows: &[&[f32]], aggregate: &[f64]) {
    if let Some(alignments) = alignments {
        alignments.add_tile(rows, aggregate);
    }
}
