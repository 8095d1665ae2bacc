//! Whole sessions, event by event.

use crate::support::{Stage, assignment};
use folkmoot_protocol::{AssignmentId, BlobDigest, ErrorCode, Timestamp, UpdateDigest, messages::*};
use folkmoot_session::{Answer, Effect, Event, Failure, State, StopCause};

const MINUTE: u64 = 60_000;

impl Stage {
    fn assigned() -> Self {
        let mut stage = Self::new();
        stage.assign(1);
        stage
    }

    fn uploading() -> Self {
        let mut stage = Self::assigned();
        stage.fetch_all();
        stage.answer(Answer::Trained);
        stage.prepare();
        stage
    }

    fn assign(&mut self, number: u8) {
        let assignment = assignment(number, 10 * MINUTE);
        self.answer(Answer::CheckIn(Ok(CheckInResponse::Assigned { assignment })));
    }

    fn wait(&mut self, min: u64, max: u64, offered: Option<Artifact>) {
        self.answer(Answer::CheckIn(Ok(CheckInResponse::Wait {
            retry_after_milliseconds_min: min,
            retry_after_milliseconds_max: max,
            offered,
        })));
    }

    fn prepare(&mut self) {
        self.answer(Answer::Prepared { digest: UpdateDigest::of(b"update"), length: 1000 });
    }

    fn upload_status(&mut self, received_bytes: u64, state: UploadState) {
        self.answer(Answer::Upload(Ok(UploadStatus { received_bytes, state })));
    }

    fn fail(&mut self, code: ErrorCode) -> Failure {
        Failure::refused(code)
    }

    fn sent_abort(&self) -> Option<AbortReason> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::SendAbort { abort, .. } => Some(abort.reason),
            _ => None,
        })
    }

    fn upload_offset(&self) -> Option<u64> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Upload { offset, .. } => Some(*offset),
            _ => None,
        })
    }

    fn asks_for_the_offset(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::QueryUpload { .. }))
    }

    fn forgets(&self, number: u8, was_accepted: Option<bool>) -> bool {
        let assignment_id = AssignmentId::from_random_bytes([number; 16]);
        self.effects.contains(&Effect::Forget { assignment_id, was_accepted })
    }
}

#[test]
fn a_round_from_check_in_to_report() {
    let mut stage = Stage::uploading();
    assert_eq!(stage.upload_offset(), Some(0));
    stage.upload_status(1000, UploadState::Accepted);
    let report = ReportRequest { training_milliseconds: 0, download_bytes: 300, upload_bytes: 1000 };
    assert!(stage.forgets(1, Some(true)));
    assert!(matches!(stage.session.state(), State::Done { report: sent, .. } if *sent == report));
    // A process that was killed here may not have stored anything yet.
    stage.event(Event::Started);
    assert!(stage.forgets(1, Some(true)));
    assert_eq!(stage.session.state().assignment_id(), Some(AssignmentId::from_random_bytes([1; 16])));
    stage.answer(Answer::Report(Err(Failure::network())));
    assert_eq!(stage.session.state().name(), "checked_in");
}

#[test]
fn what_must_survive_is_stored_before_anything_else() {
    let stage = Stage::uploading();
    assert_eq!(stage.effects[0], Effect::Persist);
}

#[test]
fn a_wait_is_drawn_from_its_window() {
    let mut stage = Stage::new();
    stage.wait(2000, 4000, None);
    let wake_at = stage.session.state().wake_at().unwrap().0;
    assert!((3000..=5000).contains(&wake_at));
    assert!(stage.effects.contains(&Effect::WakeAt(Timestamp(wake_at))));
    stage.wake();
    assert_eq!(stage.session.state().name(), "checked_in");
}

#[test]
fn a_window_that_makes_no_sense_neither_hammers_nor_silences() {
    for (min, max) in [(0, 0), (u64::MAX, 0), (u64::MAX, u64::MAX), (5000, 10)] {
        let mut stage = Stage::new();
        stage.wait(min, max, None);
        let wait = stage.session.state().wake_at().unwrap().0 - 1000;
        assert!((100..=24 * 60 * MINUTE).contains(&wait), "{min} {max} {wait}");
    }
}

#[test]
fn weights_that_are_offered_are_fetched_while_it_waits() {
    let mut stage = Stage::new();
    let artifact = Artifact { digest: BlobDigest::of(b"newer weights"), bytes: 13 };
    stage.wait(2000, 4000, Some(artifact));
    let wake_at = stage.session.state().wake_at().unwrap();
    let prefetch = Effect::Prefetch { artifact };
    assert_eq!(prefetch.request_id(), None);
    assert_eq!(stage.effects, [Effect::Persist, prefetch, Effect::WakeAt(wake_at)]);
    assert!((3000..=5000).contains(&wake_at.0), "an offer changes nothing about the wait");
    stage.wake();
    assert!(!stage.effects.iter().any(|effect| matches!(effect, Effect::Prefetch { .. })));
    stage.event(Event::StopRequested);
    assert!(stage.session.is_stopped());
}

#[test]
fn answers_to_older_requests_change_nothing() {
    let mut stage = Stage::assigned();
    let before = stage.session.clone();
    let old = Stage::new().session.state().request_id().unwrap();
    stage.event(Event::answered(old, Answer::CheckIn(Err(Failure::refused(ErrorCode::ClientRevoked)))));
    assert_eq!(stage.session, before);
    assert!(stage.effects.is_empty());
}

#[test]
fn an_answer_of_another_kind_is_the_hosts_mistake() {
    let stage = Stage::assigned();
    let request_id = stage.session.state().request_id().unwrap();
    let mut rng = stage.rng.clone();
    let error = stage.session.step(Event::answered(request_id, Answer::Trained), stage.now, &mut rng);
    assert_eq!(error.unwrap_err().event, "trained");
}

#[test]
fn a_broken_upload_goes_on_from_where_the_coordinator_is() {
    let mut stage = Stage::uploading();
    stage.answer(Answer::Upload(Err(Failure::network())));
    assert_eq!(stage.session.state().name(), "backing_off");
    stage.wake();
    assert!(stage.asks_for_the_offset());
    stage.upload_status(400, UploadState::Partial);
    assert_eq!(stage.upload_offset(), Some(400));
    let mut failure = stage.fail(ErrorCode::UploadOffsetMismatch);
    failure.received_bytes = Some(500);
    stage.answer(Answer::Upload(Err(failure)));
    stage.wake();
    assert!(stage.asks_for_the_offset());
    stage.upload_status(500, UploadState::Partial);
    assert_eq!(stage.upload_offset(), Some(500));
}

#[test]
fn a_first_offset_mismatch_is_corrected_at_once() {
    let mut stage = Stage::uploading();
    let mut failure = stage.fail(ErrorCode::UploadOffsetMismatch);
    failure.received_bytes = Some(640);
    stage.answer(Answer::Upload(Err(failure)));
    assert_eq!(stage.upload_offset(), Some(640));
}

#[test]
fn a_killed_app_asks_for_the_offset_first() {
    let mut stage = Stage::uploading();
    stage.event(Event::Started);
    assert!(stage.asks_for_the_offset());
    stage.upload_status(1000, UploadState::Accepted);
    assert_eq!(stage.session.state().name(), "done");
}

#[test]
fn a_killed_training_is_resumed_and_a_late_one_given_up() {
    let mut stage = Stage::assigned();
    stage.fetch_all();
    stage.event(Event::Started);
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Train { .. })));
    stage.now = stage.now.plus_milliseconds(10 * MINUTE);
    stage.event(Event::Started);
    assert_eq!(stage.sent_abort(), Some(AbortReason::DeadlinePassed));
    assert!(stage.forgets(1, Some(false)));
}

#[test]
fn the_deadline_ends_whatever_is_under_way() {
    for prepare in [Stage::assigned, Stage::uploading] {
        let mut stage = prepare();
        let request_id = stage.session.state().request_id().unwrap();
        stage.wake();
        assert_eq!(stage.sent_abort(), Some(AbortReason::DeadlinePassed));
        assert!(stage.effects.contains(&Effect::Cancel { request_id }));
        stage.answer(Answer::Abort(Ok(())));
        assert_eq!(stage.session.state().name(), "idle");
    }
}

#[test]
fn an_assignment_never_gets_a_second_update() {
    let mut stage = Stage::uploading();
    stage.event(Event::ConditionsEnded);
    stage.answer(Answer::Abort(Err(Failure::refused(ErrorCode::Internal))));
    stage.wake();
    stage.answer(Answer::Abort(Ok(())));
    assert_eq!(*stage.session.state(), State::Stopped { cause: StopCause::ConditionsEnded });
    stage.event(Event::Started);
    stage.assign(1);
    assert_eq!(stage.sent_abort(), Some(AbortReason::StateLost));
    stage.answer(Answer::Abort(Ok(())));
    stage.wake();
    stage.assign(2);
    assert_eq!(stage.session.state().name(), "assigned");
}

#[test]
fn an_update_from_before_the_state_was_lost_is_not_replaced() {
    let mut stage = Stage::uploading();
    stage.answer(Answer::Upload(Err(Failure::refused(ErrorCode::UpdateConflict))));
    assert_eq!(stage.sent_abort(), Some(AbortReason::StateLost));
    let mut stage = Stage::uploading();
    stage.answer(Answer::UpdateLost);
    assert_eq!(stage.sent_abort(), Some(AbortReason::StateLost));
}

#[test]
fn a_damaged_update_is_not_sent_for_ever() {
    let mut stage = Stage::uploading();
    for _ in 0..2 {
        stage.answer(Answer::Upload(Err(Failure::refused(ErrorCode::UpdateDigestMismatch))));
        stage.wake();
        stage.upload_status(0, UploadState::Partial);
    }
    stage.answer(Answer::Upload(Err(Failure::refused(ErrorCode::UpdateDigestMismatch))));
    assert_eq!(stage.sent_abort(), Some(AbortReason::StateLost));
}

#[test]
fn a_blob_out_of_reach_ends_the_assignment() {
    let mut stage = Stage::assigned();
    while stage.sent_abort().is_none() {
        stage.answer(Answer::Fetch(Err(Failure::network())));
        if stage.session.state().name() == "backing_off" {
            stage.wake();
        }
    }
    assert_eq!(stage.sent_abort(), Some(AbortReason::FetchFailed));
}

/// Declines the assignment when its plan arrives, and returns how long the session then waits.
fn declined(stage: &mut Stage) -> u64 {
    stage.answer(Answer::WorkFailed { reason: AbortReason::Declined, detail: String::new() });
    let abort = AbortRequest { reason: AbortReason::Declined, detail: String::new() };
    let State::Aborting { aborting, .. } = stage.session.state() else { panic!("no abort") };
    assert_eq!(aborting.abort, abort);
    assert!(stage.forgets(1, Some(false)));
    stage.answer(Answer::Abort(Ok(())));
    stage.session.state().wake_at().expect("it waits").milliseconds_since(stage.now)
}

#[test]
fn who_declines_again_and_again_is_not_drawn_again_at_once() {
    let mut stage = Stage::new();
    let mut waits = Vec::new();
    for _ in 0..200 {
        stage.assign(1);
        waits.push(declined(&mut stage));
        stage.event(Event::Wake);
        assert_eq!(stage.session.state().name(), "idle", "an early ring changes nothing");
        stage.wake();
    }
    assert!((1000..=1500).contains(&waits[0]), "{waits:?}");
    assert!(waits.iter().all(|wait| (1000..=61_000).contains(wait)), "{waits:?}");
    let mean = waits[10..].iter().sum::<u64>() / 190;
    assert!((25_000..=37_000).contains(&mean), "half a minute in the mean, not {mean}");
}

#[test]
fn a_wait_after_declining_survives_a_restart() {
    let mut stage = Stage::assigned();
    let wait = declined(&mut stage);
    stage.event(Event::Started);
    assert_eq!(stage.session.state().wake_at(), Some(stage.now.plus_milliseconds(wait)));
}

#[test]
fn a_closed_round_is_forgotten_and_a_revoked_client_stops() {
    let mut stage = Stage::uploading();
    stage.answer(Answer::Upload(Err(Failure::refused(ErrorCode::RoundClosed))));
    assert!(stage.forgets(1, Some(false)));
    assert_eq!(stage.session.state().name(), "idle");
    stage.wake();
    stage.answer(Answer::CheckIn(Err(Failure::refused(ErrorCode::ClientRevoked))));
    let cause = StopCause::Refused(Some(ErrorCode::ClientRevoked));
    assert_eq!(*stage.session.state(), State::Stopped { cause });
    stage.event(Event::Wake);
    assert!(stage.session.is_stopped() && stage.effects.is_empty());
    stage.event(Event::Started);
    assert_eq!(stage.session.state().name(), "checked_in");
}

#[test]
fn stopping_gives_the_assignment_up() {
    let mut stage = Stage::assigned();
    stage.event(Event::StopRequested);
    assert_eq!(stage.sent_abort(), Some(AbortReason::Stopped));
    stage.answer(Answer::Abort(Err(Failure::network())));
    stage.wake();
    stage.answer(Answer::Abort(Ok(())));
    assert!(stage.session.is_stopped());
    let mut idle = Stage::new();
    idle.event(Event::StopRequested);
    assert!(idle.session.is_stopped());
}

#[test]
fn a_start_while_stopping_goes_on_after_the_abort() {
    let mut stage = Stage::assigned();
    stage.event(Event::StopRequested);
    stage.event(Event::Started);
    assert_eq!(stage.sent_abort(), Some(AbortReason::Stopped));
    stage.answer(Answer::Abort(Ok(())));
    assert_eq!(stage.session.state().name(), "idle");
}

#[test]
fn a_long_detail_is_cut_between_characters() {
    let mut stage = Stage::assigned();
    stage.fetch_all();
    stage.answer(Answer::WorkFailed { reason: AbortReason::TrainingFailed, detail: "ä".repeat(1000) + "x" });
    let State::Aborting { aborting, .. } = stage.session.state() else { panic!("no abort") };
    assert_eq!(aborting.abort.detail.len(), 1024);
}
