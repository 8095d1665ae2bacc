//! Answers to clients.

use axum::response::{IntoResponse, Response};
use folkmoot_api::{AdminError, client::with_causes};
use folkmoot_combine::refusal::Refusal;
use folkmoot_edge::{problem_response, warn_of};
use folkmoot_protocol::{ErrorCode, Problem};

/// The time, in milliseconds, after which a client repeats a request that did not reach the coordinator.
const UNREACHABLE_MILLISECONDS: u64 = 1_000;

/// A refusal as a response, of this aggregator or of the coordinator.
#[derive(Debug)]
pub struct Refused(pub Box<Problem>);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.0)
    }
}

impl From<AdminError> for Refused {
    fn from(error: AdminError) -> Self {
        match error {
            // The client must not think that its own credentials are wrong.
            AdminError::Refused(problem) if !is_of_key(&problem) => Self(problem),
            error => unreachable(&error),
        }
    }
}

impl From<folkmoot_round_log::RoundLogError> for Refused {
    fn from(error: folkmoot_round_log::RoundLogError) -> Self {
        Refusal::from(error).into()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        problem_response(&self.0)
    }
}

/// Returns whether the coordinator has refused this aggregator's API key.
pub fn is_of_key(problem: &Problem) -> bool {
    let codes = [ErrorCode::ApiKeyMissing, ErrorCode::ApiKeyInvalid, ErrorCode::RoleInsufficient];
    problem.code.known().is_some_and(|code| codes.contains(&code))
}

/// Tells a client to come again, because the coordinator does not serve this aggregator. The log has the reason.
pub fn unreachable(error: &dyn std::error::Error) -> Refused {
    let reason = with_causes(error);
    warn_of(
        "upstream",
        &format!("requests are refused, because the coordinator does not serve this aggregator: {reason}"),
    );
    let detail = "this aggregator cannot use its coordinator now; repeat the request";
    Refusal::new(ErrorCode::Overloaded, detail).retry_after(UNREACHABLE_MILLISECONDS).into()
}

/// Tells a client to come again, because this aggregator stops.
pub fn stopping() -> Refused {
    let detail = "this aggregator stops; repeat the request";
    Refusal::new(ErrorCode::Overloaded, detail).retry_after(UNREACHABLE_MILLISECONDS).into()
}
