//! Handles requests as the HTTP handlers do, but without HTTP.

use std::sync::Arc;

use folkmoot_protocol::{
    AssignmentId, BlobDigest, ErrorCode,
    messages::{AskResponse, CheckInResponse},
};
use folkmoot_rounds::{
    coordinator::Coordinator,
    device::{self, Offered},
    refusal::Refusal,
};
use folkmoot_session::{Answer, Failure};
use folkmoot_storage::ClientRecord;
use futures::FutureExt;
use tokio::sync::Notify;

use super::{
    Event, World,
    network::{Message, Request},
    short,
};
use crate::invariants::{Holds, broken, no_request_fails_inside};

/// A long poll: a check-in that waits for an assignment, or the request of a training client that waits until the
/// coordinator asks for its update.
pub struct HeldPoll {
    /// The request.
    pub message: Message,
    /// Notified when the request may have an answer.
    pub waiter: Arc<Notify>,
}

impl World {
    pub(super) async fn request_arrives(&mut self, message: Message) -> Holds {
        let (client, name, id) = (message.client, message.request.name(), message.request_id.0);
        let Some(coordinator) = self.server.coordinator.clone() else {
            self.note(format_args!("client {client}'s {name} #{id} finds no coordinator"));
            self.fail(&message);
            return Ok(());
        };
        self.note(format_args!("client {client}'s {name} #{id} arrives"));
        let failures = self.server.store.failures();
        if matches!(message.request, Request::Secure { .. } | Request::Progress { .. }) {
            self.secure(&coordinator, &message).await?;
            self.listen();
            return Ok(());
        }
        let outcome = self.answer(&coordinator, &message).await?;
        match outcome {
            Ok(Some(answer)) => self.respond(&message, answer),
            Ok(None) => {}
            Err(refusal) => self.refuse(&message, &refusal, failures)?,
        }
        self.listen();
        Ok(())
    }

    /// Handles a request and returns the response. Returns `None` if the response follows later.
    async fn answer(
        &mut self,
        coordinator: &Arc<Coordinator>,
        message: &Message,
    ) -> Result<Result<Option<Answer>, Refusal>, crate::invariants::Broken> {
        let (record, now) = (self.clients[message.client].record.clone(), self.server_now());
        Ok(match &message.request {
            Request::CheckIn { .. } => self.check_in(coordinator, &record, message).await,
            Request::Ask { assignment_id, .. } => {
                self.ask(coordinator, &record, message, *assignment_id).await
            }
            Request::Fetch { artifact } => {
                let found = device::blob(coordinator, &record, artifact.digest).await;
                if let Ok((bytes, _)) = &found {
                    let is_right =
                        BlobDigest::of(bytes) == artifact.digest && bytes.len() as u64 == artifact.bytes;
                    if !is_right {
                        return Err(broken("a_blob_is_what_its_name_says", artifact.digest.to_string()));
                    }
                }
                found.map(|(bytes, _)| Some(Answer::Fetch(Ok(bytes.len() as u64))))
            }
            Request::QueryUpload { assignment_id } => {
                match device::upload_status(coordinator, &record, *assignment_id, now).await {
                    Ok(status) => {
                        self.check_answer(*assignment_id, status.state, None).await?;
                        Ok(Some(Answer::Upload(Ok(status))))
                    }
                    Err(refusal) => Err(refusal),
                }
            }
            Request::Upload { .. } => return self.begin_upload(coordinator, &record, message).await,
            Request::Report { assignment_id, report } => {
                let done = device::report(coordinator, &record, *assignment_id, report, now).await;
                done.map(|()| Some(Answer::Report(Ok(()))))
            }
            Request::Abort { assignment_id, abort } => {
                let done = device::abort(coordinator, &record, *assignment_id, abort, now).await;
                done.map(|()| Some(Answer::Abort(Ok(()))))
            }
            Request::Secure { .. } | Request::Progress { .. } => unreachable!("these are answered elsewhere"),
        })
    }

    async fn check_in(
        &mut self,
        coordinator: &Coordinator,
        record: &ClientRecord,
        message: &Message,
    ) -> Result<Option<Answer>, Refusal> {
        let Request::CheckIn { request, wait_seconds } = &message.request else { return Ok(None) };
        let wait = u64::from(*wait_seconds) * 1000;
        let waiter = coordinator.check_ins.add(record.id);
        let found = device::check_in(coordinator, record, request, wait, self.server_now()).await;
        match found {
            Ok(None) if wait > 0 => {
                let poll = self.server.next_number();
                self.server.polls.insert(poll, HeldPoll { message: message.clone(), waiter });
                self.after(wait, Event::WaitEnds { poll });
                Ok(None)
            }
            other => {
                coordinator.check_ins.forget(record.id, &waiter);
                let answered = match other? {
                    Some(assignment) => CheckInResponse::Assigned { assignment },
                    None => {
                        let offered = Offered { attributes: &request.attributes, codecs: &[] };
                        device::end_wait(coordinator, record, offered, wait, self.server_now()).await?
                    }
                };
                Ok(Some(self.check_in_answer(message.client, answered)))
            }
        }
    }

    async fn ask(
        &mut self,
        coordinator: &Coordinator,
        record: &ClientRecord,
        message: &Message,
        id: AssignmentId,
    ) -> Result<Option<Answer>, Refusal> {
        let Request::Ask { wait_seconds, .. } = &message.request else { return Ok(None) };
        let waiter = coordinator.listeners.add(record.id);
        if device::is_asked(coordinator, record, id, self.server_now()).await? {
            coordinator.listeners.forget(record.id, &waiter);
            return Ok(Some(Answer::Ask(Ok(AskResponse { asked: true }))));
        }
        let poll = self.server.next_number();
        self.server.polls.insert(poll, HeldPoll { message: message.clone(), waiter });
        self.after(u64::from(*wait_seconds) * 1000, Event::WaitEnds { poll });
        Ok(None)
    }

    fn check_in_answer(&mut self, client: usize, answered: CheckInResponse) -> Answer {
        if let CheckInResponse::Assigned { assignment } = &answered {
            let id = assignment.assignment_id;
            self.note(format_args!("client {client} is given {}", short(id)));
            self.ledger.newest = Some((client, id));
        }
        Answer::CheckIn(Ok(answered))
    }

    /// Answers the held polls whose clients were selected or asked.
    pub(super) async fn wake_polls(&mut self) -> Holds {
        let woken =
            self.server.polls.iter().filter(|(_, poll)| poll.waiter.notified().now_or_never().is_some());
        for poll in woken.map(|(poll, _)| *poll).collect::<Vec<_>>() {
            match self.server.polls.get(&poll).map(|poll| &poll.message.request) {
                Some(Request::Progress { .. }) => self.progress(poll, false).await?,
                _ => self.wait_ends(poll).await?,
            }
        }
        Ok(())
    }

    pub(super) async fn wait_ends(&mut self, poll: u64) -> Holds {
        let Some(coordinator) = self.server.coordinator.clone() else { return Ok(()) };
        if let Some(HeldPoll { message, .. }) = self.server.polls.get(&poll)
            && matches!(message.request, Request::Progress { .. })
        {
            return self.progress(poll, true).await;
        }
        let Some(HeldPoll { message, waiter }) = self.server.polls.remove(&poll) else { return Ok(()) };
        let record = self.clients[message.client].record.clone();
        let failures = self.server.store.failures();
        if let Request::Ask { assignment_id, .. } = &message.request {
            coordinator.listeners.forget(record.id, &waiter);
            let told = device::is_asked(&coordinator, &record, *assignment_id, self.server_now()).await;
            return match told {
                Ok(asked) => {
                    self.respond(&message, Answer::Ask(Ok(AskResponse { asked })));
                    Ok(())
                }
                Err(refusal) => self.refuse(&message, &refusal, failures),
            };
        }
        let Request::CheckIn { request, wait_seconds } = &message.request else { return Ok(()) };
        let wait = u64::from(*wait_seconds) * 1000;
        let offered = Offered { attributes: &request.attributes, codecs: &[] };
        let answered = device::end_wait(&coordinator, &record, offered, wait, self.server_now()).await;
        coordinator.check_ins.forget(record.id, &waiter);
        match answered {
            Ok(answered) => {
                let answer = self.check_in_answer(message.client, answered);
                self.respond(&message, answer);
                Ok(())
            }
            Err(refusal) => self.refuse(&message, &refusal, failures),
        }
    }

    /// Answers with a refusal.
    pub(super) fn refuse(&mut self, message: &Message, refusal: &Refusal, failures: u64) -> Holds {
        no_request_fails_inside(refusal, self.server.store.failures() != failures)?;
        self.note(format_args!(
            "client {}'s #{} is refused: {}",
            message.client,
            message.request_id.0,
            refusal.code()
        ));
        if matches!(message.request, Request::Upload { .. }) {
            self.coverage.count("uploads refused");
            if refusal.code() == ErrorCode::UpdateConflict {
                self.coverage.count("conflicts");
            }
        }
        if matches!(message.request, Request::Secure { .. }) {
            self.coverage.count("secure messages refused");
        }
        let answer = message.request.failed(Failure::from(&*refusal.0));
        self.respond(message, answer);
        Ok(())
    }
}
