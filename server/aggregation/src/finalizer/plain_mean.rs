use super::FinalizerChoice;

/// The reasons why a finalizer needs a plain mean of one round's updates, each as its client sent it. There is a reason
/// for each choice in a task that contradicts such a mean; `None` if the choice does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainMean {
    /// Secure aggregation.
    pub masked: Option<&'static str>,
    /// Noise that hides clients or examples.
    pub private: &'static str,
    /// Schedules without rounds.
    pub flow: &'static str,
    /// Rules that change or drop updates.
    pub rule: &'static str,
    /// Codecs.
    pub compressed: Option<&'static str>,
    /// Several local epochs.
    pub epochs: Option<&'static str>,
    /// A local step that is no gradient.
    pub step: Option<&'static str>,
}

impl FinalizerChoice {
    /// Returns the reasons of a choice that needs a plain mean.
    pub fn plain_mean(&self) -> Option<PlainMean> {
        match self {
            FinalizerChoice::FedExp(_) => Some(PlainMean {
                masked: Some("fed_exp needs the norms of single updates, which secure aggregation hides"),
                private: "fed_exp computes its step from the norms of single updates, which privacy.kind does not cover with noise",
                flow: "fed_exp compares the updates of one round, but with this scheduling.kind updates start from several versions",
                rule: "fed_exp is defined for a plain mean of all updates, but this aggregator.kind changes or drops some",
                compressed: None,
                epochs: None,
                step: None,
            }),
            FinalizerChoice::LBfgs(_) => Some(PlainMean {
                masked: None,
                private: "l_bfgs divides by differences of gradients, which are smaller than the noise of privacy.kind",
                flow: "l_bfgs compares gradients of two versions, but with this scheduling.kind updates start from several",
                rule: "l_bfgs treats the aggregate as a gradient, but this aggregator.kind changes or drops some updates",
                compressed: Some(
                    "l_bfgs divides by differences of gradients, which are smaller than the errors of a codec",
                ),
                epochs: Some(
                    "l_bfgs treats an update as a gradient, but clients with several epochs take several steps",
                ),
                step: Some(
                    "l_bfgs treats an update as a gradient, so clients need plain sgd, without clipping, sharpness_aware, l1 and \
                     value_range",
                ),
            }),
            _ => None,
        }
    }
}
