//! What a client computes: loss, optimizer and how long.

use serde::{Deserialize, Serialize};

/// What training minimises: the mean over the examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Cross-entropy between the softmax of the model's output and a class number. The output is logits: a
    /// model for this loss does not end with a softmax of its own.
    SoftmaxCrossEntropy,
    /// For each example the mean of the squared differences to its targets.
    MeanSquaredError,
}

/// How a gradient changes the weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Optimizer {
    /// Stochastic gradient descent: `v = momentum * v + gradient + weight_decay * w`, `w = w - learning_rate * v`.
    Sgd {
        /// Above 0.
        learning_rate: f32,
        /// In [0, 1); 0 is none.
        #[serde(default)]
        momentum: f32,
        /// 0 or more; 0 is none.
        #[serde(default)]
        weight_decay: f32,
    },
}

/// A client's part in a round, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingPlan {
    /// What is minimised.
    pub loss: Loss,
    /// How.
    pub optimizer: Optimizer,
    /// How often each example is seen, 1 or more.
    pub epochs: u32,
    /// Training ends after this many steps even if epochs are left, 1 or more.
    #[serde(default)]
    pub steps_max: Option<u32>,
    /// Examples in a step, 1 or more; the last step of an epoch takes what is left.
    pub batch_size: u32,
    /// `mu` of FedProx (Li et al. 2020, equation 2): adds `mu * (w - starting weights)` to the gradient. 0 is none.
    #[serde(default)]
    pub proximal_term: f32,
}

/// A number in the plan that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field} is {value}; it must be {allowed}")]
pub struct PlanError {
    /// The plan's field.
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
    /// Returns a [`PlanError`] for the first field that is not.
    pub fn validate(&self) -> Result<(), PlanError> {
        let Optimizer::Sgd { learning_rate, momentum, weight_decay } = self.optimizer;
        let is_weight = |value: f32| value.is_finite() && value >= 0.0;
        check("learning_rate", learning_rate, learning_rate.is_finite() && learning_rate > 0.0, "above 0")?;
        check("momentum", momentum, (0.0..1.0).contains(&momentum), "0 or more and below 1")?;
        check("weight_decay", weight_decay, is_weight(weight_decay), "0 or more")?;
        check("proximal_term", self.proximal_term, is_weight(self.proximal_term), "0 or more")?;
        check("epochs", self.epochs, self.epochs > 0, "1 or more")?;
        check("batch_size", self.batch_size, self.batch_size > 0, "1 or more")?;
        let steps_max = self.steps_max.unwrap_or(u32::MAX);
        check("steps_max", steps_max, steps_max > 0, "1 or more")
    }
}

fn check(
    field: &'static str,
    value: impl Into<f64>,
    is_allowed: bool,
    allowed: &'static str,
) -> Result<(), PlanError> {
    if is_allowed { Ok(()) } else { Err(PlanError { field, value: value.into(), allowed }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"{"loss":"softmax_cross_entropy","optimizer":{"sgd":{"learning_rate":0.5}},"epochs":1,"batch_size":8}"#;

    #[test]
    fn what_is_left_out_is_off() {
        let plan: TrainingPlan = serde_json::from_str(MINIMAL).unwrap();
        let optimizer = Optimizer::Sgd { learning_rate: 0.5, momentum: 0.0, weight_decay: 0.0 };
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
