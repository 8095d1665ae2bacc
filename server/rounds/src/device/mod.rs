//! Device requests. Each file records one kind of fact; none advances a round.

mod abort;
mod ask;
mod authenticate;
mod blob;
mod check_in;
mod enrol;
mod enrolment_jwt;
mod held;
mod organisation;
mod report;
mod rollout;
mod secure;
mod seen;
mod upload;

pub use abort::abort;
pub use ask::is_asked;
pub use authenticate::{Authenticator, Claimed, check_signature};
pub use blob::blob;
pub use check_in::{Offered, assignment_of, check_in, end_wait, offer_ends};
pub use enrol::{VerifiedToken, enrol, verified_token};
pub use enrolment_jwt::check_keys;
use folkmoot_protocol::{AssignmentId, ErrorCode};
use folkmoot_storage::{AssignmentRecord, AssignmentRepository, ClientRecord};
pub use held::{
    Admitted, Aggregator, Held, HeldFacts, OfAssignment, WantedSum, of_assignment, rounds_that_ended,
    wanted_sums,
};
pub use organisation::check_organisation;
pub use report::report;
pub use rollout::{report_rollout, rollout_for};
pub use secure::{secure_message, secure_progress};
pub use upload::{
    Begun, UploadGuard, UploadRequest, begin_upload, finish_upload, refuse_upload, upload_status,
};

use crate::{coordinator::Coordinator, refusal::Refusal};

/// Finds an assignment of `client`. Other clients' assignments are reported as unknown.
async fn own_assignment(
    coordinator: &Coordinator,
    client: &ClientRecord,
    id: AssignmentId,
) -> Result<AssignmentRecord, Refusal> {
    let found = coordinator.storage.assignment(id).await?;
    found.filter(|assignment| assignment.client_id == client.id).ok_or_else(|| not_of_client(id))
}

fn not_of_client(id: AssignmentId) -> Refusal {
    Refusal::new(ErrorCode::AssignmentUnknown, format!("this client has no assignment {id}; check in again"))
}
