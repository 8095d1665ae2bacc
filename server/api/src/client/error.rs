use folkmoot_client::TransportError;
use folkmoot_protocol::{Disposition, ErrorCode, Problem};

/// Why an administrative request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The coordinator refused.
    #[error("{}: {}", .0.code, .0.detail)]
    Refused(Box<Problem>),
    /// The coordinator could not be reached, or went away.
    #[error("the coordinator does not answer: {}", with_causes(.0))]
    Unreachable(#[from] reqwest::Error),
    /// The answer is not one of a coordinator that this build knows.
    #[error("the answer of {place} cannot be read (status {status}): {detail}")]
    Answer {
        /// Who answered.
        place: String,
        /// The HTTP status.
        status: u16,
        /// What is wrong.
        detail: String,
    },
    /// The address cannot be used.
    #[error(
        "`{0}` is no address of a coordinator: https://HOST[:PORT] is expected, or http:// on this machine"
    )]
    Address(String),
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] TransportError),
}

impl AdminError {
    /// Returns what to do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            AdminError::Refused(problem) => return remedy_of(problem),
            AdminError::Unreachable(error) if error.is_timeout() => {
                "is the coordinator overloaded? try again"
            }
            AdminError::Unreachable(_) => "is `folkmoot serve` running, and do --url and --ca belong to it?",
            AdminError::Answer { .. } => "does --url lead to a coordinator of the same version?",
            AdminError::Address(_) | AdminError::Certificate(_) => "look at --url and --ca",
        };
        Some(remedy.into())
    }

    /// Returns the stable code, if the coordinator refused with one that this build knows.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            AdminError::Refused(problem) => problem.code.known(),
            _ => None,
        }
    }
}

fn remedy_of(problem: &Problem) -> Option<String> {
    let remedy = match problem.code.known() {
        Some(ErrorCode::ApiKeyMissing | ErrorCode::ApiKeyInvalid) => {
            "give a key with --api-key or FOLKMOOT_API_KEY; `folkmoot key create` makes one"
        }
        Some(ErrorCode::RoleInsufficient) => "ask an admin for a key with that role",
        Some(ErrorCode::TaskInvalid) => "change the description and create the task again",
        Some(ErrorCode::TaskUnknown) => "`folkmoot task list` shows the tasks",
        Some(ErrorCode::RoundUnknown) => "`folkmoot task rounds TASK` shows a task's rounds",
        Some(ErrorCode::ModelVersionUnknown) => "`folkmoot model list TASK` shows a task's versions",
        Some(ErrorCode::TaskStateConflict) => "`folkmoot task show TASK` shows where it stands",
        Some(ErrorCode::ModelInvalid) => "export the model again with what the detail asks for",
        _ if problem.disposition == Disposition::Retry => "try again in a while",
        None => "the coordinator is newer than this program, which does not know this code: take its version",
        _ => return None,
    };
    Some(remedy.into())
}

/// Joins an error and what caused it: `reqwest` and others keep the interesting part below.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
