use std::collections::BTreeMap;

use folkmoot_protocol::{Problem, ProblemCode, Timestamp, codec, messages::CheckInRequest};
use folkmoot_session::{Answer, Effect, Event, Failure, Offer, RequestId, Session, back_off_until};
use folkmoot_training::{ClientEvent, event_of};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::error::thrown;

/// A client's session: takes events and returns effects, both as JSON.
#[wasm_bindgen]
pub struct BrowserSession {
    session: Session,
    rng: ChaCha20Rng,
}

/// The client's data for a check-in.
#[derive(Deserialize)]
struct Holding {
    example_count: u64,
    attributes: BTreeMap<String, String>,
}

/// An event from JavaScript: its name and, for `answered`, the answer.
#[derive(Deserialize)]
struct HostEvent {
    event: String,
    request_id: Option<RequestId>,
    answer: Option<Answer>,
}

impl HostEvent {
    fn event(self) -> Option<Event> {
        match self.event.as_str() {
            "started" => Some(Event::Started),
            "wake" => Some(Event::Wake),
            "stop_requested" => Some(Event::StopRequested),
            "conditions_ended" => Some(Event::ConditionsEnded),
            "answered" => Some(Event::answered(self.request_id?, self.answer?)),
            _ => None,
        }
    }
}

/// The result of a step.
#[derive(Serialize)]
struct Stepped<'a> {
    effects: &'a [Effect],
    event: Option<ClientEvent>,
    state: &'static str,
}

/// The meaning of a refusal.
#[derive(Serialize)]
struct Refusal<'a> {
    failure: Failure,
    code: Option<&'a ProblemCode>,
    detail: Option<&'a String>,
    server_time: Option<Timestamp>,
}

#[wasm_bindgen]
impl BrowserSession {
    /// Restores a session that [`BrowserSession::to_json`] stored. Starts a new one if there is none or it cannot be
    /// read. `request` is the data for each check-in, `{example_count, attributes}`.
    pub fn open(stored: Option<String>, request: &str, wait_seconds: u32) -> Result<Self, JsError> {
        let offer = offer(request, wait_seconds)?;
        let restored = stored.and_then(|stored| Session::from_json(stored.as_bytes()).ok());
        let session = match restored {
            Some(session) => session.with_offer(offer),
            None => Session::new(offer),
        };
        let rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(thrown)?;
        Ok(Self { session, rng })
    }

    /// Processes an event and returns `{effects, event, state}`: the effects to perform, in order, and the event for
    /// the app or null. `detail` is the text of the last error.
    pub fn step(&mut self, event: &str, now: f64, detail: &str) -> Result<String, JsError> {
        let event: HostEvent = serde_json::from_slice(event.as_bytes()).map_err(thrown)?;
        let event = event.event().ok_or_else(|| JsError::new("unknown event"))?;
        let before = self.session.state().clone();
        let stepped = self.session.clone().step(event, Timestamp(now as u64), &mut self.rng);
        let (session, effects) = stepped.map_err(thrown)?;
        let event = event_of(&before, session.state(), detail);
        let stepped = Stepped { effects: &effects, event, state: session.state().name() };
        let stepped = serde_json::to_string(&stepped).map_err(thrown);
        self.session = session;
        stepped
    }

    /// Replaces the data for the next check-in.
    pub fn offer(&mut self, request: &str, wait_seconds: u32) -> Result<(), JsError> {
        self.session = self.session.clone().with_offer(offer(request, wait_seconds)?);
        Ok(())
    }

    /// Returns the session as JSON. Store it before performing effects.
    #[wasm_bindgen(js_name = toJson)]
    pub fn to_json(&self) -> String {
        self.session.to_json()
    }

    /// Returns the state as JSON.
    pub fn state(&self) -> Result<String, JsError> {
        serde_json::to_string(self.session.state()).map_err(thrown)
    }

    /// Returns the id of the assignment whose files must not be deleted yet.
    #[wasm_bindgen(js_name = assignmentId)]
    pub fn assignment_id(&self) -> Option<String> {
        self.session.state().assignment_id().map(|id| id.to_string())
    }

    /// Returns the current assignment, as JSON.
    pub fn assignment(&self) -> Result<Option<String>, JsError> {
        let work = self.session.state().work();
        work.map(|work| serde_json::to_string(&work.assignment)).transpose().map_err(thrown)
    }
}

/// Combines a client's examples and attributes with the codecs of this build.
fn offer(request: &str, wait_seconds: u32) -> Result<Offer, JsError> {
    let Holding { example_count, attributes } = serde_json::from_slice(request.as_bytes()).map_err(thrown)?;
    let (sdk_version, codecs) = (env!("CARGO_PKG_VERSION").to_owned(), codec::names());
    Ok(Offer { request: CheckInRequest { sdk_version, example_count, attributes, codecs }, wait_seconds })
}

/// Returns the time of the next attempt after this many failures in a row, in milliseconds since 1970.
#[wasm_bindgen(js_name = backOffUntil)]
pub fn back_off(now: f64, failures: u32, retry_after_milliseconds: Option<f64>) -> Result<f64, JsError> {
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(thrown)?;
    let asked = retry_after_milliseconds.map(|milliseconds| milliseconds as u64);
    Ok(back_off_until(Timestamp(now as u64), failures, asked, &mut rng).0 as f64)
}

/// Returns the meaning of a refusal for the session, as JSON: `{failure, code, detail, server_time}`. Without a
/// readable problem document, this is a network failure.
#[wasm_bindgen(js_name = failureOf)]
pub fn failure_of(problem: Option<String>) -> Result<String, JsError> {
    let problem = problem.and_then(|text| serde_json::from_slice::<Problem>(text.as_bytes()).ok());
    let failure = problem.as_ref().map_or_else(Failure::network, Failure::from);
    let (code, detail) = problem.as_ref().map(|problem| (&problem.code, &problem.detail)).unzip();
    let server_time = problem.as_ref().and_then(|problem| problem.server_time);
    serde_json::to_string(&Refusal { failure, code, detail, server_time }).map_err(thrown)
}
