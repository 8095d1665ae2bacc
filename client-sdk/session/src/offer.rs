use folkmoot_protocol::messages::CheckInRequest;
use serde::{Deserialize, Serialize};

/// How a client offers itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The body of every check-in.
    pub request: CheckInRequest,
    /// How long a check-in may wait for an assignment.
    pub wait_seconds: u32,
}
