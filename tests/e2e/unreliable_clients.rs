//! Tests clients that vanish, stall, disconnect, repeat requests, or are too late. The round must commit with the other
//! clients or be abandoned with a reason, and the next round must begin.

use std::time::Duration;

use folkmoot_coordinator::round::AbandonReason;
use folkmoot_protocol::{
    ErrorCode,
    messages::{AbortReason, AbortRequest},
};
use folkmoot_tests::{
    coordinator_process::CoordinatorConfig,
    deployment::Deployment,
    log::fields_of,
    patience::patiently,
    raw::{Answer, Connection},
    raw_client::update_path,
    task::TaskSpec,
};
use tokio::{io::AsyncWriteExt, task::JoinSet};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_abandoned, await_version, draw, enrol, sent_by, verify},
};

const WIDTHS: [usize; 3] = [20, 40, 10];

/// Stops the coordinator's clock, so that no deadline passes during the preparations of the test.
fn hold_clock(config: &mut CoordinatorConfig) {
    config.is_clock_held = true;
}

/// Sends the head and half of the bytes of an upload, and returns the open connection.
async fn stall(member: &Member) -> Connection {
    let update = member.update.bytes();
    let request = member.client.upload(member.id(), &update).sign(&member.client.key);
    let mut connection = member.client.endpoint.connect().await.expect("the coordinator listens");
    let head = request.head(update.len() as u64);
    connection.write_all(&head).await.expect("the coordinator reads");
    connection.write_all(&update[..update.len() / 2]).await.expect("the coordinator reads");
    connection.flush().await.expect("the coordinator reads");
    connection
}

/// Sends the rest of an upload that [`stall`] began. Returns the response; `None` if the coordinator closed the
/// connection without one.
async fn go_on(member: &Member, mut connection: Connection) -> Option<Answer> {
    let update = member.update.bytes();
    let _ = connection.write_all(&update[update.len() / 2..]).await;
    let _ = connection.flush().await;
    patiently("an answer", member.client.endpoint.read_answer(&mut connection)).await.ok()
}

/// Waits until the coordinator has received half of the update.
async fn await_half(member: &Member) {
    let half = member.update.bytes().len() as u64 / 2;
    let arrived = async {
        while member.client.upload_status(member.id()).await.received_bytes < half {
            tokio::task::yield_now().await;
        }
    };
    patiently("half of an update", arrived).await;
}

/// Sends the same update four times concurrently, and asserts that it is accepted.
async fn upload_four_times(member: &Member) {
    let mut uploads = JoinSet::new();
    for _ in 0..4 {
        let member = member.clone();
        uploads.spawn(async move { member.upload().await });
    }
    while let Some(answer) = uploads.join_next().await {
        let answer = answer.expect("an upload is answered");
        match answer.code() {
            None => assert_accepted(&answer),
            Some(ErrorCode::UploadBusy | ErrorCode::UploadOffsetMismatch) => {}
            Some(code) => panic!("a repeated upload was refused: {code}"),
        }
    }
    assert_accepted(&member.upload().await);
}

async fn give_up(member: &Member) {
    let abort = AbortRequest { reason: AbortReason::ConditionsEnded, detail: "unplugged".into() };
    let path = format!("/v1/assignments/{}/abort", member.id());
    let answer = member.client.send(&member.client.message(&path, &abort)).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
}

#[track_caller]
fn assert_too_late(answer: &Answer) {
    let code = answer.code().expect("what comes too late is refused");
    assert!(matches!(code, ErrorCode::RoundClosed | ErrorCode::AssignmentExpired), "{code}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_commits_at_its_deadline_with_those_that_were_in_time() {
    let spec = TaskSpec::synthetic(&WIDTHS, 9, 2)
        .with_scheduling("minimum_cohort", 3)
        .with_scheduling("reporting_deadline_seconds", 10);
    let mut deployment = Deployment::start(COORDINATOR, &spec, hold_clock).await;
    let clients = enrol(&deployment, 9).await;
    let first = draw(&deployment, &clients).await;
    let [_vanished, stalled, resumed, repeated, concurrent, late, aborted, good, other_good] = &first[..]
    else {
        panic!("nine were drawn");
    };

    let connection = stall(stalled).await;
    drop(stall(resumed).await);
    resumed.upload_rest().await;
    assert_accepted(&repeated.upload().await);
    assert_accepted(&repeated.upload().await);
    upload_four_times(concurrent).await;
    give_up(aborted).await;
    assert_eq!(aborted.upload().await.code(), Some(ErrorCode::AssignmentExpired));
    assert_accepted(&good.upload().await);
    assert_accepted(&other_good.upload().await);
    await_half(stalled).await;

    deployment.advance(Duration::from_secs(10)).await;
    await_version(&deployment, 1).await;
    assert_too_late(&late.upload().await);
    assert_too_late(&late.client.send(&late.client.get(&update_path(late.id()))).await);
    if let Some(answer) = go_on(stalled, connection).await {
        assert_too_late(&answer);
    }
    // An accepted update must still be reported as accepted after the round has closed.
    assert_accepted(&good.upload().await);

    let second = draw(&deployment, &clients).await;
    for member in &second {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 2).await;
    let counted = [resumed, repeated, concurrent, good, other_good];
    let rounds = verify(&deployment, &sent_by(counted.into_iter().chain(&second))).await;
    assert_eq!(rounds.iter().map(|round| round.accepted.len()).collect::<Vec<_>>(), [5, 9]);
    deployment.assert_answers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_that_too_few_answer_is_abandoned_and_the_next_begins() {
    let spec = TaskSpec::synthetic(&WIDTHS, 3, 1)
        .with_scheduling("minimum_cohort", 2)
        .with_scheduling("selection_deadline_seconds", 1)
        .with_scheduling("reporting_deadline_seconds", 4);
    let mut deployment = Deployment::start(COORDINATOR, &spec, hold_clock).await;
    let clients = enrol(&deployment, 3).await;

    // No client is waiting for the open round, so its selection must end without a cohort.
    let opened = deployment.log.wait_for(0, |line| fields_of(line, "round opened"));
    patiently("the first round", opened).await;
    deployment.advance(Duration::from_secs(1)).await;
    await_abandoned(&deployment, 0).await;
    // All clients are drawn, and two give up. The third client alone is fewer than the minimum cohort.
    let silent = draw(&deployment, &clients).await;
    let line = deployment.log.len();
    give_up(&silent[0]).await;
    give_up(&silent[1]).await;
    await_abandoned(&deployment, line).await;
    assert_too_late(&silent[2].upload().await);
    // All clients are drawn, but none reports. So the deadline must end the round.
    let silent = draw(&deployment, &clients).await;
    let line = deployment.log.len();
    drop(stall(&silent[0]).await);
    deployment.advance(Duration::from_secs(4)).await;
    await_abandoned(&deployment, line).await;
    assert_too_late(&silent[1].upload().await);

    let members = draw(&deployment, &clients).await;
    for member in &members {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 1).await;
    let rounds = verify(&deployment, &sent_by(&members)).await;
    let reasons: Vec<_> = rounds.iter().filter_map(|round| round.abandoned).collect();
    assert!(reasons.contains(&AbandonReason::TooFewClients), "{reasons:?}");
    assert_eq!(reasons.iter().filter(|&&reason| reason == AbandonReason::TooFewReports).count(), 2);
    assert!(rounds.iter().all(|round| round.abandoned.is_none() || round.accepted.is_empty()));
    deployment.assert_answers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_that_has_its_goal_leaves_the_slow_behind() {
    let spec = TaskSpec::synthetic(&WIDTHS, 2, 2).with_scheduling("over_selection_factor", 2.0);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, 4).await;
    let first = draw(&deployment, &clients).await;
    let connection = stall(&first[2]).await;
    await_half(&first[2]).await;
    assert_accepted(&first[0].upload().await);
    assert_accepted(&first[1].upload().await);
    await_version(&deployment, 1).await;
    let answer = go_on(&first[2], connection).await.expect("an open upload is answered");
    assert_too_late(&answer);
    assert_too_late(&first[3].upload().await);

    let second = draw(&deployment, &clients).await;
    for member in &second[2..] {
        assert_accepted(&member.upload().await);
    }
    await_version(&deployment, 2).await;
    let rounds = verify(&deployment, &sent_by(first[..2].iter().chain(&second[2..]))).await;
    assert_eq!(rounds.len(), 2);
    deployment.assert_unharmed().await;
}
