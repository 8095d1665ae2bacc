use folkmoot_engine::TrainError;

/// The reason why the coordinator could not compute on its own examples.
#[derive(Debug, thiserror::Error)]
pub enum GuideError {
    /// The training failed.
    #[error("the coordinator could not train on its own examples: {0}")]
    Train(#[from] TrainError),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
}
