use std::time::Duration;

use folkmoot_protocol::{
    AssignmentId, UpdateDigest,
    limits::SECURE_BYTES_MAX,
    messages::{AbortRequest, AskResponse, ReportRequest, UploadStatus},
    secure::{SecureAnswered, SecureMessage, SecureProgress},
};
use reqwest::Method;

use super::{
    Transport, TransportError, UpdateSource,
    request::{CONTROL_SECONDS_MAX, Payload, Unsigned},
    response::{read_json, read_json_within},
};

/// The lowest upload speed in bytes per second. A slower upload is interrupted and resumed later.
const UPLOAD_BYTES_PER_SECOND_MIN: u64 = 8 * 1024;
/// The time, in seconds, that every upload may take in addition to the time that follows from its size.
const UPLOAD_SECONDS_MIN: u64 = 60;

impl Transport {
    /// Sends an update, starting at `offset`. `digest` is the digest of the whole update.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached, or the source is shorter than `length`.
    pub async fn upload(
        &self,
        assignment_id: AssignmentId,
        source: &UpdateSource,
        offset: u64,
        length: u64,
        digest: UpdateDigest,
    ) -> Result<UploadStatus, TransportError> {
        let rest = length.saturating_sub(offset);
        let timeout = Duration::from_secs(UPLOAD_SECONDS_MIN + rest / UPLOAD_BYTES_PER_SECOND_MIN);
        let unsigned = Unsigned {
            method: Method::PUT,
            path: &update_path(assignment_id),
            client: Some(self.enrolled_id()?),
            payload: Payload::Update { source, offset, length, digest },
            timeout: Some(timeout),
        };
        read_json(self.send(&unsigned).await?).await
    }

    /// Asks how much of an update has arrived.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn upload_status(&self, assignment_id: AssignmentId) -> Result<UploadStatus, TransportError> {
        let unsigned = Unsigned {
            method: Method::GET,
            path: &update_path(assignment_id),
            client: Some(self.enrolled_id()?),
            payload: Payload::Nothing { range_start: 0 },
            timeout: Some(Duration::from_secs(CONTROL_SECONDS_MAX)),
        };
        read_json(self.send(&unsigned).await?).await
    }

    /// Asks whether the coordinator wants a partial update now. Waits as long as `wait` says.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached, or the assignment is over.
    pub async fn listen(
        &self,
        assignment_id: AssignmentId,
        wait_seconds: u32,
    ) -> Result<AskResponse, TransportError> {
        let unsigned = Unsigned {
            method: Method::GET,
            path: &format!("/v1/assignments/{assignment_id}/ask?wait_seconds={wait_seconds}"),
            client: Some(self.enrolled_id()?),
            payload: Payload::Nothing { range_start: 0 },
            timeout: Some(Duration::from_secs(CONTROL_SECONDS_MAX + u64::from(wait_seconds))),
        };
        read_json(self.send(&unsigned).await?).await
    }

    /// Sends a message of secure aggregation.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn send_secure(
        &self,
        assignment_id: AssignmentId,
        message: &SecureMessage,
    ) -> Result<(), TransportError> {
        let path = format!("/v1/assignments/{assignment_id}/secure");
        self.post(&path, Some(self.enrolled_id()?), message, 0).await.map(drop)
    }

    /// Asks for the coordinator's answer to a step of secure aggregation. Waits as long as `wait` says.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached, or the assignment is over.
    pub async fn secure_progress(
        &self,
        assignment_id: AssignmentId,
        after: SecureAnswered,
        wait_seconds: u32,
    ) -> Result<SecureProgress, TransportError> {
        let after = after.name();
        let path =
            format!("/v1/assignments/{assignment_id}/secure?after={after}&wait_seconds={wait_seconds}");
        let unsigned = Unsigned {
            method: Method::GET,
            path: &path,
            client: Some(self.enrolled_id()?),
            payload: Payload::Nothing { range_start: 0 },
            timeout: Some(Duration::from_secs(CONTROL_SECONDS_MAX + u64::from(wait_seconds))),
        };
        read_json_within(self.send(&unsigned).await?, SECURE_BYTES_MAX).await
    }

    /// Reports the duration and size of the work.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn report(
        &self,
        assignment_id: AssignmentId,
        report: &ReportRequest,
    ) -> Result<(), TransportError> {
        let path = format!("/v1/assignments/{assignment_id}/report");
        self.post(&path, Some(self.enrolled_id()?), report, 0).await.map(drop)
    }

    /// Gives up an assignment.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached.
    pub async fn abort(
        &self,
        assignment_id: AssignmentId,
        abort: &AbortRequest,
    ) -> Result<(), TransportError> {
        let path = format!("/v1/assignments/{assignment_id}/abort");
        self.post(&path, Some(self.enrolled_id()?), abort, 0).await.map(drop)
    }
}

fn update_path(assignment_id: AssignmentId) -> String {
    format!("/v1/assignments/{assignment_id}/update")
}
