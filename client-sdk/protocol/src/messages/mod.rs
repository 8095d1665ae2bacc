//! The JSON messages, with one file per endpoint. Unknown fields are refused.

mod abort;
mod ask;
mod check_in;
mod enrol;
mod protection_level;
mod report;
mod rollout;
mod upload;

pub use abort::{AbortReason, AbortRequest};
pub use ask::AskResponse;
pub use check_in::{Artifact, Assignment, CheckInRequest, CheckInResponse, WEIGHTS_PARTS_MAX};
pub use enrol::{EnrolRequest, EnrolResponse};
pub use protection_level::ProtectionLevel;
pub use report::ReportRequest;
pub use rollout::{Rollout, RolloutReport, RolloutResponse};
pub use upload::{UploadState, UploadStatus};
