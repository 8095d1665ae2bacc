/// The event is invalid in this state, which means that the host has a bug.
///
/// Late and duplicate answers are allowed and never cause this error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event `{event}` is not possible in the state `{state}`; the host answered another request")]
pub struct InvalidTransitionError {
    /// The state's name.
    pub state: &'static str,
    /// The event's name.
    pub event: &'static str,
}
