use folkmoot_protocol::{
    AssignmentId, Timestamp, UpdateDigest,
    messages::{AbortRequest, Artifact, Assignment, CheckInRequest, ReportRequest},
};
use serde::{Deserialize, Serialize};

/// Names one request of one session. Ids grow, so an answer to an older request is known by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// One of the three blobs that an assignment needs, in the order in which they are fetched.
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

/// Something that the host is to do. One that carries a [`RequestId`] wants an [`crate::Event::Answered`].
///
/// A host in another language reads it as JSON: `{"effect": "fetch", "value": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "effect", content = "value", rename_all = "snake_case")]
pub enum Effect {
    /// Store the session durably before performing what follows.
    Persist,
    /// Step [`crate::Event::Wake`] at this moment. Replaces the alarm before.
    WakeAt(Timestamp),
    /// `POST /v1/check-in`. Answer: [`crate::Answer::CheckIn`].
    CheckIn {
        /// The request's id.
        request_id: RequestId,
        /// The body.
        request: CheckInRequest,
        /// How long the coordinator may hold the request until it has an assignment.
        wait_seconds: u32,
    },
    /// Have this blob in the cache, verified. Answer: [`crate::Answer::Fetch`], or
    /// [`crate::Answer::WorkFailed`] if it never can be there, or what the plan says is not to be done.
    Fetch {
        /// The request's id.
        request_id: RequestId,
        /// Which of the three it is.
        kind: ArtifactKind,
        /// Its digest and size.
        artifact: Artifact,
    },
    /// Have this blob in the cache if that is cheap now: an assignment may need it. No answer is wanted, and whether it
    /// comes does not matter. One replaces the one before, and a stop ends it.
    Prefetch {
        /// Its digest and size.
        artifact: Artifact,
    },
    /// Do the work of the plan: train, from this assignment's checkpoint if there is one, or evaluate. Answer:
    /// [`crate::Answer::Trained`] or [`crate::Answer::WorkFailed`].
    Train {
        /// The request's id.
        request_id: RequestId,
        /// What to train; all three blobs have been fetched.
        assignment: Assignment,
    },
    /// `GET /v1/assignments/{id}/ask`, beside the training. Answer: [`crate::Answer::Ask`].
    Listen {
        /// The request's id.
        request_id: RequestId,
        /// What is trained.
        assignment_id: AssignmentId,
        /// How long the coordinator may hold the request.
        wait_seconds: u32,
    },
    /// End the training after the step under way, or after its first, with what it has: the round waits for it. The answer
    /// is that of [`Effect::Train`]. A training that cannot end early goes on.
    FinishEarly {
        /// The id that the training's request has.
        request_id: RequestId,
    },
    /// Clip, compress and encode what was trained, and store the bytes durably. Answer:
    /// [`crate::Answer::Prepared`] or [`crate::Answer::WorkFailed`].
    Prepare {
        /// The request's id.
        request_id: RequestId,
        /// What was trained.
        assignment: Assignment,
    },
    /// `GET /v1/assignments/{id}/update`. Answer: [`crate::Answer::Upload`], or
    /// [`crate::Answer::UpdateLost`] if the bytes are gone.
    QueryUpload {
        /// The request's id.
        request_id: RequestId,
        /// Whose update.
        assignment_id: AssignmentId,
    },
    /// `PUT /v1/assignments/{id}/update`. Answer: [`crate::Answer::Upload`], or
    /// [`crate::Answer::UpdateLost`] if the bytes are gone.
    Upload {
        /// The request's id.
        request_id: RequestId,
        /// Whose update.
        assignment_id: AssignmentId,
        /// The first byte to send.
        offset: u64,
        /// The bytes of the whole update.
        length: u64,
        /// The digest of the whole update.
        digest: UpdateDigest,
    },
    /// `POST /v1/assignments/{id}/report`: the update was accepted. Answer: [`crate::Answer::Report`].
    SendReport {
        /// The request's id.
        request_id: RequestId,
        /// Whose update was accepted.
        assignment_id: AssignmentId,
        /// The body.
        report: ReportRequest,
    },
    /// `POST /v1/assignments/{id}/abort`. Answer: [`crate::Answer::Abort`].
    SendAbort {
        /// The request's id.
        request_id: RequestId,
        /// What is given up.
        assignment_id: AssignmentId,
        /// The body.
        abort: AbortRequest,
    },
    /// Stop whatever this request began: a training, a transfer, a poll. No answer is wanted any more.
    Cancel {
        /// The request's id.
        request_id: RequestId,
    },
    /// Delete the checkpoint and the update of this assignment. It may come again for one of which nothing is left.
    Forget {
        /// Whose.
        assignment_id: AssignmentId,
        /// Whether the coordinator has accepted its update: then what the update left out first becomes the task's memory. `None`
        /// if that is not known: then the task's memory goes, since some of it may have arrived.
        was_accepted: Option<bool>,
    },
}

impl Effect {
    /// Returns the id that the answer has to repeat, if an answer is wanted.
    pub fn request_id(&self) -> Option<RequestId> {
        match self {
            Effect::CheckIn { request_id, .. }
            | Effect::Fetch { request_id, .. }
            | Effect::Train { request_id, .. }
            | Effect::Listen { request_id, .. }
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
