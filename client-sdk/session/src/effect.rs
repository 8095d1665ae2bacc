use folkmoot_protocol::{
    AssignmentId, Timestamp, UpdateDigest,
    messages::{AbortRequest, Artifact, Assignment, CheckInRequest, ReportRequest},
};
use serde::{Deserialize, Serialize};

/// Identifies one request of one session. Ids increase, which shows that an answer belongs to an older request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// One of the three kinds of blobs that an assignment needs, in the order in which they are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// The plan, as JSON.
    Plan,
    /// The ONNX model.
    Model,
    /// The weights of the base version.
    Weights,
}

/// A step of secure aggregation, as a client takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeStep {
    /// Advertise keys, and receive the roster.
    Keys,
    /// Send shares to the neighbours, and receive theirs. Then the update can be masked.
    Shares,
    /// After the upload: receive the survivors, and open the shares.
    Opening,
}

/// An action for the host. An effect with a [`RequestId`] expects an [`crate::Event::Answered`].
///
/// A host in another language reads it as JSON: `{"effect": "fetch", "value": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "effect", content = "value", rename_all = "snake_case")]
pub enum Effect {
    /// Store the session durably before performing the next effect.
    Persist,
    /// Deliver [`crate::Event::Wake`] to the session at this time. Replaces the previous alarm.
    WakeAt(Timestamp),
    /// `POST /v1/check-in`. Answer: [`crate::Answer::CheckIn`].
    CheckIn {
        /// The id of the request.
        request_id: RequestId,
        /// The body.
        request: CheckInRequest,
        /// The maximum time, in seconds, for which the coordinator may hold the request until it has an assignment.
        wait_seconds: u32,
    },
    /// Make sure that this blob is in the cache and verified. Answer: [`crate::Answer::Fetch`], or
    /// [`crate::Answer::WorkFailed`] if that is impossible or the host declines the plan.
    Fetch {
        /// The request's id.
        request_id: RequestId,
        /// The kind of blob.
        kind: ArtifactKind,
        /// The digest and the size of the blob.
        artifact: Artifact,
    },
    /// Fetch this blob into the cache if that is cheap now, because an assignment may need it. Expects no answer, and
    /// failures do not matter. A new prefetch replaces the previous one, and a stop cancels it.
    Prefetch {
        /// The digest and the size of the blob.
        artifact: Artifact,
    },
    /// Carry out the plan: evaluate, or train from this assignment's checkpoint if there is one. Answer:
    /// [`crate::Answer::Trained`] or [`crate::Answer::WorkFailed`].
    Train {
        /// The request's id.
        request_id: RequestId,
        /// The assignment, whose three blobs are in the cache.
        assignment: Assignment,
    },
    /// `GET /v1/assignments/{id}/ask`, in parallel to the training. Answer: [`crate::Answer::Ask`].
    Listen {
        /// The request's id.
        request_id: RequestId,
        /// The assignment that is being trained.
        assignment_id: AssignmentId,
        /// The maximum time, in seconds, for which the coordinator may hold the request.
        wait_seconds: u32,
    },
    /// End the training after the current step, but not before its first, and keep the weights so far, because the
    /// round waits for the update. The answer is the same as to [`Effect::Train`]. A training that cannot end early
    /// continues.
    FinishEarly {
        /// The id of the training's request.
        request_id: RequestId,
    },
    /// Take one step of secure aggregation: send the client's message, and wait for the coordinator's answer. Answer:
    /// [`crate::Answer::Exchanged`] or [`crate::Answer::WorkFailed`].
    #[cfg_attr(not(feature = "secure-aggregation"), serde(skip))]
    Exchange {
        /// The request's id.
        request_id: RequestId,
        /// The assignment that was trained.
        assignment: Assignment,
        /// The step.
        step: ExchangeStep,
    },
    /// Clip, compress and encode the result of the training, and store the bytes durably. Answer:
    /// [`crate::Answer::Prepared`] or [`crate::Answer::WorkFailed`].
    Prepare {
        /// The request's id.
        request_id: RequestId,
        /// The assignment that was trained.
        assignment: Assignment,
    },
    /// `GET /v1/assignments/{id}/update`. Answer: [`crate::Answer::Upload`], or
    /// [`crate::Answer::UpdateLost`] if the bytes are gone.
    QueryUpload {
        /// The request's id.
        request_id: RequestId,
        /// The assignment of the update.
        assignment_id: AssignmentId,
    },
    /// `PUT /v1/assignments/{id}/update`. Answer: [`crate::Answer::Upload`], or
    /// [`crate::Answer::UpdateLost`] if the bytes are gone.
    Upload {
        /// The request's id.
        request_id: RequestId,
        /// The assignment of the update.
        assignment_id: AssignmentId,
        /// The first byte to send.
        offset: u64,
        /// The size of the whole update in bytes.
        length: u64,
        /// The digest of the whole update.
        digest: UpdateDigest,
    },
    /// `POST /v1/assignments/{id}/report`: the update was accepted. Answer: [`crate::Answer::Report`].
    SendReport {
        /// The request's id.
        request_id: RequestId,
        /// The assignment whose update was accepted.
        assignment_id: AssignmentId,
        /// The body.
        report: ReportRequest,
    },
    /// `POST /v1/assignments/{id}/abort`. Answer: [`crate::Answer::Abort`].
    SendAbort {
        /// The request's id.
        request_id: RequestId,
        /// The assignment to give up.
        assignment_id: AssignmentId,
        /// The body.
        abort: AbortRequest,
    },
    /// Cancel this request: a training, a transfer or a poll. No answer is expected any more.
    Cancel {
        /// The request's id.
        request_id: RequestId,
    },
    /// Delete the checkpoint and the update of this assignment. This effect may be repeated after the files are gone.
    Forget {
        /// The assignment.
        assignment_id: AssignmentId,
        /// True if the coordinator accepted the assignment's update. If so, first make the update's residual the task's
        /// memory. `None` if this is unknown. Then delete the task's memory, because parts of the update may have
        /// arrived.
        was_accepted: Option<bool>,
    },
}

impl Effect {
    /// Returns the id that the answer must repeat, if an answer is expected.
    pub fn request_id(&self) -> Option<RequestId> {
        match self {
            Effect::CheckIn { request_id, .. }
            | Effect::Fetch { request_id, .. }
            | Effect::Train { request_id, .. }
            | Effect::Listen { request_id, .. }
            | Effect::Exchange { request_id, .. }
            | Effect::Prepare { request_id, .. }
            | Effect::QueryUpload { request_id, .. }
            | Effect::Upload { request_id, .. }
            | Effect::SendReport { request_id, .. }
            | Effect::SendAbort { request_id, .. } => Some(*request_id),
            Effect::Persist
            | Effect::WakeAt(_)
            | Effect::Prefetch { .. }
            | Effect::FinishEarly { .. }
            | Effect::Cancel { .. }
            | Effect::Forget { .. } => None,
        }
    }
}
