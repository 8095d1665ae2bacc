//! A training during which the coordinator may ask for a partial update.

use crate::support::{Stage, assignment, offer};
use folkmoot_protocol::{ErrorCode, UpdateDigest, messages::*};
use folkmoot_session::{Answer, Effect, Event, Failure, Listening, RequestId, State};

const DEADLINE: u64 = 600_000;

impl Stage {
    /// A session that is fetching an assignment with `may_be_asked`.
    fn fetching() -> Self {
        let mut stage = Self::new();
        let assignment = Assignment { may_be_asked: true, ..assignment(1, DEADLINE) };
        stage.answer(Answer::CheckIn(Ok(CheckInResponse::Assigned { assignment })));
        stage
    }

    fn training() -> Self {
        let mut stage = Self::fetching();
        stage.fetch_all();
        stage
    }

    /// Answers the listening request.
    fn hear(&mut self, answer: Result<AskResponse, Failure>) -> RequestId {
        let request_id = self.session.state().listening_id().expect("it listens");
        self.event(Event::answered(request_id, Answer::Ask(answer)));
        request_id
    }

    fn listening(&self) -> Listening {
        let State::Training { listening, .. } = self.session.state() else {
            panic!("it does not train: {:?}", self.session.state())
        };
        *listening
    }

    fn begins_to_listen(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Listen { wait_seconds: 30, .. }))
    }

    fn cancels(&self, request_id: RequestId) -> bool {
        self.effects.contains(&Effect::Cancel { request_id })
    }
}

const ASKED: Result<AskResponse, Failure> = Ok(AskResponse { asked: true });

#[test]
fn only_a_training_that_may_be_asked_listens() {
    let stage = Stage::fetching();
    assert_eq!(stage.session.state().listening_id(), None, "there is nothing to send yet");
    assert!(Stage::training().begins_to_listen());
    let mut stage = Stage::new();
    let plain = assignment(1, DEADLINE);
    stage.answer(Answer::CheckIn(Ok(CheckInResponse::Assigned { assignment: plain })));
    stage.fetch_all();
    assert_eq!((stage.listening(), stage.begins_to_listen()), (Listening::Not, false));
}

#[test]
fn a_host_whose_requests_do_not_wait_does_not_listen() {
    let mut stage = Stage::fetching();
    let offer = folkmoot_session::Offer { wait_seconds: 0, ..offer() };
    stage.session = stage.session.with_offer(offer);
    stage.fetch_all();
    assert_eq!(stage.listening(), Listening::Not);
}

#[test]
fn who_is_asked_in_its_training_ends_it_and_sends_what_there_is() {
    let mut stage = Stage::training();
    let training = stage.session.state().request_id().expect("it trains");
    stage.hear(ASKED);
    assert!(stage.effects.contains(&Effect::FinishEarly { request_id: training }), "{:?}", stage.effects);
    assert_eq!(stage.listening(), Listening::Asked);
    stage.answer(Answer::Trained);
    stage.answer(Answer::Prepared { digest: UpdateDigest::of(b"update"), length: 1000 });
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Upload { offset: 0, .. })));
}

#[test]
fn who_was_asked_while_it_fetched_hears_it_when_its_training_begins() {
    let mut stage = Stage::fetching();
    for _ in 0..3 {
        assert_eq!(stage.session.state().listening_id(), None);
        stage.answer(Answer::Fetch(Ok(100)));
    }
    assert!(stage.begins_to_listen(), "the coordinator, which still asks, answers this at once");
    let training = stage.session.state().request_id().expect("it trains");
    stage.hear(ASKED);
    assert!(stage.effects.contains(&Effect::FinishEarly { request_id: training }), "{:?}", stage.effects);
}

#[test]
fn who_is_asked_after_its_training_is_asked_in_vain() {
    let mut stage = Stage::training();
    let listening = stage.session.state().listening_id().expect("it listens");
    stage.answer(Answer::Trained);
    assert!(stage.cancels(listening), "{:?}", stage.effects);
    let before = stage.session.clone();
    stage.event(Event::answered(listening, Answer::Ask(ASKED)));
    assert_eq!(stage.session, before, "the answer is late");
    assert_eq!(stage.effects, []);
}

#[test]
fn a_wait_without_an_ask_is_followed_by_another() {
    let mut stage = Stage::training();
    let training = stage.session.state().request_id();
    stage.now = stage.now.plus_milliseconds(30_000);
    stage.hear(Ok(AskResponse { asked: false }));
    let Listening::BackingOff { until, failures: 0 } = stage.listening() else {
        panic!("{:?}", stage.listening())
    };
    assert!(until.milliseconds_since(stage.now) <= 500, "it is deaf for no longer");
    stage.wake();
    assert!(stage.begins_to_listen());
    assert_eq!(stage.session.state().request_id(), training, "the training goes on");
}

#[test]
fn a_listening_that_fails_is_tried_again_and_the_training_goes_on() {
    let mut stage = Stage::training();
    let training = stage.session.state().request_id();
    let asked_to_wait =
        Failure { retry_after_milliseconds: Some(7_000), ..Failure::refused(ErrorCode::Overloaded) };
    for (failures, failure, least) in
        [(1, Failure::network(), 0), (2, asked_to_wait, 7_000), (3, Failure::network(), 0)]
    {
        stage.hear(Err(failure));
        let Listening::BackingOff { until, failures: counted } = stage.listening() else {
            panic!("{:?}", stage.listening())
        };
        assert_eq!(counted, failures);
        assert!(until.milliseconds_since(stage.now) >= least);
        assert_eq!(stage.session.state().request_id(), training);
        stage.wake();
        assert!(stage.begins_to_listen(), "after failure {failures}");
    }
    // A refusal that would stop the client is left for the upload to find.
    stage.hear(Err(Failure::refused(ErrorCode::MalformedRequest)));
    assert_eq!((stage.listening(), stage.session.state().request_id()), (Listening::Not, training));
}

#[test]
fn an_assignment_that_is_gone_is_not_trained_to_its_end() {
    let mut stage = Stage::training();
    let training = stage.session.state().request_id().expect("it trains");
    stage.hear(Err(Failure::refused(ErrorCode::AssignmentExpired)));
    assert!(stage.cancels(training));
    assert!(
        stage.effects.iter().any(|effect| matches!(effect, Effect::Forget { was_accepted: Some(false), .. }))
    );
    assert_eq!(stage.session.state().name(), "idle");
}

#[test]
fn a_stop_and_a_deadline_end_the_listening_too() {
    for event in [Event::StopRequested, Event::ConditionsEnded, Event::Wake] {
        let mut stage = Stage::training();
        let ids = [stage.session.state().request_id(), stage.session.state().listening_id()];
        if event == Event::Wake {
            stage.now = stage.now.plus_milliseconds(DEADLINE);
        }
        stage.event(event.clone());
        assert!(ids.into_iter().flatten().all(|id| stage.cancels(id)), "{event:?}: {:?}", stage.effects);
    }
}

#[test]
fn a_process_that_comes_back_listens_anew() {
    let mut stage = Stage::training();
    stage.hear(ASKED);
    stage.event(Event::Started);
    assert!(stage.begins_to_listen(), "the coordinator still asks, and says so again");
}
