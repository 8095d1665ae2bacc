//! Messages, and the network's faults.

use std::sync::Arc;

use folkmoot_protocol::{
    AssignmentId,
    messages::{AbortRequest, Artifact, CheckInRequest, ReportRequest},
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
    /// The request.
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
        }
    }

    /// Creates the response that reports a failure of this request.
    pub fn failed(&self, failure: Failure) -> Answer {
        match self {
            Request::CheckIn { .. } => Answer::CheckIn(Err(failure)),
            Request::Ask { .. } => Answer::Ask(Err(failure)),
            Request::Fetch { .. } => Answer::Fetch(Err(failure)),
            Request::QueryUpload { .. } | Request::Upload { .. } => Answer::Upload(Err(failure)),
            Request::Report { .. } => Answer::Report(Err(failure)),
            Request::Abort { .. } => Answer::Abort(Err(failure)),
        }
    }

    /// Returns the timeout in milliseconds, after which the client treats the request as lost.
    fn timeout(&self) -> u64 {
        match self {
            Request::CheckIn { wait_seconds, .. } | Request::Ask { wait_seconds, .. } => {
                15_000 + u64::from(*wait_seconds) * 1000
            }
            Request::Upload { .. } => 40_000,
            _ => 20_000,
        }
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
        let event = SessionEvent::answered(request_id, request.failed(Failure::network()));
        self.after(request.timeout(), Event::ClientMeets { client, incarnation, event });
        for delay in self.delays(&REQUEST) {
            let message = Message { client, incarnation, request_id, request: request.clone() };
            self.after(delay, Event::RequestArrives { message });
        }
    }

    /// Sends a response.
    pub(super) fn respond(&mut self, message: &Message, answer: Answer) {
        let (client, incarnation, request_id) = (message.client, message.incarnation, message.request_id);
        for delay in self.delays(&RESPONSE) {
            let event = SessionEvent::answered(request_id, answer.clone());
            self.after(delay, Event::ClientMeets { client, incarnation, event });
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
