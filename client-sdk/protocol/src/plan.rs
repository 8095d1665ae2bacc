use serde::{Deserialize, Serialize};

use crate::{BlobDigest, TensorSchema};

/// What a client must do in a round. It is data: a new plan needs no new app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The ONNX model whose graph is trained; its own weights are only the first version's.
    pub model: BlobDigest,
    /// The trainable tensors, in the order of weights and updates.
    pub schema: TensorSchema,
    /// The local work.
    pub training: TrainingPlan,
    /// How the update travels.
    pub codec: Codec,
    /// Who may see the update.
    pub protection: Protection,
    /// The grid on which updates are summed.
    pub grid: ValueGrid,
}

/// The local work of a round: loss, optimizer, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TrainingPlan {
    /// What is minimised.
    pub loss: Loss,
    /// How.
    pub optimizer: LocalOptimizer,
    /// Passes over the local examples, at least 1.
    pub epochs: u32,
    /// Stop after this many steps, even in the middle of an epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_max: Option<u32>,
    /// Examples in a step, at least 1; the last batch of an epoch may be smaller.
    pub batch_size: u32,
    /// FedProx's mu: adds mu/2 · ‖w − w₀‖² to the loss (Li et al. 2020, equation 2); 0 is FedAvg.
    #[serde(default)]
    pub proximal_term: f32,
}

/// The loss of one example; a batch's loss is the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// −log softmax(logits)[label], for integer labels.
    SoftmaxCrossEntropy,
    /// Mean over the outputs of (output − target)².
    MeanSquaredError,
}

/// A client's optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LocalOptimizer {
    /// Stochastic gradient descent: v ← momentum·v + g + weight_decay·w; w ← w − learning_rate·v.
    Sgd {
        /// The step size, above 0.
        learning_rate: f32,
        /// 0 (none) to below 1.
        #[serde(default)]
        momentum: f32,
        /// 0 (none) or above.
        #[serde(default)]
        weight_decay: f32,
    },
}

/// A number in the plan that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {value}; it must be {allowed}")]
pub struct PlanError {
    /// The plan's field, as a path.
    pub field: &'static str,
    /// What it is.
    pub value: f64,
    /// What it may be.
    pub allowed: &'static str,
}

impl TrainingPlan {
    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// Returns the first [`PlanError`].
    pub fn validate(&self) -> Result<(), PlanError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Lists every number that is not in its range.
    pub fn faults(&self) -> Vec<PlanError> {
        let mut faults = Vec::new();
        let mut check = |field, value: f64, is_allowed: bool, allowed| {
            if !is_allowed {
                faults.push(PlanError { field, value, allowed });
            }
        };
        let mut at_least_one = |field, value: u32| check(field, value.into(), value > 0, "1 or more");
        at_least_one("epochs", self.epochs);
        at_least_one("batch_size", self.batch_size);
        at_least_one("steps_max", self.steps_max.unwrap_or(u32::MAX));
        let is_weight = |value: f32| value.is_finite() && value >= 0.0;
        let LocalOptimizer::Sgd { learning_rate: rate, momentum, weight_decay } = self.optimizer;
        check("optimizer.sgd.learning_rate", rate.into(), rate.is_finite() && rate > 0.0, "above 0");
        let is_momentum = (0.0..1.0).contains(&momentum);
        check("optimizer.sgd.momentum", momentum.into(), is_momentum, "0 or more and below 1");
        check("optimizer.sgd.weight_decay", weight_decay.into(), is_weight(weight_decay), "0 or more");
        let proximal_term = self.proximal_term;
        check("proximal_term", proximal_term.into(), is_weight(proximal_term), "0 or more");
        faults
    }
}

/// How weights and updates travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// Little-endian float32, as they are.
    #[default]
    None,
}

/// Who may see an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The coordinator sees it; nobody on the way does.
    #[default]
    Plain,
}

/// The fixed-point grid on which updates are summed exactly.
///
/// A value `v` of an update with weight `w` is added as the integer nearest to `v · w · 2^fraction_bits`
/// (ties to even). Integers add up to the same sum in any order, so neither arrival, threads nor a replay
/// after a crash can change the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueGrid {
    /// Bits behind the point.
    pub fraction_bits: u32,
    /// The largest magnitude of an update's element; a larger one is refused.
    pub value_max: f32,
    /// The largest weight of an update; a client caps its own.
    pub weight_max: u64,
}

impl Default for ValueGrid {
    /// Steps of 4e-9, values to ±16, weights to 10,000 examples: room for a cohort of 190,000.
    fn default() -> Self {
        Self { fraction_bits: 28, value_max: 16.0, weight_max: 10_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"{"loss":"softmax_cross_entropy","optimizer":{"sgd":{"learning_rate":0.5}},"epochs":1,"batch_size":8}"#;

    #[test]
    fn what_is_left_out_is_off() {
        let plan: TrainingPlan = serde_json::from_str(MINIMAL).unwrap();
        let optimizer = LocalOptimizer::Sgd { learning_rate: 0.5, momentum: 0.0, weight_decay: 0.0 };
        let loss = Loss::SoftmaxCrossEntropy;
        let expected =
            TrainingPlan { loss, optimizer, epochs: 1, steps_max: None, batch_size: 8, proximal_term: 0.0 };
        assert_eq!(plan, expected);
        assert_eq!(plan.validate(), Ok(()));
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<TrainingPlan>(&json).unwrap(), plan);
    }

    #[test]
    fn unknown_fields_are_refused() {
        for (from, to) in [("epochs", "epoch"), ("learning_rate", "rate"), ("sgd", "adam")] {
            assert!(serde_json::from_str::<TrainingPlan>(&MINIMAL.replace(from, to)).is_err(), "{to}");
        }
        let extended = MINIMAL.replace("0.5", "0.5,\"nesterov\":true");
        assert!(serde_json::from_str::<TrainingPlan>(&extended).is_err());
    }
}
