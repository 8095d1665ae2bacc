//! The clients. Each checks in, gets assignments and sends updates, according to its behaviour.

use std::sync::Arc;

use folkmoot_protocol::{
    ErrorCode,
    messages::{AbortReason, AbortRequest, Assignment, CheckInRequest, UploadState},
};
use folkmoot_rounds::{
    device::{self, Begun, UploadRequest},
    ingest::Announced,
    refusal::Refusal,
};
use folkmoot_storage::ClientRecord;

use super::{World, updates::Update};
use crate::{
    invariants::{Broken, Holds},
    privacy::script::Nature,
};

/// The time for which a check-in waits, in milliseconds.
const WAIT_MILLISECONDS: u64 = 30_000;

/// A device.
pub struct Client {
    pub record: ClientRecord,
    /// The number of the unit that the client's updates expose.
    pub unit: usize,
    pub user: usize,
    pub nature: Nature,
    pub is_gone: bool,
    pub work: Option<Work>,
}

/// An update that a client has to send.
pub struct Work {
    pub assignment: Assignment,
    pub update: Update,
    /// The time at which the training is complete, in virtual milliseconds.
    pub due: u64,
    /// The number of the update's bytes that have arrived.
    pub sent: usize,
}

impl Client {
    pub fn new(record: ClientRecord, unit: usize, user: usize, nature: Nature) -> Self {
        Self { record, unit, user, nature, is_gone: false, work: None }
    }
}

impl World {
    pub(super) async fn check_in(&mut self) -> Holds {
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            let stays_away = client.nature == Nature::Flaky && self.chance.happens(300);
            if client.is_gone || client.work.is_some() || stays_away {
                continue;
            }
            self.offer(index).await?;
        }
        Ok(())
    }

    /// Lets a client check in. If it gets an assignment, it starts to work on it.
    async fn offer(&mut self, index: usize) -> Holds {
        let request = CheckInRequest {
            sdk_version: "1.0.0".into(),
            example_count: 10,
            attributes: [].into(),
            codecs: Vec::new(),
        };
        let record = self.clients[index].record.clone();
        let found =
            device::check_in(&self.coordinator, &record, &request, WAIT_MILLISECONDS, self.now()).await;
        let Some(assignment) = found.map_err(super::refused)? else { return Ok(()) };
        let nature = self.clients[index].nature;
        if nature == Nature::Flaky && self.chance.happens(300) {
            self.coverage.count("assignments given up");
            let abort = AbortRequest { reason: AbortReason::ConditionsEnded, detail: String::new() };
            let id = assignment.assignment_id;
            return device::abort(&self.coordinator, &record, id, &abort, self.now())
                .await
                .map_err(super::refused);
        }
        let late = if nature == Nature::Flaky && self.chance.happens(300) { 60 } else { 0 };
        let slow = if !self.script.one_by_one && self.chance.happens(250) { 15 } else { 0 };
        let due = self.now + (late + slow + self.chance.within(0..=8)) * 1000;
        let update = self.update(index, &assignment).await?;
        self.clients[index].work = Some(Work { assignment, update, due, sent: 0 });
        Ok(())
    }

    /// Lets the clients whose training is complete send their updates. Clients that were just drawn fetch their
    /// assignment first.
    pub(super) async fn send(&mut self) -> Holds {
        for index in 0..self.clients.len() {
            if self.clients[index].work.is_none() && !self.clients[index].is_gone {
                self.offer(index).await?;
            }
            let is_due = self.clients[index].work.as_ref().is_some_and(|work| work.due <= self.now);
            if !is_due || self.clients[index].is_gone {
                continue;
            }
            let mut work = self.clients[index].work.take().expect("it is due");
            if self.send_one(index, &mut work).await? {
                self.clients[index].work = Some(work);
            }
        }
        Ok(())
    }

    /// Sends an update or a part of an update. Returns `true` if the client has more to send.
    async fn send_one(&mut self, index: usize, work: &mut Work) -> Result<bool, Broken> {
        let nature = self.clients[index].nature;
        let length = work.update.bytes.len();
        let breaks = nature == Nature::Breaking && work.sent == 0;
        let until = if breaks { self.chance.within(1..=length as u64 - 1) as usize } else { length };
        let state = self.upload(index, work, until).await?;
        if breaks && state.is_some() {
            self.coverage.count("updates that broke off");
            // Some clients never send the rest.
            return Ok(self.chance.happens(600));
        }
        if nature == Nature::Doubling && state == Some(UploadState::Accepted) {
            self.coverage.count("updates sent twice");
            let again = self.upload(index, work, length).await?;
            assert_eq!(again, Some(UploadState::Accepted), "a repeated upload gets the same response");
            let mut other = Update { ..work.update.clone() };
            other.change();
            let mut second = Work { assignment: work.assignment.clone(), update: other, due: 0, sent: 0 };
            assert_eq!(
                self.upload(index, &mut second, length).await?,
                None,
                "a second update for an assignment is refused"
            );
        }
        Ok(false)
    }

    /// Sends the bytes of an update up to a given position. Returns `None` if the coordinator refuses them.
    async fn upload(
        &mut self,
        index: usize,
        work: &mut Work,
        until: usize,
    ) -> Result<Option<UploadState>, Broken> {
        let (coordinator, now) = (Arc::clone(&self.coordinator), self.now());
        let record = self.clients[index].record.clone();
        let (id, update) = (work.assignment.assignment_id, &work.update);
        if work.sent > 0 {
            match device::upload_status(&coordinator, &record, id, now).await {
                Ok(status) => work.sent = status.received_bytes as usize,
                Err(_) => return Ok(None),
            }
        }
        let announced = Announced { digest: update.digest, length: update.bytes.len() as u64 };
        let request = UploadRequest { assignment_id: id, announced, offset: work.sent as u64 };
        let mut guard = match device::begin_upload(&coordinator, &record, request, now).await {
            Ok(Begun::Accepted(status)) => return Ok(Some(status.state)),
            Ok(Begun::Awaited(guard)) => guard,
            Err(refusal) => {
                self.note_refusal(index, &work.assignment, &refusal);
                return Ok(None);
            }
        };
        self.record_arrival(index, &work.assignment, update, until.max(work.sent));
        let part = &update.bytes[work.sent.min(until)..until];
        let pushed = guard.as_mut().map_or(Ok(()), |upload| upload.push(part));
        work.sent = until;
        let state = match pushed {
            Err(refusal) => Err(device::refuse_upload(&coordinator, &record, guard, refusal, now).await),
            Ok(()) => {
                device::finish_upload(&coordinator, &record, guard, now).await.map(|status| status.state)
            }
        };
        match state {
            Ok(state) => {
                self.note(format_args!("client {index} has sent {until} bytes: {state:?}"));
                if state == UploadState::Accepted {
                    self.coverage.count("updates accepted");
                    self.record_acceptance(id);
                }
                Ok(Some(state))
            }
            Err(refusal) => {
                self.note_refusal(index, &work.assignment, &refusal);
                Ok(None)
            }
        }
    }

    fn note_refusal(&mut self, index: usize, assignment: &Assignment, refusal: &Refusal) {
        self.coverage.count("uploads refused");
        self.note(format_args!("client {index} is refused: {refusal}"));
        if refusal.code() == ErrorCode::RoundClosed && self.now() < assignment.deadline {
            self.record.cut_off.insert(assignment.round_id);
        }
    }
}
