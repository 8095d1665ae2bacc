use folkmoot_client::TransportError;
use folkmoot_protocol::{Disposition, ErrorCode, Problem};

/// The reason why an administrative request failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The coordinator refused the request.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// The coordinator cannot be reached, or the connection was lost.
    #[error("cannot reach the coordinator: {}", with_causes(.0))]
    Unreachable(#[from] reqwest::Error),
    /// The response has an unexpected format, for example because the coordinator has another version.
    #[error("cannot read the response from {place} (HTTP status {status}): {detail}")]
    Answer {
        /// The URL of the request.
        place: String,
        /// The HTTP status.
        status: u16,
        /// A description of the problem.
        detail: String,
    },
    /// The address of the coordinator is invalid.
    #[error(
        "`{0}` is not a coordinator address: use https://HOST[:PORT], or http:// for a coordinator on this machine"
    )]
    Address(String),
    /// The root certificate is invalid.
    #[error(transparent)]
    Certificate(#[from] TransportError),
}

impl AdminError {
    /// Returns advice on how to fix the error; `None` if there is no advice.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            AdminError::Refused(problem) => return remedy_of(problem),
            AdminError::Unreachable(error) if error.is_timeout() => {
                "the coordinator may be overloaded; try again later"
            }
            AdminError::Unreachable(_) => {
                "check that `folkmoot serve` is running and that --url and --ca are right"
            }
            AdminError::Answer { .. } => {
                "check that --url is the address of a coordinator of the same version as this program"
            }
            AdminError::Address(_) | AdminError::Certificate(_) => "check --url and --ca",
        };
        Some(remedy.into())
    }

    /// Returns the error code if the coordinator refused the request with a code that this version knows.
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
            "sign in with `folkmoot login`, or give a key with --api-key or FOLKMOOT_API_KEY; an admin can create one with \
             `folkmoot key create`"
        }
        Some(ErrorCode::RoleInsufficient) => "use a key with the needed role, or ask somebody who has it",
        Some(ErrorCode::TaskInvalid) => "fix the task description and create the task again",
        Some(ErrorCode::TaskUnknown) => "list the tasks with `folkmoot task list`",
        Some(ErrorCode::RoundUnknown) => "list the rounds of a task with `folkmoot task rounds TASK`",
        Some(ErrorCode::ModelVersionUnknown) => "list the versions of a task with `folkmoot model list TASK`",
        Some(ErrorCode::TaskStateConflict) => "show the state of the task with `folkmoot task show TASK`",
        Some(ErrorCode::ModelInvalid) => "change the model as described and export it again",
        _ if problem.disposition == Disposition::Retry => "try again later",
        None => "update this program to the coordinator's version: it does not know this error code",
        _ => return None,
    };
    Some(remedy.into())
}

/// Formats an error with its chain of causes. In errors of `reqwest` and some other libraries, only a cause says what
/// went wrong.
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
