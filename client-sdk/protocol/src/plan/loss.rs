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
    /// (1 − p^q) / q for the probability p = softmax(x) of the class, against wrong labels (Zhang and Sabuncu 2018,
    /// "Generalized cross entropy loss for training deep neural networks with noisy labels", equation 6). For targets that
    /// are distributions, Σ t·(1 − p^q) / q.
    GeneralizedCrossEntropy {
        /// From 0.01, which is nearly cross-entropy, to 1, half of the absolute error of the probabilities. The larger it is,
        /// the less an example counts whose label the model thinks unlikely. The paper uses 0.7.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1, "examples" = [0.7])))]
        q: f32,
    },
    /// −alpha·Σ t·log p − beta·Σ p·log t for p = softmax(x), against wrong labels (Wang et al. 2019, "Symmetric cross entropy
    /// for robust learning with noisy labels", section 4). A class number is a one-hot t.
    SymmetricCrossEntropy {
        /// The weight of the cross-entropy, 0 or more. It makes training converge, and overfits to wrong labels.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.1])))]
        alpha: f32,
        /// The weight of the reverse cross-entropy, above 0. It tolerates wrong labels.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
        beta: f32,
        /// The least value of log t, in place of log 0: the paper's A, from −60 to below 0. With class numbers, beta·|floor|
        /// alone matters.
        #[serde(default = "floor")]
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = -60, "exclusiveMaximum" = 0)))]
        floor: f32,
    },
    /// x: the model computes its own loss, one number of 0 or more for each example, and labels are ignored. Use it for
    /// losses that are not in this list, and for learning without labels, such as that of an autoencoder.
    ModelOutput,
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
            Self::GeneralizedCrossEntropy { .. } => "generalized_cross_entropy",
            Self::SymmetricCrossEntropy { .. } => "symmetric_cross_entropy",
            Self::ModelOutput => "model_output",
        }
    }

    /// Returns whether the loss is computed from class numbers, or distributions over the classes, and a softmax.
    pub fn is_cross_entropy(&self) -> bool {
        matches!(
            self,
            Self::SoftmaxCrossEntropy
                | Self::GeneralizedCrossEntropy { .. }
                | Self::SymmetricCrossEntropy { .. }
        )
    }

    /// Returns whether the loss contains a softmax over the last axis, so that the model must output logits.
    pub fn contains_softmax(&self) -> bool {
        self.is_cross_entropy() || *self == Self::KlDivergence
    }

    pub(super) fn list_faults(&self, faults: &mut Faults) {
        match *self {
            Self::Huber { delta } => faults.expect_positive("loss.huber.delta", delta),
            Self::GeneralizedCrossEntropy { q } if !(Q_MIN..=1.0).contains(&q) => {
                faults.add("loss.generalized_cross_entropy.q", q.into(), "0.01 to 1");
            }
            Self::SymmetricCrossEntropy { alpha, beta, floor } => {
                faults.expect_not_negative("loss.symmetric_cross_entropy.alpha", alpha);
                faults.expect_positive("loss.symmetric_cross_entropy.beta", beta);
                if !(FLOOR_MIN..0.0).contains(&floor) {
                    faults.add(
                        "loss.symmetric_cross_entropy.floor",
                        floor.into(),
                        "-60 or more, and below 0",
                    );
                }
            }
            _ => {}
        }
    }
}

/// The least q. With a smaller one, rounding would hide the difference between 1 and p^q.
const Q_MIN: f32 = 0.01;
/// The least floor, whose exponential is a normal number in single precision.
const FLOOR_MIN: f32 = -60.0;

/// The paper's A (Wang et al. 2019, section 5).
fn floor() -> f32 {
    -4.0
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
            Loss::ModelOutput,
        ];
        for loss in losses {
            assert_eq!(serde_json::to_value(loss).unwrap(), loss.name());
        }
        let huber = Loss::Huber { delta: 0.5 };
        assert_eq!(serde_json::to_string(&huber).unwrap(), r#"{"huber":{"delta":0.5}}"#);
        assert_eq!(huber.name(), "huber");
        let generalized = Loss::GeneralizedCrossEntropy { q: 0.5 };
        assert_eq!(
            serde_json::to_string(&generalized).unwrap(),
            r#"{"generalized_cross_entropy":{"q":0.5}}"#
        );
        let json = r#"{"symmetric_cross_entropy":{"alpha":0.5,"beta":1.0}}"#;
        let symmetric: Loss = serde_json::from_str(json).unwrap();
        assert_eq!(symmetric, Loss::SymmetricCrossEntropy { alpha: 0.5, beta: 1.0, floor: -4.0 });
        assert_eq!(
            [generalized.name(), symmetric.name()],
            ["generalized_cross_entropy", "symmetric_cross_entropy"]
        );
    }

    #[test]
    fn numbers_of_losses_against_wrong_labels_have_ranges() {
        let fields = |loss: Loss| -> Vec<&str> {
            let mut faults = Faults::default();
            loss.list_faults(&mut faults);
            faults.0.iter().map(|fault| fault.field).collect()
        };
        for (q, is_allowed) in [(0.01, true), (1.0, true), (0.0, false), (1.5, false), (f32::NAN, false)] {
            assert_eq!(fields(Loss::GeneralizedCrossEntropy { q }).is_empty(), is_allowed, "{q}");
        }
        let symmetric = |alpha, beta, floor| fields(Loss::SymmetricCrossEntropy { alpha, beta, floor });
        assert_eq!(symmetric(0.0, 1.0, -60.0), [""; 0]);
        let all = ["alpha", "beta", "floor"].map(|name| format!("loss.symmetric_cross_entropy.{name}"));
        assert_eq!(symmetric(-1.0, 0.0, 0.0), all);
        assert_eq!(symmetric(f32::NAN, f32::INFINITY, f32::NEG_INFINITY), all);
    }
}
