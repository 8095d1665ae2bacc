use folkmoot_protocol::{
    AssignmentId, ErrorCode, Timestamp, UpdateDigest,
    messages::{AbortRequest, Assignment, ReportRequest},
};
use serde::{Deserialize, Serialize};

use crate::{ArtifactKind, RequestId};

/// Where a session stands. What exists only in one state lives in that state's variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nothing is to be done before the next check-in.
    Idle {
        /// When that is.
        check_in_at: Timestamp,
    },
    /// A check-in is under way.
    CheckedIn {
        /// The check-in.
        request_id: RequestId,
        /// Failures in a row before it.
        failures: u32,
    },
    /// An assignment came; its blobs are being fetched.
    Assigned {
        /// The fetch.
        request_id: RequestId,
        /// Failures in a row before it.
        failures: u32,
        /// What is fetched.
        fetching: Fetching,
    },
    /// The model is being trained.
    Training {
        /// The training.
        request_id: RequestId,
        /// The assignment.
        work: Work,
        /// When this training began, or was last resumed.
        started_at: Timestamp,
        /// How the training learns that a partial update is wanted.
        #[serde(default)]
        listening: Listening,
    },
    /// The update is being made from what was trained.
    Preparing {
        /// The preparation.
        request_id: RequestId,
        /// The assignment.
        work: Work,
        /// How long the training took.
        training_milliseconds: u64,
    },
    /// The update is on its way.
    Uploading {
        /// The query or upload.
        request_id: RequestId,
        /// Failures in a row before it.
        failures: u32,
        /// What is uploaded.
        uploading: Uploading,
    },
    /// The update was accepted; the report is being sent.
    Done {
        /// The report.
        request_id: RequestId,
        /// Whose update was accepted.
        assignment_id: AssignmentId,
        /// What is reported.
        report: ReportRequest,
    },
    /// The assignment was given up; the coordinator is being told.
    Aborting {
        /// The abort.
        request_id: RequestId,
        /// Failures in a row before it.
        failures: u32,
        /// What is given up.
        aborting: Aborting,
    },
    /// A request failed and will be sent again.
    BackingOff {
        /// When.
        until: Timestamp,
        /// Failures in a row so far.
        failures: u32,
        /// What.
        resume: Resume,
    },
    /// Nothing will happen until [`crate::Event::Started`].
    Stopped {
        /// Why.
        cause: StopCause,
    },
}

/// How a training learns that the coordinator wants a partial update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "listening", rename_all = "snake_case")]
pub enum Listening {
    /// It does not: the assignment does not say that it may be asked.
    #[default]
    Not,
    /// A request waits.
    Waiting {
        /// The request.
        request_id: RequestId,
        /// Failures in a row before it.
        failures: u32,
    },
    /// The next request is sent later.
    BackingOff {
        /// When.
        until: Timestamp,
        /// Failures in a row so far; 0 after an answer.
        failures: u32,
    },
    /// It was asked: the host ends the training.
    Asked,
}

/// What is sent again after a back-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "resume", rename_all = "snake_case")]
pub enum Resume {
    /// The check-in.
    CheckIn,
    /// The fetch of a blob.
    Fetch(Fetching),
    /// The query or the upload of an update.
    Upload(Uploading),
    /// The abort.
    Abort(Aborting),
}

/// An assignment and what is known about it here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// What the coordinator said.
    pub assignment: Assignment,
    /// The deadline, by this client's own clock.
    pub deadline: Timestamp,
    /// Bytes fetched for it so far.
    pub download_bytes: u64,
}

/// An assignment of which a blob is being fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fetching {
    /// The assignment.
    pub work: Work,
    /// Which blob; those before it are there.
    pub kind: ArtifactKind,
    /// Which part of the weights, where they come in parts.
    #[serde(default)]
    pub part: usize,
}

/// An update that was prepared and is stored at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedUpdate {
    /// The digest of its bytes.
    pub digest: UpdateDigest,
    /// The number of its bytes.
    pub length: u64,
}

/// An assignment whose update is on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uploading {
    /// The assignment.
    pub work: Work,
    /// The one update that this assignment will ever get.
    pub update: PreparedUpdate,
    /// What the request under way, or the next one, does.
    pub phase: UploadPhase,
    /// How long the training took.
    pub training_milliseconds: u64,
    /// Bytes that have arrived so far, with what had to arrive again.
    pub upload_bytes: u64,
    /// The bytes that the coordinator has last said to have.
    #[serde(default)]
    pub acknowledged_bytes: u64,
    /// How often the coordinator saw another digest than was announced.
    pub digest_mismatches: u32,
}

/// The two requests of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum UploadPhase {
    /// Ask how much the coordinator has.
    Asking,
    /// Send the rest.
    Sending {
        /// The first byte to send.
        offset: u64,
    },
}

/// An assignment that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aborting {
    /// Which.
    pub assignment_id: AssignmentId,
    /// What the coordinator is told.
    pub abort: AbortRequest,
    /// What comes next.
    pub then: AfterAbort,
}

/// What comes after an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterAbort {
    /// Check in again.
    CheckIn,
    /// Stop.
    Stop(StopCause),
}

/// Why a session stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The app or its user wanted it.
    Requested,
    /// The device no longer meets the conditions.
    ConditionsEnded,
    /// The coordinator said that a human or an app update must change something first.
    Refused(Option<ErrorCode>),
}

impl State {
    /// Returns the state's name, for errors and traces.
    pub fn name(&self) -> &'static str {
        match self {
            State::Idle { .. } => "idle",
            State::CheckedIn { .. } => "checked_in",
            State::Assigned { .. } => "assigned",
            State::Training { .. } => "training",
            State::Preparing { .. } => "preparing",
            State::Uploading { .. } => "uploading",
            State::Done { .. } => "done",
            State::Aborting { .. } => "aborting",
            State::BackingOff { .. } => "backing_off",
            State::Stopped { .. } => "stopped",
        }
    }

    /// Returns the request whose answer the state waits for.
    pub fn request_id(&self) -> Option<RequestId> {
        match self {
            State::CheckedIn { request_id, .. }
            | State::Assigned { request_id, .. }
            | State::Training { request_id, .. }
            | State::Preparing { request_id, .. }
            | State::Uploading { request_id, .. }
            | State::Done { request_id, .. }
            | State::Aborting { request_id, .. } => Some(*request_id),
            State::Idle { .. } | State::BackingOff { .. } | State::Stopped { .. } => None,
        }
    }

    /// Returns the request by which a training listens, beside its own.
    pub fn listening_id(&self) -> Option<RequestId> {
        match self {
            State::Training { listening: Listening::Waiting { request_id, .. }, .. } => Some(*request_id),
            _ => None,
        }
    }

    /// Returns the assignment that is being worked on.
    pub fn work(&self) -> Option<&Work> {
        match self {
            State::Assigned { fetching, .. } => Some(&fetching.work),
            State::Training { work, .. } | State::Preparing { work, .. } => Some(work),
            State::Uploading { uploading, .. } => Some(&uploading.work),
            State::BackingOff { resume: Resume::Fetch(fetching), .. } => Some(&fetching.work),
            State::BackingOff { resume: Resume::Upload(uploading), .. } => Some(&uploading.work),
            _ => None,
        }
    }

    /// Returns the assignment whose files the host must not delete yet.
    pub fn assignment_id(&self) -> Option<AssignmentId> {
        match self {
            State::Done { assignment_id, .. } => Some(*assignment_id),
            _ => self.work().map(|work| work.assignment.assignment_id),
        }
    }

    /// Returns when the state has to be woken: for the deadline, or to send something again.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let deadline = self.work().map(|work| work.deadline);
        match self {
            State::Idle { check_in_at } => Some(*check_in_at),
            State::BackingOff { until, .. }
            | State::Training { listening: Listening::BackingOff { until, .. }, .. } => {
                Some(deadline.map_or(*until, |deadline| deadline.min(*until)))
            }
            _ => deadline,
        }
    }
}
