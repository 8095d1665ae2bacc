use folkmoot_protocol::{AssignmentId, ClientId, Timestamp};

/// An outstanding assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// The assignment's id.
    pub assignment_id: AssignmentId,
    /// The client that has the assignment.
    pub client_id: ClientId,
    /// The version from which the client started.
    pub base_version: u64,
    /// When the assignment expires.
    pub deadline: Timestamp,
}
