//! The time that a plan takes, compared with plain gradients.

use super::TrainingPlan;
use crate::plan::LocalOptimizer;

impl TrainingPlan {
    /// Returns the number of examples whose gradients take about as long as a training that sees this many: each example of a step counts
    /// once for each gradient, and a forward pass as a third of one. The phases and steps of a personal training are not counted.
    pub fn gradients_for(&self, examples: u64) -> u64 {
        let each = |count: u64| examples.saturating_mul(count);
        let gradients = match self.optimizer {
            LocalOptimizer::Sophia { interval, .. } => {
                examples.saturating_add(each(2).div_ceil(interval.into()))
            }
            _ if self.sharpness_aware.is_some() => each(2),
            optimizer => each(optimizer.gradients_per_step().into()),
        };
        let forward = if self.model_contrast.is_some() { each(2).div_ceil(3) } else { 0 };
        gradients.saturating_add(forward)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::Loss;

    #[test]
    fn gradients_and_forward_passes_are_counted() {
        let count = |key: &str, value: Value| {
            let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.5));
            let mut plan = serde_json::to_value(plan).unwrap();
            plan[key] = value;
            serde_json::from_value::<TrainingPlan>(plan).unwrap().gradients_for(300)
        };
        assert_eq!(count("epochs", json!(7)), 300);
        assert_eq!(count("sharpness_aware", json!({ "radius": 0.1 })), 600);
        assert_eq!(count("model_contrast", json!({ "features": "hidden" })), 500);
        assert_eq!(count("optimizer", json!({ "sophia": { "learning_rate": 0.1, "interval": 10 } })), 360);
        assert_eq!(count("optimizer", json!({ "newton": { "cg_steps": 5 } })), 300 * 31);
    }
}
