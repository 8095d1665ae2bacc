use folkmoot_engine::{EvaluateError, ExamplesError, FitError, TrainError};

/// The reason why the coordinator could not compute on its own examples.
#[derive(Debug, thiserror::Error)]
pub enum GuideError {
    /// The training failed.
    #[error("the coordinator could not train on its own examples: {0}")]
    Train(#[from] TrainError),
    /// The predictions of a client's model failed.
    #[error("the coordinator could not predict its own examples: {0}")]
    Predict(#[from] EvaluateError),
    /// The clients' models predict something that is no target, for example because one of them has diverged.
    #[error("the predictions of the clients' models cannot be targets: {0}")]
    Targets(#[from] ExamplesError),
    /// The weights do not fit the model.
    #[error("the weights do not fit the model: {0}")]
    Fit(#[from] FitError),
    /// The gradient steps have given a number that is not finite.
    #[error(
        "the gradient steps on the coordinator's own examples have diverged; lower aggregator.learning_rate"
    )]
    Diverged,
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
}
