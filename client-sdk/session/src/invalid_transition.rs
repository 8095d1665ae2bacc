/// An event that makes no sense in this state: the host has a mistake.
///
/// Late and doubled answers are no mistake and never give this error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event `{event}` is not possible in the state `{state}`: the host answered another request")]
pub struct InvalidTransitionError {
    /// The state's name.
    pub state: &'static str,
    /// The event's name.
    pub event: &'static str,
}
