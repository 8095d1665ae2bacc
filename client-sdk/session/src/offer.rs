use folkmoot_protocol::messages::CheckInRequest;
use serde::{Deserialize, Serialize};

/// The contents of a client's check-ins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The body of every check-in.
    pub request: CheckInRequest,
    /// Seconds that a check-in may wait for an assignment.
    pub wait_seconds: u32,
}
