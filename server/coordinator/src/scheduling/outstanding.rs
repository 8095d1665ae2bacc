use folkmoot_protocol::{AssignmentId, ClientId, Timestamp};

/// An assignment under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// Its client.
    pub client_id: ClientId,
    /// The version from which the client started.
    pub base_version: u64,
    /// When it expires.
    pub deadline: Timestamp,
}
