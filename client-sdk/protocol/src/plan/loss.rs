use serde::{Deserialize, Serialize};

use super::fault::Faults;

/// The loss of one example, which training minimises. A batch's loss is the mean over its examples.
///
/// `x` are the model's outputs for an example and `t` its labels. If an example has several outputs or positions, its
/// loss is the mean over them. The class axis is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// For class numbers, −log softmax(x) at the class. For targets that are distributions over the classes, −Σ t·log
    /// softmax(x). With one class number per position, this is the loss of a language model.
    SoftmaxCrossEntropy,
    /// log(1 + eˣ) − t·x for logits `x` and targets from 0 to 1 (logistic regression). A class number is the target of
    /// a single output. With several outputs, it selects the one with target 1.
    BinaryCrossEntropy,
    /// (x − t)².
    MeanSquaredError,
    /// |x − t|.
    MeanAbsoluteError,
    /// d²/2 up to |d| = delta, delta·(|d| − delta/2) from there on, for d = x − t (Huber 1964).
    Huber {
        /// The distance at which the square becomes linear, above 0.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
        delta: f32,
    },
    /// max(0, 1 − s·x), where the targets 0 and 1 mean s = −1 and s = 1. With weight decay, this is the linear support
    /// vector machine (Cortes and Vapnik 1995). Class numbers are interpreted as for binary cross-entropy.
    Hinge,
    /// Σ t·(log t − log softmax(x)) over the classes, for targets that are distributions (Kullback and Leibler 1951).
    KlDivergence,
    /// 1 − cos(x, t) over the last axis.
    Cosine,
}

impl Loss {
    /// Returns the name of the loss in a plan.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SoftmaxCrossEntropy => "softmax_cross_entropy",
            Self::BinaryCrossEntropy => "binary_cross_entropy",
            Self::MeanSquaredError => "mean_squared_error",
            Self::MeanAbsoluteError => "mean_absolute_error",
            Self::Huber { .. } => "huber",
            Self::Hinge => "hinge",
            Self::KlDivergence => "kl_divergence",
            Self::Cosine => "cosine",
        }
    }

    pub(super) fn list_faults(&self, faults: &mut Faults) {
        if let Self::Huber { delta } = self {
            faults.expect_positive("loss.huber.delta", *delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_word_in_json() {
        let losses = [
            Loss::SoftmaxCrossEntropy,
            Loss::BinaryCrossEntropy,
            Loss::MeanSquaredError,
            Loss::MeanAbsoluteError,
            Loss::Hinge,
            Loss::KlDivergence,
            Loss::Cosine,
        ];
        for loss in losses {
            assert_eq!(serde_json::to_value(loss).unwrap(), loss.name());
        }
        let huber = Loss::Huber { delta: 0.5 };
        assert_eq!(serde_json::to_string(&huber).unwrap(), r#"{"huber":{"delta":0.5}}"#);
        assert_eq!(huber.name(), "huber");
    }
}
