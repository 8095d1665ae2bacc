//! Random hosts: late, duplicate, reordered or lost answers, alarms at any time, and processes that are killed between
//! any two effects. Three properties must always hold: no step fails, the session always waits for something that will
//! come, and no assignment gets two updates.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{assignment, offer, step};
use folkmoot_protocol::{AssignmentId, BlobDigest, ErrorCode, Timestamp, UpdateDigest, messages::*};
use folkmoot_session::{Answer, Effect, Event, Failure, RequestId, Session};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

struct Host {
    session: Session,
    stored: Session,
    alarm: Option<Timestamp>,
    /// The requests of this process that have no answer yet.
    outstanding: BTreeMap<RequestId, Effect>,
    /// All earlier answers. The host may repeat them.
    said: Vec<Event>,
    digests: BTreeMap<AssignmentId, BTreeSet<String>>,
    now: Timestamp,
    session_rng: ChaCha8Rng,
    rng: ChaCha8Rng,
    accepted: usize,
    /// All weights that were ever offered to a waiting client.
    offered: Vec<Artifact>,
}

impl Host {
    fn new(seed: u64) -> Self {
        let session = Session::new(offer());
        let mut host = Self {
            stored: session.clone(),
            session,
            alarm: None,
            outstanding: BTreeMap::new(),
            said: Vec::new(),
            digests: BTreeMap::new(),
            now: Timestamp(1_000_000),
            session_rng: ChaCha8Rng::seed_from_u64(seed),
            rng: ChaCha8Rng::seed_from_u64(seed ^ 1),
            accepted: 0,
            offered: Vec::new(),
        };
        host.restart();
        host
    }

    /// Kills the process and restarts it from the stored session.
    fn restart(&mut self) {
        self.outstanding.clear();
        self.alarm = None;
        self.session = self.stored.clone();
        self.step(Event::Started, false);
    }

    /// Steps the session and performs the effects. If `killed`, the process dies in the middle of them.
    fn step(&mut self, event: Event, killed: bool) {
        let (session, effects) = step(self.session.clone(), event, self.now, &mut self.session_rng);
        self.session = session;
        let performed = if killed { self.rng.random_range(0..=effects.len()) } else { effects.len() };
        for effect in effects.into_iter().take(performed) {
            self.perform(effect);
        }
        if killed { self.restart() } else { self.check_that_something_will_come() }
    }

    fn perform(&mut self, effect: Effect) {
        match &effect {
            Effect::Persist => self.stored = self.session.clone(),
            Effect::WakeAt(at) => self.alarm = Some(*at),
            Effect::FinishEarly { request_id } => {
                assert_eq!(Some(*request_id), self.session.state().request_id(), "it is the training's");
            }
            Effect::Cancel { request_id } => drop(self.outstanding.remove(request_id)),
            Effect::Upload { assignment_id, digest, .. } => {
                let digests = self.digests.entry(*assignment_id).or_default();
                digests.insert(digest.to_string());
                assert_eq!(digests.len(), 1, "two updates for {assignment_id}");
            }
            Effect::SendReport { .. } => self.accepted += 1,
            Effect::Prefetch { artifact } => {
                assert!(self.offered.contains(artifact), "{artifact:?} was never offered");
                assert_eq!(self.session.state().name(), "idle", "only who waits has time for it");
            }
            _ => {}
        }
        if let Some(request_id) = effect.request_id() {
            self.outstanding.insert(request_id, effect);
        }
    }

    fn check_that_something_will_come(&self) {
        let state = self.session.state();
        let is_asked = state.request_id().is_some_and(|id| self.outstanding.contains_key(&id));
        let will_wake = match (state.wake_at(), self.alarm) {
            (Some(wanted), Some(alarm)) => alarm <= wanted,
            _ => false,
        };
        assert!(is_asked || will_wake || self.session.is_stopped(), "stuck in {state:?}");
        if let Some(listening) = state.listening_id() {
            assert!(self.outstanding.contains_key(&listening), "{state:?} listens to nothing");
        }
        if state.wake_at().is_some() {
            assert!(will_wake, "the alarm {:?} is not the one of {state:?}", self.alarm);
        }
    }

    /// Creates an answer to an effect. With `luck` 0, the request always succeeds.
    fn answer(&mut self, effect: &Effect, luck: u8) -> Answer {
        let failure = self.failure();
        let fails = luck % 4 == 3;
        let length = 1000;
        match effect {
            Effect::CheckIn { .. } if fails => Answer::CheckIn(Err(failure)),
            Effect::CheckIn { .. } if luck % 4 == 2 => Answer::CheckIn(Ok(CheckInResponse::Wait {
                retry_after_milliseconds_min: self.rng.random_range(0..5000),
                retry_after_milliseconds_max: self.rng.random_range(0..5000),
                offered: self.rng.random::<bool>().then(|| self.offer()),
            })),
            Effect::CheckIn { .. } => {
                let may_be_asked = self.rng.random();
                let assignment = Assignment {
                    may_be_asked,
                    ..assignment(self.rng.random_range(0..6), self.rng.random_range(0..200_000))
                };
                Answer::CheckIn(Ok(CheckInResponse::Assigned { assignment }))
            }
            Effect::Fetch { .. } if luck == 30 => {
                Answer::WorkFailed { reason: AbortReason::Declined, detail: String::new() }
            }
            Effect::Fetch { .. } if luck == 26 => {
                Answer::WorkFailed { reason: AbortReason::FetchFailed, detail: String::new() }
            }
            Effect::Fetch { .. } => Answer::Fetch(if fails { Err(failure) } else { Ok(10) }),
            Effect::Train { .. } | Effect::Prepare { .. } if fails => {
                Answer::WorkFailed { reason: AbortReason::TrainingFailed, detail: String::new() }
            }
            Effect::Train { .. } => Answer::Trained,
            Effect::Listen { .. } if fails => Answer::Ask(Err(failure)),
            Effect::Listen { .. } => Answer::Ask(Ok(AskResponse { asked: luck.is_multiple_of(2) })),
            // Every preparation gives different bytes, so that two updates for one assignment are detected.
            Effect::Prepare { .. } => {
                let digest = UpdateDigest::of(&self.rng.random::<[u8; 16]>());
                Answer::Prepared { digest, length }
            }
            Effect::QueryUpload { .. } | Effect::Upload { .. } if fails => Answer::Upload(Err(failure)),
            Effect::QueryUpload { .. } | Effect::Upload { .. } if luck == 18 => Answer::UpdateLost,
            Effect::QueryUpload { .. } | Effect::Upload { .. } => {
                let received_bytes = self.rng.random_range(0..=length + 1);
                let state = if luck.is_multiple_of(4) { UploadState::Accepted } else { UploadState::Partial };
                Answer::Upload(Ok(UploadStatus { received_bytes, state }))
            }
            Effect::SendReport { .. } => Answer::Report(if fails { Err(failure) } else { Ok(()) }),
            Effect::SendAbort { .. } => Answer::Abort(if fails { Err(failure) } else { Ok(()) }),
            other => panic!("{other:?} wants no answer"),
        }
    }

    fn offer(&mut self) -> Artifact {
        let artifact = Artifact { digest: BlobDigest::of(&self.rng.random::<[u8; 4]>()), bytes: 4 };
        self.offered.push(artifact);
        artifact
    }

    fn failure(&mut self) -> Failure {
        let code = ErrorCode::ALL[self.rng.random_range(0..ErrorCode::ALL.len())];
        let failure = if self.rng.random() { Failure::network() } else { Failure::refused(code) };
        Failure {
            retry_after_milliseconds: self.rng.random::<bool>().then(|| self.rng.random_range(0..9000)),
            received_bytes: self.rng.random::<bool>().then(|| self.rng.random_range(0..2000)),
            transferred_bytes: if self.rng.random() { 0 } else { self.rng.random_range(0..2000) },
            ..failure
        }
    }

    /// Answers one of the outstanding requests.
    fn answer_one(&mut self, luck: u8, is_repeated: bool, killed: bool) {
        let index = self.rng.random_range(0..self.outstanding.len().max(1));
        let Some((&request_id, effect)) = self.outstanding.iter().nth(index) else { return self.wake() };
        let effect = effect.clone();
        let event = Event::answered(request_id, self.answer(&effect, luck));
        if !is_repeated {
            self.outstanding.remove(&request_id);
        }
        self.said.push(event.clone());
        self.step(event, killed);
    }

    fn wake(&mut self) {
        // The alarm fires once.
        if let Some(alarm) = self.alarm.take() {
            self.now = self.now.max(alarm);
        }
        self.step(Event::Wake, false);
    }

    fn act(&mut self, action: u8, luck: u8) {
        self.now = self.now.plus_milliseconds(u64::from(luck) * 20);
        match action {
            0..=119 => self.answer_one(luck, false, false),
            120..=134 => self.answer_one(luck, true, false),
            135..=154 => self.answer_one(luck, false, true),
            155..=179 => {
                if !self.said.is_empty() {
                    let event = self.said[self.rng.random_range(0..self.said.len())].clone();
                    self.step(event, luck > 200);
                }
            }
            180..=209 => self.wake(),
            210..=224 => self.step(Event::Wake, false),
            225..=239 => self.restart(),
            240..=247 => self.step(Event::Started, false),
            248..=251 => self.step(Event::ConditionsEnded, luck > 200),
            252..=255 => self.step(Event::StopRequested, luck > 200),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_that_can_happen_breaks_a_session(
        seed: u64, actions in prop::collection::vec(any::<(u8, u8)>(), 1..300),
    ) {
        let mut host = Host::new(seed);
        for (action, luck) in actions {
            host.act(action, luck);
        }
        // Once the host behaves well again, the client finishes an assignment.
        let accepted_before = host.accepted;
        host.digests.clear();
        host.step(Event::Started, false);
        for number in 0..4000 {
            if host.accepted > accepted_before {
                break;
            }
            match host.session.state().request_id().and_then(|id| host.outstanding.remove(&id)) {
                None => host.wake(),
                Some(Effect::CheckIn { request_id, .. }) => {
                    let fresh = assignment((100 + number % 100) as u8, 100_000_000);
                    let answer = Answer::CheckIn(Ok(CheckInResponse::Assigned { assignment: fresh }));
                    host.step(Event::answered(request_id, answer), false);
                }
                Some(effect) => {
                    let request_id = effect.request_id().expect("it was asked");
                    let answer = host.answer(&effect, 0);
                    host.step(Event::answered(request_id, answer), false);
                }
            }
        }
        prop_assert!(host.accepted > accepted_before, "no progress in {:?}", host.session.state());
    }
}
