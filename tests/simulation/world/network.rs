//! Messages, and the network's faults.

use std::sync::Arc;

use folkmoot_protocol::{
    AssignmentId,
    messages::{AbortRequest, Artifact, CheckInRequest, ReportRequest},
    secure::{SecureAnswered, SecureMessage, SecureProgress},
};
use folkmoot_rounds::ingest::Announced;
use folkmoot_session::{Answer, Event as SessionEvent, Failure, RequestId};

use super::{Event, World};

/// A request in transit.
#[derive(Clone)]
pub struct Message {
    /// The client that sent the message.
    pub client: usize,
    /// The number of the client's process that sent the message.
    pub incarnation: u32,
    /// The id that the response repeats.
    pub request_id: RequestId,
    pub request: Request,
}

/// The requests of clients.
#[derive(Clone)]
pub enum Request {
    CheckIn { request: CheckInRequest, wait_seconds: u32 },
    Ask { assignment_id: AssignmentId, wait_seconds: u32 },
    Fetch { artifact: Artifact },
    QueryUpload { assignment_id: AssignmentId },
    Upload { assignment_id: AssignmentId, announced: Announced, offset: u64, bytes: Arc<Vec<u8>> },
    Report { assignment_id: AssignmentId, report: ReportRequest },
    Abort { assignment_id: AssignmentId, abort: AbortRequest },
    Secure { assignment_id: AssignmentId, message: Arc<SecureMessage> },
    Progress { assignment_id: AssignmentId, after: SecureAnswered, wait_seconds: u32 },
}

/// The response to a request of secure aggregation: the progress, or `None` if a message was recorded.
pub type Secured = Result<Option<Arc<SecureProgress>>, Failure>;

/// A response.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time")]
pub enum Reply {
    /// The session gets it.
    Session(Answer),
    /// The host gets it, in the middle of a step of secure aggregation.
    Secured(Secured),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Reply::Session(answer)
    }
}

impl Request {
    /// Returns the request's name for the trace.
    pub fn name(&self) -> &'static str {
        match self {
            Request::CheckIn { .. } => "check-in",
            Request::Ask { .. } => "ask",
            Request::Fetch { .. } => "fetch",
            Request::QueryUpload { .. } => "upload query",
            Request::Upload { .. } => "upload",
            Request::Report { .. } => "report",
            Request::Abort { .. } => "abort",
            Request::Secure { .. } => "secure message",
            Request::Progress { .. } => "secure progress",
        }
    }

    /// Creates the response that reports a failure of this request.
    pub fn failed(&self, failure: Failure) -> Reply {
        let answer = match self {
            Request::CheckIn { .. } => Answer::CheckIn(Err(failure)),
            Request::Ask { .. } => Answer::Ask(Err(failure)),
            Request::Fetch { .. } => Answer::Fetch(Err(failure)),
            Request::QueryUpload { .. } | Request::Upload { .. } => Answer::Upload(Err(failure)),
            Request::Report { .. } => Answer::Report(Err(failure)),
            Request::Abort { .. } => Answer::Abort(Err(failure)),
            Request::Secure { .. } | Request::Progress { .. } => return Reply::Secured(Err(failure)),
        };
        answer.into()
    }

    /// Returns the timeout in milliseconds, after which the client treats the request as lost.
    fn timeout(&self) -> u64 {
        match self {
            Request::CheckIn { wait_seconds, .. }
            | Request::Ask { wait_seconds, .. }
            | Request::Progress { wait_seconds, .. } => 15_000 + u64::from(*wait_seconds) * 1000,
            Request::Upload { .. } => 40_000,
            _ => 20_000,
        }
    }
}

fn reply_event(client: usize, incarnation: u32, request_id: RequestId, reply: Reply) -> Event {
    match reply {
        Reply::Session(answer) => {
            let event = SessionEvent::answered(request_id, answer);
            Event::ClientMeets { client, incarnation, event }
        }
        Reply::Secured(answer) => Event::ClientSecures { client, incarnation, number: request_id.0, answer },
    }
}

/// The names under which the coverage counts a message and its faults.
struct Fates {
    sent: &'static str,
    dropped: &'static str,
    doubled: &'static str,
    delayed: &'static str,
}

const REQUEST: Fates = Fates {
    sent: "requests",
    dropped: "requests dropped",
    doubled: "requests doubled",
    delayed: "requests delayed",
};

const RESPONSE: Fates = Fates {
    sent: "responses",
    dropped: "responses dropped",
    doubled: "responses doubled",
    delayed: "responses delayed",
};

impl World {
    /// Sends a request. The client always gets a result: the response, or a timeout.
    pub(super) fn send(&mut self, client: usize, request_id: RequestId, request: Request) {
        let incarnation = self.clients[client].incarnation;
        self.note(format_args!("client {client} sends {} #{}", request.name(), request_id.0));
        let event = reply_event(client, incarnation, request_id, request.failed(Failure::network()));
        self.after(request.timeout(), event);
        for delay in self.delays(&REQUEST) {
            let message = Message { client, incarnation, request_id, request: request.clone() };
            self.after(delay, Event::RequestArrives { message });
        }
    }

    /// Sends a response.
    pub(super) fn respond(&mut self, message: &Message, reply: impl Into<Reply>) {
        let reply = reply.into();
        let (client, incarnation, request_id) = (message.client, message.incarnation, message.request_id);
        for delay in self.delays(&RESPONSE) {
            self.after(delay, reply_event(client, incarnation, request_id, reply.clone()));
        }
    }

    /// Reports a broken connection to the client. The report may be lost, too.
    pub(super) fn fail(&mut self, message: &Message) {
        let answer = message.request.failed(Failure::network());
        self.respond(message, answer);
    }

    /// Returns the delay of each copy of a message. There is no copy if the message is lost, and two if it is
    /// duplicated.
    fn delays(&mut self, fates: &Fates) -> Vec<u64> {
        self.coverage.count(fates.sent);
        if self.chance.happens(self.faults.dropped) {
            self.coverage.count(fates.dropped);
            return Vec::new();
        }
        let mut copies = 1;
        if self.chance.happens(self.faults.doubled) {
            self.coverage.count(fates.doubled);
            copies = 2;
        }
        let mut delays = Vec::with_capacity(copies);
        for _ in 0..copies {
            let is_late = self.chance.happens(self.faults.delayed);
            if is_late {
                self.coverage.count(fates.delayed);
            }
            delays.push(self.chance.within(if is_late { 1_000..=30_000 } else { 5..=150 }));
        }
        delays
    }
}
