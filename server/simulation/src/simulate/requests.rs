//! Handles requests as the HTTP handlers do, but without HTTP.

use folkmoot_protocol::{
    AssignmentId, codec,
    messages::{AbortRequest, Artifact, AskResponse, CheckInRequest, CheckInResponse, ReportRequest},
};
use folkmoot_rounds::{
    device::{self, Begun, Offered, UploadRequest},
    ingest::Announced,
    refusal::Refusal,
};
use folkmoot_session::{Answer, Event as SessionEvent, Failure, RequestId};
use folkmoot_storage::{ClientRecord, ClientRepository, EnrolOutcome};

use super::{
    SimulateError,
    client::key_of,
    events::{Event, PendingUpload},
    polls::{HeldPoll, Kind, PollOf},
    world::World,
};
use crate::device::Direction;

/// The assumed size of a control message including its overhead, in bytes.
const MESSAGE_BYTES: u64 = 600;

impl World {
    /// Delivers an answer to a client after `milliseconds`, unless the app closes before that.
    pub fn answer(&mut self, client: usize, request_id: RequestId, milliseconds: u64, answer: Answer) {
        let incarnation = self.clients[client].incarnation;
        let event = Box::new(SessionEvent::answered(request_id, answer));
        self.after(milliseconds, Event::ClientMeets { client, incarnation, event });
    }

    /// Sends an answer over the network, which may lose it.
    fn respond(
        &mut self,
        client: usize,
        request_id: RequestId,
        kind: Kind,
        answered: Result<Answer, Refusal>,
    ) {
        if self.happens(self.settings.faults.answer_loss) {
            return self.lose(client, request_id, kind);
        }
        let answer = answered.unwrap_or_else(|refusal| kind.failed(Failure::from(&*refusal.0)));
        let milliseconds = self.transfer_milliseconds(client, MESSAGE_BYTES, Direction::Down);
        self.answer(client, request_id, milliseconds, answer);
    }

    /// Returns the duration of a transfer in milliseconds, at least 1.
    pub fn transfer_milliseconds(&self, client: usize, bytes: u64, direction: Direction) -> u64 {
        let seconds = self.clients[client].device.transfer_seconds(self.device_now(), bytes, direction);
        (seconds * 1000.0).ceil().max(1.0) as u64
    }

    /// Returns a client's record. Enrols the client at its first request.
    async fn record_of(&mut self, client: usize) -> Result<ClientRecord, SimulateError> {
        if let Some(record) = &self.clients[client].record {
            return Ok(record.clone());
        }
        let (id, now) = (self.client_id(), self.server_now());
        let key = key_of(client, &self.description.population);
        match self.storage.enrol(&self.token, &key, id, now).await? {
            EnrolOutcome::Enrolled(record) | EnrolOutcome::Known(record) => {
                self.clients[client].record = Some(record.clone());
                Ok(record)
            }
            other => Err(SimulateError::Client(format!("an enrolment failed with {other:?}"))),
        }
    }

    pub async fn check_in(
        &mut self,
        client: usize,
        request_id: RequestId,
        request: CheckInRequest,
        wait_seconds: u32,
    ) -> Result<(), SimulateError> {
        if !self.reaches(client, request_id, Kind::CheckIn) {
            return Ok(());
        }
        self.totals.check_ins += 1;
        let (coordinator, record, now) = (self.running(), self.record_of(client).await?, self.server_now());
        let wait = u64::from(wait_seconds) * 1000;
        let waiter = coordinator.check_ins.add(record.id);
        let found = device::check_in(&coordinator, &record, &request, wait, now).await;
        match found {
            Ok(None) if wait > 0 => {
                let of = PollOf::CheckIn;
                let poll = self.polls.hold(HeldPoll { of, client, id: record.id, request_id, wait, waiter });
                self.after(wait, Event::WaitEnds { poll });
            }
            other => {
                coordinator.check_ins.forget(record.id, &waiter);
                let answered = match other {
                    Ok(Some(assignment)) => Ok(CheckInResponse::Assigned { assignment }),
                    Ok(None) => {
                        device::end_wait(&coordinator, &record, Offered::of(&request), wait, now).await
                    }
                    Err(refusal) => Err(refusal),
                };
                let answered = answered.map(|answer| Answer::CheckIn(Ok(answer)));
                self.respond(client, request_id, Kind::CheckIn, answered);
            }
        }
        self.listen();
        Ok(())
    }

    /// Holds the request of a training client until the coordinator asks for the client's partial update.
    pub async fn listen_for_ask(
        &mut self,
        client: usize,
        request_id: RequestId,
        id: AssignmentId,
        wait_seconds: u32,
    ) -> Result<(), SimulateError> {
        if !self.reaches(client, request_id, Kind::Ask) {
            return Ok(());
        }
        let (coordinator, record, now) = (self.running(), self.record_of(client).await?, self.server_now());
        let waiter = coordinator.listeners.add(record.id);
        match device::is_asked(&coordinator, &record, id, now).await {
            Ok(false) => {
                let (of, wait) = (PollOf::Ask(id), u64::from(wait_seconds) * 1000);
                let poll = self.polls.hold(HeldPoll { of, client, id: record.id, request_id, wait, waiter });
                self.after(wait, Event::WaitEnds { poll });
            }
            told => {
                coordinator.listeners.forget(record.id, &waiter);
                let answered = told.map(|asked| Answer::Ask(Ok(AskResponse { asked })));
                self.respond(client, request_id, Kind::Ask, answered);
            }
        }
        Ok(())
    }

    /// Answers the held requests of clients that were drawn or asked for their updates.
    pub async fn wake_polls(&mut self) -> Result<(), SimulateError> {
        for poll in self.polls.woken() {
            self.wait_ends(poll).await?;
        }
        Ok(())
    }

    pub async fn wait_ends(&mut self, poll: u64) -> Result<(), SimulateError> {
        let Some(HeldPoll { of, client, id: _, request_id, wait, waiter }) = self.polls.remove(poll) else {
            return Ok(());
        };
        let coordinator = self.running();
        let record = self.record_of(client).await?;
        if let PollOf::Ask(id) = of {
            coordinator.listeners.forget(record.id, &waiter);
            let told = device::is_asked(&coordinator, &record, id, self.server_now()).await;
            let answered = told.map(|asked| Answer::Ask(Ok(AskResponse { asked })));
            self.respond(client, request_id, Kind::Ask, answered);
            return Ok(());
        }
        let (attributes, codecs) = (self.attributes(client), codec::names());
        let offered = Offered { attributes: &attributes, codecs: &codecs };
        let answered = device::end_wait(&coordinator, &record, offered, wait, self.server_now()).await;
        coordinator.check_ins.forget(record.id, &waiter);
        let answered = answered.map(|answer| Answer::CheckIn(Ok(answer)));
        self.respond(client, request_id, Kind::CheckIn, answered);
        Ok(())
    }

    /// Simulates the transfer of a blob. The simulation already has the contents.
    pub async fn fetch(
        &mut self,
        client: usize,
        request_id: RequestId,
        artifact: Artifact,
    ) -> Result<(), SimulateError> {
        if self.clients[client].has(artifact.digest) {
            self.answer(client, request_id, 1, Answer::Fetch(Ok(0)));
            return Ok(());
        }
        if !self.reaches(client, request_id, Kind::Fetch) {
            return Ok(());
        }
        let (coordinator, record) = (self.running(), self.record_of(client).await?);
        match device::blob(&coordinator, &record, artifact.digest).await {
            Ok((bytes, _)) => {
                self.recorder.down(bytes.len() as u64);
                self.clients[client].keep(artifact.digest);
                let milliseconds = self.transfer_milliseconds(client, bytes.len() as u64, Direction::Down);
                self.answer(client, request_id, milliseconds, Answer::Fetch(Ok(bytes.len() as u64)));
            }
            Err(refusal) => self.respond(client, request_id, Kind::Fetch, Err(refusal)),
        }
        Ok(())
    }

    /// Begins the transfer of an update. Its bytes arrive when the transfer ends.
    pub fn begin_upload(
        &mut self,
        client: usize,
        request_id: RequestId,
        assignment_id: AssignmentId,
        offset: u64,
    ) {
        let work = self.clients[client].work.as_ref();
        let update = work.filter(|work| work.assignment.assignment_id == assignment_id);
        let Some(update) = update.and_then(|work| work.update.as_ref()) else {
            return self.answer(client, request_id, 1, Answer::UpdateLost);
        };
        let bytes = (update.bytes.len() as u64).saturating_sub(offset);
        self.recorder.up(bytes);
        let milliseconds = self.transfer_milliseconds(client, bytes, Direction::Up);
        let incarnation = self.clients[client].incarnation;
        let upload = Box::new(PendingUpload { request_id, assignment_id, offset });
        self.after(milliseconds, Event::UploadEnds { client, incarnation, upload });
    }

    pub async fn end_upload(&mut self, client: usize, upload: PendingUpload) -> Result<(), SimulateError> {
        let PendingUpload { request_id, assignment_id, offset } = upload;
        if !self.reaches(client, request_id, Kind::Upload) {
            return Ok(());
        }
        let (coordinator, record, now) = (self.running(), self.record_of(client).await?, self.server_now());
        let work = self.clients[client].work.as_ref();
        let Some(update) = work.and_then(|work| work.update.as_ref()) else {
            self.answer(client, request_id, 1, Answer::UpdateLost);
            return Ok(());
        };
        let announced = Announced { digest: update.digest, length: update.bytes.len() as u64 };
        let request = UploadRequest { assignment_id, announced, offset };
        let status = match device::begin_upload(&coordinator, &record, request, now).await {
            Ok(Begun::Accepted(status)) => Ok(status),
            Ok(Begun::Awaited(mut guard)) => {
                let pushed = guard.as_mut().map(|upload| upload.push(&update.bytes[offset as usize..]));
                match pushed {
                    Some(Err(refusal)) => {
                        Err(device::refuse_upload(&coordinator, &record, guard, refusal, now).await)
                    }
                    _ => device::finish_upload(&coordinator, &record, guard, now).await,
                }
            }
            Err(refusal) => Err(refusal),
        };
        let answered = status.map(|status| Answer::Upload(Ok(status)));
        self.respond(client, request_id, Kind::Upload, answered);
        self.listen();
        Ok(())
    }

    pub async fn query_upload(
        &mut self,
        client: usize,
        request_id: RequestId,
        assignment_id: AssignmentId,
    ) -> Result<(), SimulateError> {
        if !self.reaches(client, request_id, Kind::Upload) {
            return Ok(());
        }
        let (coordinator, record, now) = (self.running(), self.record_of(client).await?, self.server_now());
        let status = device::upload_status(&coordinator, &record, assignment_id, now).await;
        self.respond(client, request_id, Kind::Upload, status.map(|status| Answer::Upload(Ok(status))));
        Ok(())
    }

    pub async fn report(
        &mut self,
        client: usize,
        request_id: RequestId,
        assignment_id: AssignmentId,
        report: ReportRequest,
    ) -> Result<(), SimulateError> {
        if !self.reaches(client, request_id, Kind::Report) {
            return Ok(());
        }
        let (coordinator, record, now) = (self.running(), self.record_of(client).await?, self.server_now());
        let done = device::report(&coordinator, &record, assignment_id, &report, now).await;
        self.respond(client, request_id, Kind::Report, done.map(|()| Answer::Report(Ok(()))));
        Ok(())
    }

    pub async fn abort(
        &mut self,
        client: usize,
        request_id: RequestId,
        assignment_id: AssignmentId,
        abort: AbortRequest,
    ) -> Result<(), SimulateError> {
        if !self.reaches(client, request_id, Kind::Abort) {
            return Ok(());
        }
        self.recorder.dropped();
        let (coordinator, record, now) = (self.running(), self.record_of(client).await?, self.server_now());
        let done = device::abort(&coordinator, &record, assignment_id, &abort, now).await;
        self.respond(client, request_id, Kind::Abort, done.map(|()| Answer::Abort(Ok(()))));
        self.listen();
        Ok(())
    }
}
