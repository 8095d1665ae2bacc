//! The clients. Each has a real session, and a simulated host that performs its effects, crashes and restarts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use folkmoot_protocol::{AssignmentId, BlobDigest, Timestamp, UpdateDigest, messages::CheckInRequest};
use folkmoot_rounds::ingest::Announced;
use folkmoot_session::{Answer, Effect, Event as SessionEvent, Offer, RequestId, Session};
use folkmoot_storage::ClientRecord;

use super::{Event, World, exchange::Exchange, network::Request, short};
use crate::{
    chance::Chance,
    invariants::{
        Holds, a_session_shows_one_digest, a_session_waits_for_something, broken, no_session_refuses,
    },
    scenario::{Garbage, Nature, Sabotage},
};

/// A client's machine.
pub struct SimClient {
    pub index: usize,
    pub record: ClientRecord,
    pub nature: Nature,
    /// The offset of the client's clock, in milliseconds.
    pub clock_offset: i64,
    /// The number of the client's current process. Messages to earlier processes are lost.
    pub incarnation: u32,
    /// The session in memory; `None` while the process is not running.
    pub session: Option<Session>,
    /// True if the client never comes back.
    pub is_gone: bool,
    /// The time of the client's alarm, by its own clock.
    pub alarm_at: Option<Timestamp>,
    pub alarm: u64,
    /// On disk: the session in the state in which it was last stored.
    stored: Option<String>,
    /// On disk: encoded updates.
    pub updates: BTreeMap<AssignmentId, Arc<Vec<u8>>>,
    /// Different updates for the same assignments, if the client sends two updates.
    pub second_updates: BTreeMap<AssignmentId, Arc<Vec<u8>>>,
    /// On disk: the digests of fetched blobs.
    pub cached: BTreeSet<BlobDigest>,
    fetching: Option<(RequestId, BlobDigest)>,
    /// On disk: the journals of secure aggregation.
    pub journals: BTreeMap<AssignmentId, String>,
    /// In memory: the step of secure aggregation that the client takes.
    pub exchange: Option<Exchange>,
    /// The number of the client's last request of secure aggregation.
    pub last_number: u64,
    /// In memory: the assignment and attempt of a complete training that is not encoded yet.
    pub trained: Option<(AssignmentId, u64)>,
    attempts: u64,
    offer: Offer,
    pub chance: Chance,
}

impl SimClient {
    pub fn new(seed: u64, index: usize, record: ClientRecord, nature: Nature) -> Self {
        let mut chance = Chance::of(seed, 100 + index as u64);
        let request = CheckInRequest {
            sdk_version: "0.1.0".into(),
            example_count: chance.within(1..=500),
            attributes: BTreeMap::new(),
            codecs: Vec::new(),
        };
        let offer = Offer { request, wait_seconds: [0, 10, 30][chance.below(3)] };
        Self {
            index,
            record,
            nature,
            clock_offset: chance.signed(60_000),
            incarnation: 0,
            session: None,
            is_gone: false,
            alarm_at: None,
            alarm: 0,
            stored: None,
            updates: BTreeMap::new(),
            second_updates: BTreeMap::new(),
            cached: BTreeSet::new(),
            fetching: None,
            journals: BTreeMap::new(),
            exchange: None,
            last_number: 0,
            trained: None,
            attempts: 0,
            offer,
            chance,
        }
    }
}

impl World {
    fn client_now(&self, client: usize) -> Timestamp {
        Timestamp(self.now.saturating_add_signed(self.clients[client].clock_offset))
    }

    pub(super) fn start_client(&mut self, index: usize) -> Holds {
        let client = &mut self.clients[index];
        if client.is_gone || client.session.is_some() {
            return Ok(());
        }
        let restored = client.stored.as_ref().map(|json| Session::from_json(json.as_bytes()));
        let restored =
            restored.transpose().map_err(|error| broken("what_was_stored_can_be_read", error.to_string()))?;
        client.session = Some(restored.unwrap_or_else(|| Session::new(client.offer.clone())));
        self.note(format_args!("client {index} starts"));
        self.step_client(index, SessionEvent::Started)
    }

    pub(super) fn meet(&mut self, index: usize, incarnation: u32, event: SessionEvent) -> Holds {
        let client = &mut self.clients[index];
        if client.incarnation != incarnation || client.session.is_none() {
            return Ok(());
        }
        if let SessionEvent::Answered { request_id, answer: Answer::Fetch(Ok(_)) } = &event
            && let Some((_, digest)) = client.fetching.take_if(|(awaited, _)| awaited == request_id)
        {
            client.cached.insert(digest);
        }
        self.step_client(index, event)
    }

    pub(super) fn ring(&mut self, index: usize, alarm: u64) -> Holds {
        let client = &mut self.clients[index];
        if client.alarm != alarm || client.session.is_none() {
            return Ok(());
        }
        client.alarm_at = None;
        self.step_client(index, SessionEvent::Wake)
    }

    fn step_client(&mut self, index: usize, event: SessionEvent) -> Holds {
        let now = self.client_now(index);
        let client = &mut self.clients[index];
        let session = client.session.take().expect("only a running process steps");
        let (before, name) = (session.state().name(), event.name());
        let (session, effects) =
            session.step(event, now, &mut client.chance.0).map_err(no_session_refuses)?;
        let after = session.state().name();
        client.session = Some(session);
        self.note(format_args!("client {index}: {before} --{name}--> {after}"));
        let is_killed = self.chance.happens(self.faults.client_kills);
        let performed = if is_killed { self.chance.below(effects.len() + 1) } else { effects.len() };
        for effect in effects.into_iter().take(performed) {
            self.perform(index, effect)?;
        }
        if is_killed {
            self.kill_client(index);
            return Ok(());
        }
        let client = &self.clients[index];
        client
            .session
            .as_ref()
            .map_or(Ok(()), |session| a_session_waits_for_something(session, client.alarm_at.map(|at| at.0)))
    }

    /// Kills a client's process.
    pub(super) fn kill_client(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if client.session.is_none() {
            return;
        }
        client.session = None;
        client.incarnation += 1;
        client.alarm += 1;
        client.alarm_at = None;
        client.trained = None;
        client.exchange = None;
        self.coverage.count("client crashes");
        self.note(format_args!("client {index} is killed"));
        let delay = self.chance.within(50..=10_000);
        self.after(delay, Event::ClientStarts { client: index });
    }

    /// Removes a client forever.
    pub(super) fn lose_client(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if client.is_gone {
            return;
        }
        client.is_gone = true;
        client.session = None;
        client.exchange = None;
        client.incarnation += 1;
        client.alarm += 1;
        self.coverage.count("clients lost for good");
        self.note(format_args!("client {index} is lost for good"));
    }

    /// Schedules the alarm again after the clock or the alarm has changed.
    pub(super) fn set_alarm(&mut self, index: usize) {
        let client = &mut self.clients[index];
        client.alarm += 1;
        let Some(at) = client.alarm_at else { return };
        let due = at.0.saturating_add_signed(-client.clock_offset).max(self.now);
        let alarm = client.alarm;
        self.queue.push(due, Event::AlarmRings { client: index, alarm });
    }

    pub(super) fn answer_here(
        &mut self,
        index: usize,
        request_id: RequestId,
        milliseconds: u64,
        answer: Answer,
    ) {
        let incarnation = self.clients[index].incarnation;
        let event = SessionEvent::answered(request_id, answer);
        self.after(milliseconds, Event::ClientMeets { client: index, incarnation, event });
    }

    fn perform(&mut self, index: usize, effect: Effect) -> Holds {
        let client = &mut self.clients[index];
        match effect {
            Effect::Persist => client.stored = client.session.as_ref().map(Session::to_json),
            Effect::WakeAt(at) => {
                client.alarm_at = Some(at);
                self.set_alarm(index);
            }
            Effect::CheckIn { request_id, request, wait_seconds } => {
                self.send(index, request_id, Request::CheckIn { request, wait_seconds });
            }
            Effect::Fetch { request_id, artifact, .. } => {
                if client.cached.contains(&artifact.digest) {
                    self.answer_here(index, request_id, 1, Answer::Fetch(Ok(0)));
                } else {
                    client.fetching = Some((request_id, artifact.digest));
                    self.send(index, request_id, Request::Fetch { artifact });
                }
            }
            Effect::Train { request_id, assignment } => {
                client.attempts += 1;
                // With masks, such a client vanishes in a step of the protocol.
                let vanishes = client.nature == Nature::Vanishing && !assignment.is_masked;
                client.trained = Some((assignment.assignment_id, client.attempts));
                match client.nature {
                    Nature::Vanishing if vanishes && self.chance.happens(300) => self.lose_client(index),
                    Nature::Stalling if !self.chance.happens(200) => {}
                    _ => {
                        // In a calm world, training is short enough for the shortest deadline, which is 5 seconds.
                        let most = if self.is_calm { 1_500 } else { 12_000 };
                        let milliseconds = self.chance.within(100..=most);
                        self.answer_here(index, request_id, milliseconds, Answer::Trained);
                    }
                }
            }
            Effect::Listen { request_id, assignment_id, wait_seconds } => {
                self.send(index, request_id, Request::Ask { assignment_id, wait_seconds });
            }
            Effect::FinishEarly { request_id } => {
                self.coverage.count("trainings asked");
                if client.nature != Nature::Stalling {
                    let milliseconds = self.chance.within(1..=200);
                    self.answer_here(index, request_id, milliseconds, Answer::Trained);
                }
            }
            Effect::Prepare { request_id, assignment } => self.prepare(index, request_id, &assignment),
            Effect::QueryUpload { request_id, assignment_id } => {
                self.send(index, request_id, Request::QueryUpload { assignment_id });
            }
            Effect::Upload { request_id, assignment_id, offset, length, digest } => {
                let announced = Announced { digest, length };
                return self.upload(index, request_id, assignment_id, offset, announced);
            }
            Effect::SendReport { request_id, assignment_id, report } => {
                self.send(index, request_id, Request::Report { assignment_id, report });
            }
            Effect::SendAbort { request_id, assignment_id, abort } => {
                self.note(format_args!(
                    "client {index} gives {} up: {:?}",
                    short(assignment_id),
                    abort.reason
                ));
                self.send(index, request_id, Request::Abort { assignment_id, abort });
            }
            Effect::Exchange { request_id, assignment, step } => {
                return self.exchange(index, request_id, assignment, step);
            }
            Effect::Cancel { request_id } => {
                client.exchange.take_if(|exchange| exchange.request_id == request_id);
            }
            Effect::Prefetch { .. } => {}
            Effect::Forget { assignment_id, .. } => {
                client.journals.remove(&assignment_id);
                client.updates.remove(&assignment_id);
                client.trained = None;
            }
        }
        Ok(())
    }

    /// Announces and sends an update. A hostile client sends its own kind of upload instead.
    fn upload(
        &mut self,
        index: usize,
        request_id: RequestId,
        assignment_id: AssignmentId,
        offset: u64,
        mut announced: Announced,
    ) -> Holds {
        let client = &self.clients[index];
        let stored =
            client.updates.get(&assignment_id).filter(|bytes| bytes.len() as u64 == announced.length);
        let Some(mut bytes) = stored.cloned() else {
            self.answer_here(index, request_id, 1, Answer::UpdateLost);
            return Ok(());
        };
        let nature = client.nature;
        if client.journals.contains_key(&assignment_id) && self.vanishes(index, 2) {
            return Ok(());
        }
        let is_shown = self.ledger.shown.contains_key(&(index, assignment_id));
        if self.sabotage == Some(Sabotage::AClientAnswersTwice) && is_shown {
            announced.digest = UpdateDigest::of(b"another update");
        }
        let shown = self.ledger.shown.insert((index, assignment_id), announced.digest);
        a_session_shows_one_digest(shown, announced.digest)?;
        if let Some(second) = self.clients[index].second_updates.get(&assignment_id).cloned() {
            let announced = Announced { digest: UpdateDigest::of(&second), length: second.len() as u64 };
            let offset = if self.chance.happens(500) { offset } else { 0 };
            self.send(index, request_id, Request::Upload { assignment_id, announced, offset, bytes: second });
        }
        let mut sent_to = assignment_id;
        match nature {
            Nature::Hostile(Garbage::OtherDigest) => {
                let mut damaged = bytes.to_vec();
                if let Some(last) = damaged.last_mut() {
                    *last ^= 1;
                }
                bytes = Arc::new(damaged);
            }
            Nature::Hostile(Garbage::AnothersAssignment) => {
                let others = self.ledger.newest.filter(|(owner, _)| *owner != index);
                sent_to = others.map_or(AssignmentId::from_bytes([0; 16]), |(_, id)| id);
            }
            _ => {}
        }
        if nature.is_hostile() {
            self.coverage.count("garbage sent");
        }
        self.send(index, request_id, Request::Upload { assignment_id: sent_to, announced, offset, bytes });
        Ok(())
    }
}
