//! Tests a driver that is paused for longer than its lease, and then continues.

use folkmoot_protocol::messages::{UploadState, UploadStatus};
use folkmoot_tests::{
    cluster::Cluster, halt::Halt, log::fields_of, patience::patiently, raw_client::RawClient, task::TaskSpec,
    update::TestUpdate, verify::verify_rounds,
};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;

use super::{PROCESSES, SEED, WIDTHS};
use crate::COORDINATOR;

/// The driver is paused between combining the updates and committing the version. Another process commits the round
/// meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_wakes_up_after_its_lease_commits_nothing() {
    let spec = TaskSpec::synthetic(&WIDTHS, 2, 2);
    let halt = |config: &mut folkmoot_tests::coordinator_process::CoordinatorConfig| {
        config.halt = Some(Halt::at("version made", 1));
    };
    let started = Cluster::start_with(COORDINATOR, &spec, PROCESSES, SEED, halt).await;
    let Some(mut cluster) = started else { return };
    let mut clients = Vec::new();
    for _ in 0..2 {
        clients.push(RawClient::enrolled(&cluster.endpoint, &cluster.task.token).await);
    }
    let mut sent = BTreeMap::new();
    report(&cluster, &clients, &mut sent).await;

    let all: Vec<usize> = (0..PROCESSES).collect();
    let paused = cluster.halted(&all).await;
    cluster.signal(paused, Signal::SIGSTOP);
    cluster.balancer.take_out(paused, true);
    let others: Vec<usize> = all.iter().copied().filter(|&number| number != paused).collect();
    cluster.halted(&others).await;
    for number in others {
        cluster.go_on(number).await;
    }
    let committed = |version: u64| {
        move |line: &str| {
            (fields_of(line, "round committed")?.get("version")?.as_u64()? == version).then_some(())
        }
    };
    patiently("the commit of another process", cluster.log.wait_for(0, committed(1))).await;

    let lines = cluster.log.len();
    cluster.signal(paused, Signal::SIGCONT);
    cluster.go_on(paused).await;
    let refused = |line: &str| line.contains("because the data changed after it was read").then_some(());
    patiently("the refusal of the second commit", cluster.log.wait_for(lines, refused)).await;
    patiently("the return of the process", cluster.living(PROCESSES)).await;
    cluster.balancer.take_out(paused, false);

    report(&cluster, &clients, &mut sent).await;
    patiently("the next commit", cluster.log.wait_for(0, committed(2))).await;
    cluster.log.assert_no_panic();
    cluster.stop().await;
    let commits =
        cluster.log.since(0).iter().filter(|line| fields_of(line, "round committed").is_some()).count();
    assert_eq!(commits, 2);
    let storage = cluster.storage().await;
    let rounds = verify_rounds(&storage, &cluster.blobs(), &cluster.task, &sent).await;
    assert_eq!(rounds.iter().map(|round| round.accepted.len()).collect::<Vec<_>>(), [2, 2]);
}

/// Each client waits for its assignment, and uploads its update.
async fn report(
    cluster: &Cluster,
    clients: &[RawClient],
    sent: &mut BTreeMap<folkmoot_protocol::AssignmentId, bytes::Bytes>,
) {
    let waits = clients.iter().map(RawClient::await_assignment);
    let assignments = patiently("the assignments", futures::future::join_all(waits)).await;
    for (client, assignment) in clients.iter().zip(assignments) {
        let id = assignment.assignment_id;
        let update = TestUpdate::of(&cluster.task, &assignment).bytes();
        let status: UploadStatus = client.send(&client.upload(id, &update)).await.json();
        assert_eq!(status.state, UploadState::Accepted);
        sent.insert(id, update.into());
    }
}
