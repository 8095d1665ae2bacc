//! The ranges of the optimizers' settings.

use super::{LocalOptimizer, newton, sophia};
use crate::plan::fault::Faults;

impl LocalOptimizer {
    /// Lists every number that is out of range.
    pub(in crate::plan) fn list_faults(&self, faults: &mut Faults) {
        match *self {
            Self::Sgd { learning_rate, momentum, nesterov, weight_decay } => {
                faults.expect_positive("optimizer.sgd.learning_rate", learning_rate);
                faults.expect_share("optimizer.sgd.momentum", momentum);
                if nesterov && momentum == 0.0 {
                    faults.add("optimizer.sgd.momentum", 0.0, "above 0 and below 1 with nesterov");
                }
                faults.expect_not_negative("optimizer.sgd.weight_decay", weight_decay);
            }
            Self::Adam { learning_rate, beta1, beta2, epsilon, weight_decay } => {
                faults.expect_positive("optimizer.adam.learning_rate", learning_rate);
                faults.expect_share("optimizer.adam.beta1", beta1);
                faults.expect_share("optimizer.adam.beta2", beta2);
                faults.expect_positive("optimizer.adam.epsilon", epsilon);
                faults.expect_not_negative("optimizer.adam.weight_decay", weight_decay);
            }
            Self::AdamW { learning_rate, beta1, beta2, epsilon, weight_decay } => {
                faults.expect_positive("optimizer.adamw.learning_rate", learning_rate);
                faults.expect_share("optimizer.adamw.beta1", beta1);
                faults.expect_share("optimizer.adamw.beta2", beta2);
                faults.expect_positive("optimizer.adamw.epsilon", epsilon);
                faults.expect_not_negative("optimizer.adamw.weight_decay", weight_decay);
            }
            Self::Adagrad { learning_rate, epsilon, weight_decay } => {
                faults.expect_positive("optimizer.adagrad.learning_rate", learning_rate);
                faults.expect_positive("optimizer.adagrad.epsilon", epsilon);
                faults.expect_not_negative("optimizer.adagrad.weight_decay", weight_decay);
            }
            Self::RmsProp { learning_rate, decay, epsilon, momentum, weight_decay } => {
                faults.expect_positive("optimizer.rmsprop.learning_rate", learning_rate);
                faults.expect_share("optimizer.rmsprop.decay", decay);
                faults.expect_positive("optimizer.rmsprop.epsilon", epsilon);
                faults.expect_share("optimizer.rmsprop.momentum", momentum);
                faults.expect_not_negative("optimizer.rmsprop.weight_decay", weight_decay);
            }
            Self::Lion { learning_rate, beta1, beta2, weight_decay } => {
                faults.expect_positive("optimizer.lion.learning_rate", learning_rate);
                faults.expect_share("optimizer.lion.beta1", beta1);
                faults.expect_share("optimizer.lion.beta2", beta2);
                faults.expect_not_negative("optimizer.lion.weight_decay", weight_decay);
            }
            Self::Muon { learning_rate, momentum, beta1, beta2, epsilon, weight_decay } => {
                faults.expect_positive("optimizer.muon.learning_rate", learning_rate);
                faults.expect_share("optimizer.muon.momentum", momentum);
                faults.expect_share("optimizer.muon.beta1", beta1);
                faults.expect_share("optimizer.muon.beta2", beta2);
                faults.expect_positive("optimizer.muon.epsilon", epsilon);
                faults.expect_not_negative("optimizer.muon.weight_decay", weight_decay);
            }
            Self::Adafactor { learning_rate, decay_exponent, update_max, scale_min, weight_decay } => {
                faults.expect_positive("optimizer.adafactor.learning_rate", learning_rate);
                if !(decay_exponent > 0.0 && decay_exponent <= 1.0) {
                    let field = "optimizer.adafactor.decay_exponent";
                    faults.add(field, decay_exponent.into(), "above 0 and at most 1");
                }
                faults.expect_positive("optimizer.adafactor.update_max", update_max);
                faults.expect_positive("optimizer.adafactor.scale_min", scale_min);
                faults.expect_not_negative("optimizer.adafactor.weight_decay", weight_decay);
            }
            Self::Newton { learning_rate, damping, cg_steps, tolerance } => {
                newton::list_faults([learning_rate, damping, tolerance], cg_steps, faults);
            }
            Self::Sophia { learning_rate, beta1, beta2, gamma, epsilon, weight_decay, interval } => {
                let numbers = [learning_rate, beta1, beta2, gamma, epsilon, weight_decay];
                sophia::list_faults(numbers, interval, faults);
            }
        }
    }
}
