//! Uploads in parts. Between any two parts, the connection may break, the coordinator may crash, a bit may flip, and
//! any other event may happen.

use std::sync::Arc;

use folkmoot_rounds::{
    coordinator::Coordinator,
    device::{self, Begun, UploadGuard, UploadRequest},
    refusal::Refusal,
};
use folkmoot_session::Answer;
use folkmoot_storage::ClientRecord;

use super::{
    Event, World,
    network::{Message, Request},
};
use crate::{
    invariants::{Broken, Holds},
    scenario::Sabotage,
};

/// An upload in progress.
pub struct Connection {
    /// The request.
    pub message: Message,
    record: ClientRecord,
    guard: UploadGuard,
    bytes: Arc<Vec<u8>>,
    /// The offset of the next byte to arrive.
    at: usize,
}

impl World {
    pub(super) async fn begin_upload(
        &mut self,
        coordinator: &Coordinator,
        record: &ClientRecord,
        message: &Message,
    ) -> Result<Result<Option<Answer>, Refusal>, Broken> {
        let Request::Upload { assignment_id, announced, offset, bytes } = &message.request else {
            return Ok(Ok(None));
        };
        let (assignment_id, announced, offset) = (*assignment_id, *announced, *offset);
        let request = UploadRequest { assignment_id, announced, offset };
        match device::begin_upload(coordinator, record, request, self.server_now()).await {
            Ok(Begun::Accepted(status)) => {
                self.check_answer(assignment_id, status.state, Some(announced.digest)).await?;
                Ok(Ok(Some(Answer::Upload(Ok(status)))))
            }
            Ok(Begun::Awaited(guard)) => {
                if offset > 0 {
                    self.coverage.count("uploads resumed");
                }
                let at = (offset as usize).min(bytes.len());
                let (message, record, bytes) = (message.clone(), record.clone(), bytes.clone());
                self.go_on(Connection { message, record, guard, bytes, at });
                Ok(Ok(None))
            }
            Err(refusal) => {
                self.check_assignment(assignment_id).await?;
                Ok(Err(refusal))
            }
        }
    }

    fn go_on(&mut self, connection: Connection) {
        let number = self.server.next_number();
        self.server.connections.insert(number, connection);
        let is_slow = self.chance.happens(self.faults.delayed);
        let delay = self.chance.within(if is_slow { 500..=8_000 } else { 1..=60 });
        self.after(delay, Event::BytesArrive { connection: number });
    }

    pub(super) async fn bytes_arrive(&mut self, connection: u64) -> Holds {
        let Some(coordinator) = self.server.coordinator.clone() else { return Ok(()) };
        let Some(connection) = self.server.connections.remove(&connection) else { return Ok(()) };
        let is_gone = self.clients[connection.message.client].incarnation != connection.message.incarnation;
        let breaks = self.chance.happens(self.faults.broken) || is_gone && self.chance.happens(500);
        if breaks {
            return self.break_off(connection).await;
        }
        if connection.at < connection.bytes.len() {
            self.take_bytes(&coordinator, connection).await?;
        } else {
            self.end_upload(&coordinator, connection).await?;
        }
        self.listen();
        Ok(())
    }

    async fn break_off(&mut self, connection: Connection) -> Holds {
        self.coverage.count("connections broken");
        let Connection { message, guard, at, .. } = connection;
        drop(guard);
        self.note(format_args!(
            "client {}'s #{} breaks off at byte {at}",
            message.client, message.request_id.0
        ));
        if self.sabotage == Some(Sabotage::AnAnswerIsForged)
            && let Request::Upload { assignment_id, announced, .. } = &message.request
        {
            let state = folkmoot_protocol::messages::UploadState::Accepted;
            return self.check_answer(*assignment_id, state, Some(announced.digest)).await;
        }
        self.fail(&message);
        Ok(())
    }

    async fn take_bytes(&mut self, coordinator: &Arc<Coordinator>, mut connection: Connection) -> Holds {
        let rest = connection.bytes.len() - connection.at;
        let count =
            if self.chance.happens(200) { rest } else { self.chance.within(1..=rest as u64) as usize };
        let mut part = connection.bytes[connection.at..connection.at + count].to_vec();
        if self.chance.happens(self.faults.damaged) {
            self.coverage.count("bytes damaged");
            let place = self.chance.below(part.len());
            part[place] ^= 1 << self.chance.below(8);
        }
        let upload = connection.guard.as_mut().expect("whoever sends has begun");
        let failures = self.server.store.failures();
        if let Err(refusal) = upload.push(&part) {
            let now = self.server_now();
            let Connection { message, record, guard, .. } = connection;
            let refusal = device::refuse_upload(coordinator, &record, guard, refusal, now).await;
            if let Request::Upload { assignment_id, .. } = message.request {
                self.check_assignment(assignment_id).await?;
            }
            return self.refuse(&message, &refusal, failures);
        }
        connection.at += count;
        self.go_on(connection);
        if self.chance.happens(self.faults.crash_points) {
            self.coverage.count("crashes between the parts of an upload");
            return self.crash("between the parts of an upload");
        }
        Ok(())
    }

    async fn end_upload(&mut self, coordinator: &Arc<Coordinator>, mut connection: Connection) -> Holds {
        let now = self.server_now();
        let upload = connection.guard.as_mut().expect("whoever sends has begun");
        if upload.is_whole() && self.chance.happens(self.faults.crash_points) {
            // At this point, the update is in the log but not in the database.
            let _ = upload.finish(&coordinator.ingest, now);
            if self.chance.happens(500) {
                self.note(format_args!("client {} leaves before the acceptance", connection.message.client));
                return self.break_off(connection).await;
            }
            self.coverage.count("crashes between the log and the acceptance");
            self.server.connections.insert(0, connection);
            return self.crash("between the log and the acceptance");
        }
        let Connection { message, record, guard, .. } = connection;
        let Request::Upload { assignment_id, announced, .. } = message.request else { return Ok(()) };
        let failures = self.server.store.failures();
        match device::finish_upload(coordinator, &record, guard, now).await {
            Ok(status) => {
                self.note(format_args!("client {}'s #{}: {status:?}", message.client, message.request_id.0));
                self.check_answer(assignment_id, status.state, Some(announced.digest)).await?;
                let is_accepted = status.state == folkmoot_protocol::messages::UploadState::Accepted;
                if is_accepted {
                    self.coverage.count("updates accepted");
                }
                if is_accepted && self.chance.happens(self.faults.crash_points) {
                    self.coverage.count("crashes between the acceptance and its answer");
                    return self.crash("between the acceptance and its answer");
                }
                self.respond(&message, Answer::Upload(Ok(status)));
                Ok(())
            }
            Err(refusal) => {
                if refusal.code() == folkmoot_protocol::ErrorCode::UpdateDigestMismatch {
                    self.coverage.count("digest mismatches");
                }
                self.check_assignment(assignment_id).await?;
                self.refuse(&message, &refusal, failures)
            }
        }
    }
}
