use folkmoot_protocol::{
    UpdateDigest,
    messages::{AbortReason, AskResponse, CheckInResponse, UploadStatus},
};

use serde::{Deserialize, Serialize};

use crate::{Failure, RequestId};

/// An input of the session.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time, for the length of a step")]
pub enum Event {
    /// The process has started, for the first time or again. No earlier request is running any more.
    Started,
    /// The alarm of [`crate::Effect::WakeAt`] fired.
    Wake,
    /// A request was answered or failed.
    Answered {
        /// The id of the request.
        request_id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// The device no longer meets the conditions. Step [`Event::Started`] when it meets them again.
    ConditionsEnded,
    /// The app or its user wants to stop. To continue later, step [`Event::Started`].
    StopRequested,
}

/// The answer to a request. A host in another language writes it as JSON.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "one lives at a time, for the length of a step")]
pub enum Answer {
    /// Answers [`crate::Effect::CheckIn`].
    CheckIn(Result<CheckInResponse, Failure>),
    /// Answers [`crate::Effect::Fetch`] with the number of bytes downloaded, 0 if all of the blob was in the cache.
    Fetch(Result<u64, Failure>),
    /// Answers [`crate::Effect::Listen`].
    Ask(Result<AskResponse, Failure>),
    /// Answers [`crate::Effect::Train`]: the training or evaluation is complete, or ended early as requested.
    Trained,
    /// Answers [`crate::Effect::Fetch`], [`crate::Effect::Train`], [`crate::Effect::Exchange`] or
    /// [`crate::Effect::Prepare`]: the work is impossible, or the host declines it.
    WorkFailed {
        /// The reason.
        reason: AbortReason,
        /// Details for people to read. Never contains the user's data.
        detail: String,
    },
    /// Answers [`crate::Effect::Exchange`].
    #[cfg_attr(not(feature = "secure-aggregation"), serde(skip))]
    Exchanged(Result<Exchanged, Failure>),
    /// Answers [`crate::Effect::Prepare`]: the update is stored durably.
    Prepared {
        /// The digest of the update's bytes.
        digest: UpdateDigest,
        /// The size of the update in bytes.
        length: u64,
    },
    /// Answers [`crate::Effect::QueryUpload`] or [`crate::Effect::Upload`].
    Upload(Result<UploadStatus, Failure>),
    /// Answers [`crate::Effect::QueryUpload`] or [`crate::Effect::Upload`]: the stored bytes are missing or damaged.
    UpdateLost,
    /// Answers [`crate::Effect::SendReport`].
    Report(Result<(), Failure>),
    /// Answers [`crate::Effect::SendAbort`].
    Abort(Result<(), Failure>),
}

/// The result of a step of secure aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exchanged {
    /// The step is complete.
    Completed,
    /// The message was sent, but the coordinator has no answer yet.
    Waiting,
}

impl Event {
    /// Creates the answer to a request.
    pub fn answered(request_id: RequestId, answer: Answer) -> Self {
        Event::Answered { request_id, answer }
    }

    /// Returns the event's name, for errors and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started => "started",
            Event::Wake => "wake",
            Event::ConditionsEnded => "conditions_ended",
            Event::StopRequested => "stop_requested",
            Event::Answered { answer, .. } => match answer {
                Answer::CheckIn(_) => "check_in_answered",
                Answer::Fetch(_) => "fetched",
                Answer::Ask(_) => "ask_answered",
                Answer::Trained => "trained",
                Answer::WorkFailed { .. } => "work_failed",
                Answer::Exchanged(_) => "exchanged",
                Answer::Prepared { .. } => "prepared",
                Answer::Upload(_) => "upload_answered",
                Answer::UpdateLost => "update_lost",
                Answer::Report(_) => "report_answered",
                Answer::Abort(_) => "abort_answered",
            },
        }
    }
}
