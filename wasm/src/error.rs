use folkmoot_protocol::messages::AbortReason;
use folkmoot_training::WorkError;
use serde::Serialize;
use wasm_bindgen::JsError;

#[derive(Serialize)]
struct Answer {
    work_failed: Failed,
}

#[derive(Serialize)]
struct Failed {
    reason: AbortReason,
    detail: String,
}

/// Converts an error to a JavaScript error.
pub(crate) fn thrown(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

/// Converts failed work to a JavaScript error whose message is the session's answer `work_failed`, as JSON.
pub(crate) fn work_failed(error: WorkError) -> JsError {
    let WorkError { reason, detail, .. } = error;
    let answer = Answer { work_failed: Failed { reason, detail } };
    match serde_json::to_string(&answer) {
        Ok(answer) => JsError::new(&answer),
        Err(error) => thrown(error),
    }
}
