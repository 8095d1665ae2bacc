/// The readiness of a closed round whose sums others compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summed {
    /// Nobody else is needed.
    Yes,
    /// Somebody has not answered yet.
    NotYet,
    /// The sums will never be known, for this reason.
    Never(String),
    /// The task was cancelled while somebody had not answered.
    Cancelled,
}
