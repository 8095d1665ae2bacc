use folkmoot_protocol::{
    AssignmentId, ErrorCode, Timestamp, UpdateDigest,
    messages::{AbortRequest, Assignment, ReportRequest},
};
use serde::{Deserialize, Serialize};

use crate::{ArtifactKind, ExchangeStep, RequestId};

/// The state of a session. Each variant holds the data that exists only in that state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// The client waits for its next check-in.
    Idle {
        /// The time of the next check-in.
        check_in_at: Timestamp,
    },
    /// A check-in is in progress.
    CheckedIn {
        /// The id of the check-in's request.
        request_id: RequestId,
        /// The number of failures in a row before this request.
        failures: u32,
    },
    /// An assignment arrived and its blobs are being fetched.
    Assigned {
        /// The id of the fetch's request.
        request_id: RequestId,
        /// The number of failures in a row before this request.
        failures: u32,
        /// The blob that is being fetched.
        fetching: Fetching,
    },
    /// The model is being trained.
    Training {
        /// The id of the training's request.
        request_id: RequestId,
        /// The assignment.
        work: Work,
        /// The time at which this training was started or last resumed.
        started_at: Timestamp,
        /// The requests by which the training learns that the coordinator wants a partial update.
        #[serde(default)]
        listening: Listening,
    },
    /// The client takes a step of secure aggregation.
    #[cfg_attr(not(feature = "secure-aggregation"), serde(skip))]
    Exchanging {
        /// The id of the step's request.
        request_id: RequestId,
        /// The number of failures in a row before this request.
        failures: u32,
        /// The step.
        exchanging: Exchanging,
    },
    /// The update is being built from the training's result.
    Preparing {
        /// The id of the preparation's request.
        request_id: RequestId,
        /// The assignment.
        work: Work,
        /// The duration of the training.
        training_milliseconds: u64,
    },
    /// The update is being sent.
    Uploading {
        /// The id of the query's or the upload's request.
        request_id: RequestId,
        /// The number of failures in a row before this request.
        failures: u32,
        /// The upload.
        uploading: Uploading,
    },
    /// The update was accepted, and the report is being sent.
    Done {
        /// The id of the report's request.
        request_id: RequestId,
        /// The assignment whose update was accepted.
        assignment_id: AssignmentId,
        /// The report.
        report: ReportRequest,
    },
    /// The assignment was given up, and the coordinator is being notified.
    Aborting {
        /// The id of the abort's request.
        request_id: RequestId,
        /// The number of failures in a row before this request.
        failures: u32,
        /// The abort.
        aborting: Aborting,
    },
    /// A request failed and will be sent again.
    BackingOff {
        /// The time of the next attempt.
        until: Timestamp,
        /// The number of failures in a row so far.
        failures: u32,
        /// The request to repeat.
        resume: Resume,
    },
    /// Nothing happens until [`crate::Event::Started`].
    Stopped {
        /// The reason.
        cause: StopCause,
    },
}

/// The state of the requests by which a training learns that the coordinator wants a partial update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "listening", rename_all = "snake_case")]
pub enum Listening {
    /// There are no requests: the assignment does not allow the coordinator to ask.
    #[default]
    Not,
    /// A request waits for the coordinator's answer.
    Waiting {
        /// The id of the request.
        request_id: RequestId,
        /// The number of failures in a row before this request.
        failures: u32,
    },
    /// The next request is sent later.
    BackingOff {
        /// The time of the next request.
        until: Timestamp,
        /// The number of failures in a row so far; 0 after an answer.
        failures: u32,
    },
    /// The coordinator asked for a partial update, and the host ends the training.
    Asked,
}

/// A request that is repeated after a back-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "resume", rename_all = "snake_case")]
pub enum Resume {
    /// The check-in.
    CheckIn,
    /// The fetch of a blob.
    Fetch(Fetching),
    /// A step of secure aggregation.
    #[cfg_attr(not(feature = "secure-aggregation"), serde(skip))]
    Exchange(Exchanging),
    /// The query or the upload of an update.
    Upload(Uploading),
    /// The abort.
    Abort(Aborting),
}

/// An assignment, with the session's own data about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The coordinator's message.
    pub assignment: Assignment,
    /// The deadline, by the client's own clock.
    pub deadline: Timestamp,
    /// The number of bytes downloaded for the assignment so far.
    pub download_bytes: u64,
}

/// An assignment whose blobs are being fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fetching {
    /// The assignment.
    pub work: Work,
    /// The kind of the blob being fetched. Blobs of earlier kinds are in the cache.
    pub kind: ArtifactKind,
    /// The index of the part being fetched, if the weights come in parts.
    #[serde(default)]
    pub part: usize,
}

/// An assignment whose client takes a step of secure aggregation.
#[cfg(feature = "secure-aggregation")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Exchanging {
    /// The client advertises keys. The result of the training is only in memory.
    Keys {
        /// The assignment.
        work: Work,
        /// The duration of the training.
        training_milliseconds: u64,
    },
    /// The client shares secrets. The result of the training is only in memory.
    Shares {
        /// The assignment.
        work: Work,
        /// The duration of the training.
        training_milliseconds: u64,
    },
    /// The update was accepted, and the client opens the shares that the coordinator needs.
    Opening {
        /// The upload.
        uploading: Uploading,
    },
}

#[cfg(feature = "secure-aggregation")]
impl Exchanging {
    /// Returns the assignment.
    pub fn work(&self) -> &Work {
        match self {
            Exchanging::Keys { work, .. } | Exchanging::Shares { work, .. } => work,
            Exchanging::Opening { uploading } => &uploading.work,
        }
    }

    /// Returns the step.
    pub fn step(&self) -> ExchangeStep {
        match self {
            Exchanging::Keys { .. } => ExchangeStep::Keys,
            Exchanging::Shares { .. } => ExchangeStep::Shares,
            Exchanging::Opening { .. } => ExchangeStep::Opening,
        }
    }
}

/// Never exists in a build without the feature `secure-aggregation`, which refuses plans that demand masked updates. The
/// code for it would make the small modules for browsers larger.
#[cfg(not(feature = "secure-aggregation"))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Exchanging {}

#[cfg(not(feature = "secure-aggregation"))]
impl Exchanging {
    /// Returns the assignment.
    pub fn work(&self) -> &Work {
        match *self {}
    }

    /// Returns the step.
    pub fn step(&self) -> ExchangeStep {
        match *self {}
    }
}

/// A prepared update, which the host has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedUpdate {
    /// The digest of the update's bytes.
    pub digest: UpdateDigest,
    /// The size of the update in bytes.
    pub length: u64,
}

/// An assignment whose update is being sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uploading {
    /// The assignment.
    pub work: Work,
    /// The only update that this assignment will ever get.
    pub update: PreparedUpdate,
    /// The current or next request of the upload.
    pub phase: UploadPhase,
    /// The duration of the training.
    pub training_milliseconds: u64,
    /// The number of bytes that have arrived so far, including bytes that were sent again.
    pub upload_bytes: u64,
    /// The number of received bytes that the coordinator last reported.
    #[serde(default)]
    pub acknowledged_bytes: u64,
    /// The number of times that the coordinator computed a digest that differs from the announced one.
    pub digest_mismatches: u32,
}

/// The two requests of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum UploadPhase {
    /// Ask how many bytes the coordinator has.
    Asking,
    /// Send the remaining bytes.
    Sending {
        /// The first byte to send.
        offset: u64,
    },
}

/// An assignment that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aborting {
    /// The assignment.
    pub assignment_id: AssignmentId,
    /// The message to the coordinator.
    pub abort: AbortRequest,
    /// The next action.
    pub then: AfterAbort,
}

/// The action after an abort.
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
    /// The app or its user requested it.
    Requested,
    /// The device no longer meets the conditions.
    ConditionsEnded,
    /// The coordinator said that a person or an app update must change something first.
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
            State::Exchanging { .. } => "exchanging",
            State::Preparing { .. } => "preparing",
            State::Uploading { .. } => "uploading",
            State::Done { .. } => "done",
            State::Aborting { .. } => "aborting",
            State::BackingOff { .. } => "backing_off",
            State::Stopped { .. } => "stopped",
        }
    }

    /// Returns the id of the request whose answer the state waits for.
    pub fn request_id(&self) -> Option<RequestId> {
        match self {
            State::CheckedIn { request_id, .. }
            | State::Assigned { request_id, .. }
            | State::Training { request_id, .. }
            | State::Exchanging { request_id, .. }
            | State::Preparing { request_id, .. }
            | State::Uploading { request_id, .. }
            | State::Done { request_id, .. }
            | State::Aborting { request_id, .. } => Some(*request_id),
            State::Idle { .. } | State::BackingOff { .. } | State::Stopped { .. } => None,
        }
    }

    /// Returns the id of the request by which a training listens, in addition to the training's own request.
    pub fn listening_id(&self) -> Option<RequestId> {
        match self {
            State::Training { listening: Listening::Waiting { request_id, .. }, .. } => Some(*request_id),
            _ => None,
        }
    }

    /// Returns the current assignment.
    pub fn work(&self) -> Option<&Work> {
        match self {
            State::Assigned { fetching, .. } => Some(&fetching.work),
            State::Training { work, .. } | State::Preparing { work, .. } => Some(work),
            State::Exchanging { exchanging, .. } => Some(exchanging.work()),
            State::Uploading { uploading, .. } => Some(&uploading.work),
            State::BackingOff { resume: Resume::Fetch(fetching), .. } => Some(&fetching.work),
            State::BackingOff { resume: Resume::Exchange(exchanging), .. } => Some(exchanging.work()),
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

    /// Returns the time at which the state must be woken, for the deadline or for a retry.
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
