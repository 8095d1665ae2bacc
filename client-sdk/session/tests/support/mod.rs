//! Shared by the session's tests: messages, and a step that checks invariants.

use folkmoot_protocol::{AssignmentId, BlobDigest, RoundId, TaskId, Timestamp, messages::*};
use folkmoot_session::{Answer, Effect, Event, Offer, Session};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub fn offer() -> Offer {
    let request = CheckInRequest {
        sdk_version: "0.1.0".into(),
        example_count: 10,
        attributes: Default::default(),
        codecs: Vec::new(),
    };
    Offer { request, wait_seconds: 30 }
}

pub fn assignment(number: u8, deadline_in_milliseconds: u64) -> Assignment {
    let artifact = |name: &[u8]| Artifact { digest: BlobDigest::of(name), bytes: name.len() as u64 };
    Assignment {
        assignment_id: AssignmentId::from_random_bytes([number; 16]),
        task_id: TaskId::from_random_bytes([1; 16]),
        round_id: RoundId::from_random_bytes([number; 16]),
        round_number: number.into(),
        base_version: 1,
        plan: artifact(b"plan"),
        model: artifact(b"model"),
        weights: artifact(b"weights"),
        weights_parts: Vec::new(),
        control_variate: None,
        deadline: Timestamp(deadline_in_milliseconds),
        deadline_in_milliseconds,
        clipping_norm: None,
        recipe: None,
        may_be_asked: false,
        cohort_min: None,
        protection_level: None,
        metric_sums: false,
        is_masked: false,
        endorsement: None,
    }
}

/// Steps the session and a copy restored from its stored form. Both must behave in the same way.
pub fn step(session: Session, event: Event, now: Timestamp, rng: &mut ChaCha8Rng) -> (Session, Vec<Effect>) {
    let twin = Session::from_json(session.to_json().as_bytes()).expect("what was written can be read");
    assert_eq!(twin, session);
    let twin_result = twin.step(event.clone(), now, &mut rng.clone());
    let result = session.step(event, now, rng);
    assert_eq!(result, twin_result);
    result.expect("the event is possible")
}

/// A session with its host's clock. It records the effects of the last step.
pub struct Stage {
    pub session: Session,
    pub effects: Vec<Effect>,
    pub now: Timestamp,
    pub rng: ChaCha8Rng,
}

impl Stage {
    /// A session that has started and checks in.
    pub fn new() -> Self {
        let rng = ChaCha8Rng::seed_from_u64(7);
        let session = Session::new(offer());
        let mut stage = Self { session, effects: Vec::new(), now: Timestamp(1000), rng };
        stage.event(Event::Started);
        stage
    }

    pub fn event(&mut self, event: Event) {
        (self.session, self.effects) = step(self.session.clone(), event, self.now, &mut self.rng);
    }

    /// Answers the current request.
    pub fn answer(&mut self, answer: Answer) {
        let request_id = self.session.state().request_id().expect("something was asked");
        self.event(Event::answered(request_id, answer));
    }

    /// Answers the fetches of plan, model and weights.
    pub fn fetch_all(&mut self) {
        for _ in 0..3 {
            self.answer(Answer::Fetch(Ok(100)));
        }
    }

    /// Fires the alarm.
    pub fn wake(&mut self) {
        self.now = self.session.state().wake_at().expect("an alarm is set").max(self.now);
        self.event(Event::Wake);
    }
}
