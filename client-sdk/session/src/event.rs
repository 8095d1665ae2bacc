use folkmoot_protocol::{
    UpdateDigest,
    messages::{AbortReason, AskResponse, CheckInResponse, UploadStatus},
};

use serde::Deserialize;

use crate::{Failure, RequestId};

/// Something that happened to the client.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time, for the length of a step")]
pub enum Event {
    /// The process has started, for the first time or again; whatever was running before is not any more.
    Started,
    /// The alarm of [`crate::Effect::WakeAt`] rang.
    Wake,
    /// A request was answered, or failed.
    Answered {
        /// The id that the effect had.
        request_id: RequestId,
        /// What came of it.
        answer: Answer,
    },
    /// The device no longer meets the conditions; step [`Event::Started`] when it does again.
    ConditionsEnded,
    /// The app or its user wants it to stop; [`Event::Started`] begins again.
    StopRequested,
}

/// What came of a request. A host in another language writes it as JSON.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "one lives at a time, for the length of a step")]
pub enum Answer {
    /// Of [`crate::Effect::CheckIn`].
    CheckIn(Result<CheckInResponse, Failure>),
    /// Of [`crate::Effect::Fetch`]: the bytes that had to be fetched, 0 if all of it was in the cache.
    Fetch(Result<u64, Failure>),
    /// Of [`crate::Effect::Listen`].
    Ask(Result<AskResponse, Failure>),
    /// Of [`crate::Effect::Train`]: the training or the evaluation is complete, or as far as it was to go.
    Trained,
    /// Of [`crate::Effect::Fetch`], [`crate::Effect::Train`] and [`crate::Effect::Prepare`]: it can never be done, or is
    /// not to be done here.
    WorkFailed {
        /// Why.
        reason: AbortReason,
        /// More for humans; never data of the user's.
        detail: String,
    },
    /// Of [`crate::Effect::Prepare`]: the update is stored durably.
    Prepared {
        /// The digest of its bytes.
        digest: UpdateDigest,
        /// The number of its bytes.
        length: u64,
    },
    /// Of [`crate::Effect::QueryUpload`] and [`crate::Effect::Upload`].
    Upload(Result<UploadStatus, Failure>),
    /// Of [`crate::Effect::QueryUpload`] and [`crate::Effect::Upload`]: the stored bytes are gone or damaged.
    UpdateLost,
    /// Of [`crate::Effect::SendReport`].
    Report(Result<(), Failure>),
    /// Of [`crate::Effect::SendAbort`].
    Abort(Result<(), Failure>),
}

impl Event {
    /// Makes the answer to a request.
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
                Answer::Prepared { .. } => "prepared",
                Answer::Upload(_) => "upload_answered",
                Answer::UpdateLost => "update_lost",
                Answer::Report(_) => "report_answered",
                Answer::Abort(_) => "abort_answered",
            },
        }
    }
}
