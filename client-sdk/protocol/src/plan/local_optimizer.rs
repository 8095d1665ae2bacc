use serde::{Deserialize, Serialize};

use super::fault::Faults;

/// A client's optimizer, as defined by PyTorch. Its state is reset in every round.
///
/// `w` is a weight, `g` its gradient and `r` the learning rate of the step. Except in AdamW, weight decay adds
/// `weight_decay·w` to `g` first. Square roots, squares and quotients are element by element.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LocalOptimizer {
    /// Stochastic gradient descent: v ← momentum·v + g; w ← w − r·v.
    ///
    /// With `nesterov`, w ← w − r·(g + momentum·v) (Sutskever et al. 2013).
    Sgd {
        /// The step size, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.1])))]
        learning_rate: f32,
        /// The momentum, 0 (none) to below 1.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        momentum: f32,
        /// Uses Nesterov momentum, which requires a momentum above 0.
        #[serde(default, skip_serializing_if = "is_false")]
        #[cfg_attr(feature = "schema", schemars(extend("default" = false)))]
        nesterov: bool,
        /// The weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; w ← w − r·(m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + epsilon)
    /// in step t, counted from 1 (Kingma and Ba 2015, algorithm 1).
    Adam {
        /// The step size, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.001])))]
        learning_rate: f32,
        /// The decay of the gradients' running mean, 0 to below 1.
        #[serde(default = "beta1")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta1: f32,
        /// The decay of the squared gradients' running mean, 0 to below 1.
        #[serde(default = "beta2")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta2: f32,
        /// Avoids division by zero, above 0.
        #[serde(default = "epsilon")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        epsilon: f32,
        /// The weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// Adam after w ← w − r·weight_decay·w, so that the decay does not pass through the moments
    /// (Loshchilov and Hutter 2019, algorithm 2).
    #[serde(rename = "adamw")]
    AdamW {
        /// The step size, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.001])))]
        learning_rate: f32,
        /// The decay of the gradients' running mean, 0 to below 1.
        #[serde(default = "beta1")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta1: f32,
        /// The decay of the squared gradients' running mean, 0 to below 1.
        #[serde(default = "beta2")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta2: f32,
        /// Avoids division by zero, above 0.
        #[serde(default = "epsilon")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        epsilon: f32,
        /// The weight decay, 0 (none) or more.
        #[serde(default = "decoupled_weight_decay")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// s ← s + g²; w ← w − r·g / (√s + epsilon) (Duchi et al. 2011).
    Adagrad {
        /// The step size, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.01])))]
        learning_rate: f32,
        /// Avoids division by zero, above 0.
        #[serde(default = "adagrad_epsilon")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        epsilon: f32,
        /// The weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// s ← decay·s + (1 − decay)·g²; v ← momentum·v + g / (√s + epsilon); w ← w − r·v
    /// (Tieleman and Hinton 2012, lecture 6.5).
    #[serde(rename = "rmsprop")]
    RmsProp {
        /// The step size, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.01])))]
        learning_rate: f32,
        /// The decay of the squares' running mean, 0 to below 1.
        #[serde(default = "rms_prop_decay")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        decay: f32,
        /// Avoids division by zero, above 0.
        #[serde(default = "epsilon")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        epsilon: f32,
        /// The momentum, 0 (none) to below 1.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        momentum: f32,
        /// The weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// w ← w − r·(sign(β₁m + (1 − β₁)g) + weight_decay·w); m ← β₂m + (1 − β₂)g (Chen et al. 2023, "Symbolic discovery of
    /// optimization algorithms", algorithm 2). It needs half of Adam's state. Its steps have the same length for all weights: choose
    /// a learning rate of a third to a tenth of that of Adam.
    Lion {
        /// The step size, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.0001])))]
        learning_rate: f32,
        /// The share of the running mean in the direction of a step, 0 to below 1.
        #[serde(default = "beta1")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta1: f32,
        /// The decay of the gradients' running mean, 0 to below 1.
        #[serde(default = "lion_beta2")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta2: f32,
        /// The decoupled weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
}

impl LocalOptimizer {
    /// Returns plain stochastic gradient descent.
    pub fn sgd(learning_rate: f32) -> Self {
        Self::Sgd { learning_rate, momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }

    /// Returns the step size before any schedule.
    pub fn learning_rate(&self) -> f32 {
        match *self {
            Self::Sgd { learning_rate, .. }
            | Self::Adam { learning_rate, .. }
            | Self::AdamW { learning_rate, .. }
            | Self::Adagrad { learning_rate, .. }
            | Self::RmsProp { learning_rate, .. }
            | Self::Lion { learning_rate, .. } => learning_rate,
        }
    }

    pub(super) fn list_faults(&self, faults: &mut Faults) {
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
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn beta1() -> f32 {
    0.9
}

fn beta2() -> f32 {
    0.999
}

fn epsilon() -> f32 {
    1e-8
}

fn adagrad_epsilon() -> f32 {
    1e-10
}

fn decoupled_weight_decay() -> f32 {
    0.01
}

fn rms_prop_decay() -> f32 {
    0.99
}

fn lion_beta2() -> f32 {
    0.99
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> LocalOptimizer {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn what_is_left_out_is_pytorchs_default() {
        let (learning_rate, weight_decay) = (0.5, 0.0);
        let (beta1, beta2, epsilon) = (0.9, 0.999, 1e-8);
        assert_eq!(read(r#"{"sgd":{"learning_rate":0.5}}"#), LocalOptimizer::sgd(0.5));
        let adam = LocalOptimizer::Adam { learning_rate, beta1, beta2, epsilon, weight_decay };
        assert_eq!(read(r#"{"adam":{"learning_rate":0.5}}"#), adam);
        let adamw = LocalOptimizer::AdamW { learning_rate, beta1, beta2, epsilon, weight_decay: 0.01 };
        assert_eq!(read(r#"{"adamw":{"learning_rate":0.5}}"#), adamw);
        let adagrad = LocalOptimizer::Adagrad { learning_rate, epsilon: 1e-10, weight_decay };
        assert_eq!(read(r#"{"adagrad":{"learning_rate":0.5}}"#), adagrad);
        let rmsprop =
            LocalOptimizer::RmsProp { learning_rate, decay: 0.99, epsilon, momentum: 0.0, weight_decay };
        assert_eq!(read(r#"{"rmsprop":{"learning_rate":0.5}}"#), rmsprop);
        let lion = LocalOptimizer::Lion { learning_rate, beta1, beta2: 0.99, weight_decay };
        assert_eq!(read(r#"{"lion":{"learning_rate":0.5}}"#), lion, "the paper's default");
        for optimizer in [adam, adamw, adagrad, rmsprop, lion] {
            assert_eq!(optimizer.learning_rate(), 0.5);
            assert_eq!(read(&serde_json::to_string(&optimizer).unwrap()), optimizer);
        }
    }

    #[test]
    fn nesterov_is_written_only_when_it_is_on() {
        let json = serde_json::to_string(&LocalOptimizer::sgd(0.5)).unwrap();
        assert_eq!(json, r#"{"sgd":{"learning_rate":0.5,"momentum":0.0,"weight_decay":0.0}}"#);
        assert!(read(&json.replace("0.5", "0.5,\"nesterov\":true")) != read(&json));
    }

    #[test]
    fn nesterov_needs_momentum() {
        let fields = |momentum| -> Vec<&str> {
            let mut faults = Faults::default();
            LocalOptimizer::Sgd { learning_rate: 0.5, momentum, nesterov: true, weight_decay: 0.0 }
                .list_faults(&mut faults);
            faults.0.iter().map(|fault| fault.field).collect()
        };
        assert_eq!(fields(0.5), [""; 0]);
        assert_eq!(fields(0.0), ["optimizer.sgd.momentum"]);
    }
}
