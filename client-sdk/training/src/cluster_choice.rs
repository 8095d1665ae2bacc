use std::time::Duration;

use folkmoot_engine::Examples;
use folkmoot_protocol::messages::AbortReason;

use crate::{Budget, Evaluation, Inputs, WorkError, inputs::whole_of};

/// The choice of the cluster whose model has the smallest mean loss on this client's examples (Ghosh et al. 2020,
/// algorithm 1, line 8). Of equal ones, it is the first. It comes before each training of a plan with clusters, and
/// before an evaluation by a client that has not trained yet. Clients that have trained measure the model of their last
/// cluster, with which they also predict.
pub struct ClusterChoice {
    evaluation: Evaluation,
    /// The cluster that is measured.
    cluster: usize,
    /// The best cluster so far, with its loss.
    best: Option<(usize, f64)>,
}

impl ClusterChoice {
    /// Starts to measure the clusters. Returns `None` if there is nothing to choose.
    ///
    /// # Errors
    /// The errors of [`Evaluation::begin`].
    pub fn begin(inputs: &Inputs, examples: &Examples, budget: &Budget) -> Result<Option<Self>, WorkError> {
        if inputs.cluster_values.is_empty() {
            return Ok(None);
        }
        let evaluation = Evaluation::of(inputs, weights_of(inputs, 0)?, examples, budget)?;
        Ok(Some(Self { evaluation, cluster: 0, best: None }))
    }

    /// Measures the next batch of examples. After the last batch of the last cluster, changes the inputs to the best cluster and
    /// returns `true`. All clusters together have the time limit of an evaluation.
    ///
    /// # Errors
    /// The errors of [`Evaluation::advance`], and [`AbortReason::TrainingFailed`] if no cluster has a finite loss.
    pub fn advance(
        &mut self,
        inputs: &mut Inputs,
        stopwatch: &dyn Fn() -> Duration,
    ) -> Result<bool, WorkError> {
        if !self.evaluation.advance(stopwatch)? {
            return Ok(false);
        }
        let loss = self.evaluation.metrics().mean_loss().unwrap_or(f64::NAN);
        let is_better = self.best.is_none_or(|(_, best)| loss < best);
        if loss.is_finite() && is_better {
            self.best = Some((self.cluster, loss));
        }
        self.cluster += 1;
        if self.cluster < inputs.travelling.cluster_count().unwrap_or_default() {
            self.evaluation.restart(weights_of(inputs, self.cluster)?);
            return Ok(false);
        }
        let Some((best, _)) = self.best else {
            let detail = "the losses of all clusters are not finite";
            return Err(WorkError::new(AbortReason::TrainingFailed, detail));
        };
        let values = std::mem::take(&mut inputs.cluster_values);
        inputs.starting_weights = whole_of(&inputs.travelling, &values, best)?;
        inputs.cluster = Some(best);
        Ok(true)
    }
}

fn weights_of(inputs: &Inputs, cluster: usize) -> Result<Vec<f32>, WorkError> {
    whole_of(&inputs.travelling, &inputs.cluster_values, cluster)
}
