//! Transfers over a network that breaks off repeatedly but makes progress each time.

use crate::support::{assignment, offer, step};
use folkmoot_protocol::{Timestamp, UpdateDigest, messages::*};
use folkmoot_session::{
    Answer, BACK_OFF_MILLISECONDS_MIN, Effect, Event, FETCH_FAILURES_MAX, Failure, PROGRESS_BYTES_MIN,
    Session, State,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A session with an assignment that waits for its plan.
struct Line {
    session: Session,
    effects: Vec<Effect>,
    now: Timestamp,
    rng: ChaCha8Rng,
}

impl Line {
    fn new() -> Self {
        let (session, rng) = (Session::new(offer()), ChaCha8Rng::seed_from_u64(3));
        let mut line = Self { session, effects: Vec::new(), now: Timestamp(1000), rng };
        line.event(Event::Started);
        let assignment = assignment(1, 3_600_000);
        line.answer(Answer::CheckIn(Ok(CheckInResponse::Assigned { assignment })));
        line
    }

    fn event(&mut self, event: Event) {
        (self.session, self.effects) = step(self.session.clone(), event, self.now, &mut self.rng);
    }

    fn answer(&mut self, answer: Answer) {
        let request_id = self.session.state().request_id().expect("something was asked");
        self.event(Event::answered(request_id, answer));
    }

    /// Waits for the end of a back-off, and asserts that it is the back-off after a first failure.
    fn wait_shortly(&mut self) {
        let until = self.session.state().wake_at().expect("an alarm is set");
        assert!(until.milliseconds_since(self.now) <= BACK_OFF_MILLISECONDS_MIN, "it waits too long");
        self.now = until.max(self.now);
        self.event(Event::Wake);
    }
}

#[test]
fn a_download_that_comes_on_is_gone_on_with() {
    let mut line = Line::new();
    for _ in 0..3 * FETCH_FAILURES_MAX {
        line.answer(Answer::Fetch(Err(Failure {
            transferred_bytes: PROGRESS_BYTES_MIN,
            ..Failure::network()
        })));
        line.wait_shortly();
    }
    for bytes in [10, 20, 30] {
        line.answer(Answer::Fetch(Ok(bytes)));
    }
    let State::Training { work, .. } = line.session.state() else { panic!("it has everything") };
    assert_eq!(work.download_bytes, 60 + PROGRESS_BYTES_MIN * u64::from(3 * FETCH_FAILURES_MAX));
}

#[test]
fn an_upload_that_comes_on_is_gone_on_with_and_counts_what_arrived() {
    let mut line = Line::new();
    for _ in 0..3 {
        line.answer(Answer::Fetch(Ok(10)));
    }
    line.answer(Answer::Trained);
    line.answer(Answer::Prepared { digest: UpdateDigest::of(b"update"), length: 1_000_000 });
    for cut in 1..=20 {
        // 30,000 bytes arrive each time.
        line.answer(Answer::Upload(Err(Failure::network())));
        line.wait_shortly();
        let status = UploadStatus { received_bytes: 30_000 * cut, state: UploadState::Partial };
        line.answer(Answer::Upload(Ok(status)));
        let offset = line.effects.iter().find_map(|effect| match effect {
            Effect::Upload { offset, .. } => Some(*offset),
            _ => None,
        });
        assert_eq!(offset, Some(30_000 * cut));
    }
    let accepted = UploadStatus { received_bytes: 1_000_000, state: UploadState::Accepted };
    line.answer(Answer::Upload(Ok(accepted)));
    let State::Done { report, .. } = line.session.state() else { panic!("it was accepted") };
    assert_eq!(report.upload_bytes, 1_000_000);
}
