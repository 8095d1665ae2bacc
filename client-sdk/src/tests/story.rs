use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use folkmoot_engine::{Examples, Labels};
use folkmoot_protocol::{
    Disposition, ErrorCode, Precision, Problem, ProblemCode, Timestamp, Work,
    messages::{AbortReason, AbortRequest},
    update::{HEADER_BYTES, UpdateHeader},
};
use tokio::sync::Notify;

use super::{
    fake::{Fake, Trouble, artifact},
    listener::listen,
    prefetch::partial,
    tiny_model, until,
};
use crate::{Client, ClientBuilder, ClientError, ClientEvent, Device, Host};

/// A clock that advances by a second at each reading, so that checkpoints come quickly.
fn host() -> Host {
    let now = AtomicU64::new(1_000_000);
    Host::new(move || Timestamp(now.fetch_add(1000, Ordering::Relaxed)), [5; 32])
}

fn examples() -> Examples {
    let features = (0..20).map(|number| (number % 7) as f32 / 7.0).collect();
    Examples::new(features, vec![2], Labels::Classes((0..10).map(|number| number % 2).collect())).unwrap()
}

pub(super) async fn builder(fake: &Arc<Fake>, directory: &Path) -> ClientBuilder {
    let port = listen(Arc::clone(fake), None).await;
    builder_of(&format!("http://127.0.0.1:{port}"), directory)
}

pub(super) fn builder_of(coordinator: &str, directory: &Path) -> ClientBuilder {
    Client::builder(coordinator)
        .enrolment_token("token")
        .state_directory(directory)
        .examples(examples())
        .wait_seconds(1)
        .device(Device::Cpu)
        .host(host())
}

pub(super) fn never() -> impl Future<Output = ()> {
    std::future::pending()
}

#[tokio::test]
async fn a_round_is_finished_over_a_bad_line() {
    let directory = tempfile::tempdir().unwrap();
    let trouble = Trouble {
        check_in_garbage: true,
        clock_skew: true,
        weights_broken: Some(partial(directory.path(), artifact(&tiny_model::weight_bytes()))),
        upload_half: true,
        ..Trouble::default()
    };
    let fake = Arc::new(Fake::new(3, trouble));
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let builder = builder(&fake, directory.path()).await;
    let mut client = builder.on_event(move |event| heard.lock().unwrap().push(event)).build().unwrap();
    // A run is `Send`, so it can be spawned.
    let run = tokio::spawn(async move { client.run_rounds(1, never()).await });
    assert_eq!(run.await.unwrap().unwrap().accepted_rounds, 1);

    let seen = fake.seen();
    assert_eq!(seen.ranges, ["bytes=6-"]);
    assert_eq!(seen.upload_offsets, [0, (HEADER_BYTES as u64 + 16) / 2]);
    assert_eq!(seen.reports.len(), 1);
    let header = UpdateHeader::decode(seen.update.first_chunk().unwrap()).unwrap();
    assert_eq!((header.weight, header.base_version, header.element_count), (10, 2, 4));
    assert_eq!((header.metrics.example_count, header.metrics.step_count), (30, 15));
    assert_eq!(header.schema_digest, fake.plan.schema.digest());
    let events = events.lock().unwrap();
    let has = |wanted: fn(&ClientEvent) -> bool| events.iter().any(wanted);
    assert!(has(|event| matches!(event, ClientEvent::Enrolled { .. })));
    assert!(has(|event| matches!(event, ClientEvent::BackingOff { detail, .. } if detail.contains("502"))));
    assert!(has(|event| matches!(event, ClientEvent::Training { step: 15, steps_total: 15, .. })));
    assert!(has(|event| matches!(event, ClientEvent::Uploading { sent: 128, total: 128, .. })));
    assert!(has(|event| matches!(event, ClientEvent::Accepted { round_number: 3, .. })));
}

/// The model is `y = x · W` with W = [0.5, -0.5; 0.25, -0.25], so the second output is the first one's negative and the
/// loss of an example is ln(1 + e^-2y) or ln(1 + e^2y).
#[tokio::test]
async fn an_evaluation_sends_what_the_weights_give_by_hand() {
    let mut fake = Fake::new(3, Trouble::default());
    fake.plan.work = Work::Evaluation;
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let builder = builder(&fake, directory.path()).await;
    let mut client = builder.on_event(move |event| heard.lock().unwrap().push(event)).build().unwrap();
    client.run_rounds(1, never()).await.unwrap();

    let feature = |index: usize| (index % 7) as f64 / 7.0;
    let (mut loss_sum, mut correct_count) = (0.0, 0);
    for row in 0..10 {
        let first = 0.5 * feature(2 * row) + 0.25 * feature(2 * row + 1);
        let margin = if row % 2 == 0 { 2.0 * first } else { -2.0 * first };
        loss_sum += (-margin).exp().ln_1p();
        correct_count += u64::from(margin > 0.0 || (margin == 0.0 && row % 2 == 0));
    }
    let seen = fake.seen();
    assert_eq!(seen.update.len(), HEADER_BYTES);
    let header = UpdateHeader::decode(seen.update.first_chunk().unwrap()).unwrap();
    assert_eq!((header.weight, header.base_version, header.element_count), (10, 2, 0));
    assert_eq!(header.schema_digest, fake.plan.schema.digest());
    let metrics = header.metrics;
    assert!((metrics.loss_sum - loss_sum).abs() < 1e-5, "{} is not {loss_sum}", metrics.loss_sum);
    assert_eq!((metrics.example_count, metrics.step_count), (10, 0));
    assert_eq!(metrics.correct_count, correct_count);
    assert_eq!(seen.reports.len(), 1);

    let events = events.lock().unwrap();
    let last = events.iter().rev().find_map(|event| match event {
        ClientEvent::Evaluating { metrics, examples_total, .. } => Some((*metrics, *examples_total)),
        _ => None,
    });
    let (told, examples_total) = last.expect("it says that it evaluates");
    assert_eq!((told.loss_sum, told.example_count, examples_total), (metrics.loss_sum, 10, 10));
    let trains =
        |event: &ClientEvent| matches!(event, ClientEvent::Training { .. } | ClientEvent::Device { .. });
    assert!(!events.iter().any(trains));
}

#[tokio::test]
async fn a_killed_training_gives_the_same_update() {
    let mut updates = Vec::new();
    for is_killed in [false, true] {
        let fake = Arc::new(Fake::new(100, Trouble::default()));
        let directory = tempfile::tempdir().unwrap();
        if is_killed {
            kill_in_training(&fake, directory.path()).await;
        }
        let first_step = Arc::new(AtomicU64::new(u64::MAX));
        let heard = Arc::clone(&first_step);
        let builder = builder(&fake, directory.path()).await.on_event(move |event| {
            if let ClientEvent::Training { step, .. } = event {
                heard.fetch_min(step, Ordering::Relaxed);
            }
        });
        // Another port is another coordinator. The client enrols again, and the session continues.
        builder.build().unwrap().run_rounds(1, never()).await.unwrap();
        assert_eq!(first_step.load(Ordering::Relaxed) > 0, is_killed);
        updates.push(fake.seen().update.clone());
    }
    assert_eq!(updates[0], updates[1]);
}

async fn kill_in_training(fake: &Arc<Fake>, directory: &Path) {
    let is_training = Arc::new(Notify::new());
    let heard = Arc::clone(&is_training);
    let builder = builder(fake, directory).await.on_event(move |event| {
        if matches!(event, ClientEvent::Training { step: 50.., .. }) {
            heard.notify_one();
        }
    });
    let mut client = builder.build().unwrap();
    tokio::select! {
        biased;
        () = is_training.notified() => {}
        end = client.run(never()) => panic!("the run ended: {end:?}"),
    }
    drop(client);
    // The training thread ends after the current step and drops the last handle to the listener.
    until("the end of the training thread", || Arc::strong_count(&is_training) == 1).await;
    assert!(!fake.seen().is_accepted);
}

#[tokio::test]
async fn a_forgotten_client_enrols_once_more() {
    let fake = Arc::new(Fake::new(1, Trouble { client_forgotten: true, ..Trouble::default() }));
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.build().unwrap();
    client.run_rounds(1, never()).await.unwrap();
    assert_eq!(fake.seen().enrolments, 2);
}

#[tokio::test]
async fn a_revoked_client_and_a_wrong_token_are_errors() {
    let revoked = Problem::new(ErrorCode::ClientRevoked, "the operator revoked it");
    let fake = Arc::new(Fake::new(1, Trouble { refused: Some(revoked), ..Trouble::default() }));
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.build().unwrap();
    let error = client.run(never()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ClientError::Refused { code: Some(ErrorCode::ClientRevoked), .. }));
    assert!(text.contains("the operator revoked it"), "{text}");

    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.enrolment_token("guess");
    let error = builder.build().unwrap().run(never()).await.unwrap_err();
    assert!(error.to_string().contains("enrolment_token_invalid"), "{error}");
}

#[tokio::test]
async fn a_code_of_a_newer_coordinator_is_gone_by_with_its_disposition() {
    let refused = |disposition| Problem {
        code: ProblemCode::Unknown("client_too_loud".into()),
        disposition,
        ..Problem::new(ErrorCode::Internal, "be quiet")
    };
    let trouble = |disposition| Trouble { refused: Some(refused(disposition)), ..Trouble::default() };
    for disposition in [Disposition::Retry, Disposition::CheckIn] {
        let fake = Arc::new(Fake::new(1, trouble(disposition)));
        let directory = tempfile::tempdir().unwrap();
        builder(&fake, directory.path()).await.build().unwrap().run_rounds(1, never()).await.unwrap();
    }
    let fake = Arc::new(Fake::new(1, trouble(Disposition::GiveUp)));
    let directory = tempfile::tempdir().unwrap();
    let error = builder(&fake, directory.path()).await.build().unwrap().run(never()).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { code: None, .. }), "{error:?}");
    let text = "the coordinator refuses this client (an unknown code): client_too_loud: be quiet";
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn a_plan_for_another_schema_is_given_up() {
    let mut fake = Fake::new(1, Trouble::default());
    fake.plan.schema.tensors[0].name = "V".into();
    assert_eq!(abort(fake).await.reason, AbortReason::PlanUnsupported);
}

#[tokio::test]
async fn a_plan_for_16_bits_is_given_up_on_a_processor() {
    let mut fake = Fake::new(1, Trouble::default());
    fake.plan.training.precision = Precision::Mixed;
    let abort = abort(fake).await;
    assert_eq!(abort.reason, AbortReason::PlanUnsupported);
    assert!(abort.detail.contains("16-bit"), "{}", abort.detail);
}

/// Runs a client until it gives up an assignment.
async fn abort(fake: Fake) -> AbortRequest {
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.build().unwrap();
    client.run(until("an abort", || !fake.seen().aborts.is_empty())).await.unwrap();
    fake.seen().aborts[0].clone()
}

#[tokio::test]
async fn stopping_in_training_tells_the_coordinator() {
    let fake = Arc::new(Fake::new(1_000_000, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let is_training = Arc::new(Notify::new());
    let heard = Arc::clone(&is_training);
    let builder = builder(&fake, directory.path()).await.on_event(move |event| {
        if matches!(event, ClientEvent::Training { step: 2.., .. }) {
            heard.notify_one();
        }
    });
    let mut client = builder.build().unwrap();
    client.run(is_training.notified()).await.unwrap();
    assert_eq!(fake.seen().aborts[0].reason, AbortReason::Stopped);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_check_in_costs_nothing() {
    let fake = Arc::new(Fake::new(1, Trouble { waits: true, holds: true, ..Trouble::default() }));
    let directory = tempfile::tempdir().unwrap();
    let reads = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&reads);
    let host = Host::new(move || Timestamp(1_000_000 + counted.fetch_add(1, Ordering::Relaxed)), [5; 32]);
    let mut client = builder(&fake, directory.path()).await.host(host).build().unwrap();
    client.run_rounds(1, never()).await.unwrap();
    // An alarm that fires again and again would read the clock at least every millisecond.
    assert!(reads.load(Ordering::Relaxed) < 400, "the clock was read {reads:?} times");
}
