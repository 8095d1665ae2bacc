mod faults;
mod newton;
mod sophia;

use serde::{Deserialize, Serialize};

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
    /// For matrices: m ← momentum·m + g; w ← w − r·(0.2·√max(rows, columns)·O + weight_decay·w), where O is g + momentum·m
    /// with all singular values near 1, by five steps of Newton-Schulz (Jordan et al. 2024, "Muon: an optimizer for hidden
    /// layers in neural networks", with the scale of Liu et al. 2025, "Muon is scalable for LLM training", equation 4). A
    /// tensor with more dimensions, such as filters, is a matrix whose rows are its first dimension above 1. Tensors with a
    /// single row or column, such as biases, are changed by AdamW with the same `learning_rate` and `weight_decay`. Tables
    /// of embeddings and last layers are matrices like others. Only the CPU computes it.
    Muon {
        /// The step size of both rules, above 0. Because of the scale, a step size for AdamW fits.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.001])))]
        learning_rate: f32,
        /// The Nesterov momentum of matrices, 0 (none) to below 1.
        #[serde(default = "muon_momentum")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        momentum: f32,
        /// The decay of the gradients' running mean in AdamW, 0 to below 1.
        #[serde(default = "beta1")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta1: f32,
        /// The decay of the squared gradients' running mean in AdamW, 0 to below 1.
        #[serde(default = "beta2")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta2: f32,
        /// Avoids division by zero in AdamW, above 0.
        #[serde(default = "epsilon")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        epsilon: f32,
        /// The decoupled weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// u ← g / √v for a running mean v of g²; for a matrix, v is the product of the running means of its rows and
    /// columns, divided by the mean of the rows; w ← w − max(scale_min, rms(w))·min(r, 1/√t)·u / max(1, rms(u) /
    /// update_max) − r·weight_decay·w in step t (Shazeer and Stern 2018, "Adafactor: adaptive learning rates with
    /// sublinear memory cost", algorithms 4 and 5). The state of a matrix has as many numbers as it has rows and
    /// columns. Tensors count as matrices by the rule of `muon`. Only the CPU computes it.
    Adafactor {
        /// The step size relative to the weights, above 0. The paper uses 0.01.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.01])))]
        learning_rate: f32,
        /// The decay of the running means in step t is 1 − 1/t^`decay_exponent`; above 0, at most 1.
        #[serde(default = "decay_exponent")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
        decay_exponent: f32,
        /// The largest root mean square of a tensor's u, above 0: the paper's d.
        #[serde(default = "update_max")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        update_max: f32,
        /// The least root mean square of a tensor that its steps are relative to, above 0, so that zeros can learn: the
        /// paper's ε₂.
        #[serde(default = "scale_min")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        scale_min: f32,
        /// The decoupled weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
    },
    /// Newton's method for convex models: w ← w − r·d with (H + damping·I)·d = g, by conjugate gradients whose products with the
    /// Hessian H are differences of gradients (Nocedal and Wright 2006, "Numerical optimization", algorithm 7.1). Clients that average
    /// such steps do `LocalNewton` (Gupta et al. 2021); those that take one step each, without the average gradient, a simple form of
    /// GIANT (Wang et al. 2018). It is for linear and logistic regression with at most 20,000 trained parameters: for a neural network,
    /// a step ends where the curvature is not positive, and training loses its advantage. Let a batch be all examples. A step costs as
    /// much as up to 21 + 2·`cg_steps` steps of SGD. Only the CPU computes it.
    Newton {
        /// The step size, above 0. With 1, a step reaches the minimum of a quadratic loss; less is safer far from the minimum.
        #[serde(default = "newton::learning_rate")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        learning_rate: f32,
        /// The number added to the diagonal of the Hessian, 0 or more. It keeps steps short in directions in which the loss is flat, such
        /// as those of features that no example of the client has.
        #[serde(default = "newton::damping")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        damping: f32,
        /// The maximum number of conjugate gradient steps, 1 to 200. A device cannot pause between them.
        #[serde(default = "newton::cg_steps")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 200)))]
        cg_steps: u32,
        /// Conjugate gradients end when ‖(H + damping·I)·d − g‖ is at most this many times ‖g‖; above 0, below 1.
        #[serde(default = "newton::tolerance")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
        tolerance: f32,
    },
    /// m ← β₁m + (1 − β₁)g; in every `interval`th step, beginning with the first, h ← β₂h + (1 − β₂)·u·(H·u) for a u of random
    /// signs, which estimates the diagonal of the Hessian H (Hutchinson 1990); w ← w − r·weight_decay·w, and then w ← w − r·clip(m /
    /// max(gamma·h, epsilon), 1) (Liu et al. 2024, "Sophia: a scalable stochastic second-order optimizer for language model pre-training",
    /// algorithm 3; Fed-Sophia, Elbakary et al. 2024, averages such models, with another estimate). Products with H are differences of gradients. A step with an estimate
    /// costs as much as three steps of SGD. Only the CPU computes it.
    Sophia {
        /// The largest change of a weight in a step, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.001])))]
        learning_rate: f32,
        /// The decay of the gradients' running mean, 0 to below 1.
        #[serde(default = "sophia::beta1")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta1: f32,
        /// The decay of the running mean of the estimates, 0 to below 1. Its state begins at 0 in each round, so with few local steps,
        /// choose less than the default.
        #[serde(default = "sophia::beta2")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1)))]
        beta2: f32,
        /// The factor of the curvature, above 0: with more, fewer weights take the largest change. The paper uses 0.01.
        #[serde(default = "sophia::gamma")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        gamma: f32,
        /// The least divisor, above 0. Weights whose curvature is not positive take the largest change.
        #[serde(default = "sophia::epsilon")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        epsilon: f32,
        /// The decoupled weight decay, 0 (none) or more.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0)))]
        weight_decay: f32,
        /// The number of steps from one estimate to the next, 1 to 1000.
        #[serde(default = "sophia::interval")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
        interval: u32,
    },
}

impl LocalOptimizer {
    /// The maximum number of trained parameters for Newton's method.
    pub const NEWTON_PARAMETERS_MAX: usize = 20_000;
    /// The maximum number of halvings of a step of [`LocalOptimizer::Newton`]. Each costs a gradient.
    pub const NEWTON_HALVINGS_MAX: u32 = 20;

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
            | Self::Lion { learning_rate, .. }
            | Self::Muon { learning_rate, .. }
            | Self::Adafactor { learning_rate, .. }
            | Self::Newton { learning_rate, .. }
            | Self::Sophia { learning_rate, .. } => learning_rate,
        }
    }

    /// Returns whether the rule of a tensor needs all of its elements together, or other gradients. GPUs have no kernels for such rules.
    pub fn needs_whole_tensors(&self) -> bool {
        matches!(self, Self::Muon { .. } | Self::Adafactor { .. }) || self.uses_curvature()
    }

    /// Returns whether a step compares gradients at several weights.
    pub fn uses_curvature(&self) -> bool {
        matches!(self, Self::Newton { .. } | Self::Sophia { .. })
    }

    /// Returns whether this is Newton's method.
    pub fn is_newton(&self) -> bool {
        matches!(self, Self::Newton { .. })
    }

    /// Returns the largest number of gradients that a step computes.
    pub fn gradients_per_step(&self) -> u32 {
        match self {
            Self::Newton { cg_steps, .. } => 1 + 2 * cg_steps + Self::NEWTON_HALVINGS_MAX,
            Self::Sophia { .. } => 3,
            _ => 1,
        }
    }

    /// Returns whether this is SGD without momentum and weight decay.
    pub fn is_plain_sgd(&self) -> bool {
        matches!(*self, Self::Sgd { momentum: 0.0, weight_decay: 0.0, .. })
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

fn muon_momentum() -> f32 {
    0.95
}

fn decay_exponent() -> f32 {
    0.8
}

fn update_max() -> f32 {
    1.0
}

fn scale_min() -> f32 {
    1e-3
}

#[cfg(test)]
mod tests;
