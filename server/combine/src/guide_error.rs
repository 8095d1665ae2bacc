use folkmoot_engine::{FitError, TrainError};

/// The reason why the coordinator could not compute on its own examples.
#[derive(Debug, thiserror::Error)]
pub enum GuideError {
    /// The training failed.
    #[error("the coordinator could not train on its own examples: {0}")]
    Train(#[from] TrainError),
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
