//! The endpoints of edge aggregators.

pub mod admit;
pub mod assignments;
pub mod rounds;
pub mod updates;

use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::{device::Aggregator, refusal::Refusal};

use super::{access::Caller, who::Who};

/// Returns the aggregator that a caller is.
fn aggregator(caller: Caller) -> Result<Aggregator, Refusal> {
    match caller.who {
        Who::ApiKey { id, .. } => Ok(Aggregator { organisation_id: caller.organisation_id, key: id }),
        Who::Person(_) => Err(Refusal::new(
            ErrorCode::RoleInsufficient,
            "a person cannot be an edge aggregator; use a key of `folkmoot key create --role aggregator`",
        )),
    }
}
