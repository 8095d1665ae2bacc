//! Tests clients that decline an assignment because their app requires a larger cohort or more protection than the task
//! has.

use std::sync::Arc;

use folkmoot_client::{
    Budget, Client, ClientEvent, Device, LogAction,
    engine::{Examples, Labels},
};
use folkmoot_protocol::messages::{AbortReason, ProtectionLevel};
use folkmoot_tests::{deployment::Deployment, patience::patiently, task::TaskSpec};
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::{COORDINATOR, cohort::await_version};

/// Creates a client with this budget. Returns the client, its folder, and a signal that is sent when the client
/// declines.
fn client(deployment: &Deployment, budget: Budget) -> (Client, TempDir, Arc<Notify>) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let certificate = std::fs::read(deployment.certificate_path()).expect("the coordinator made one");
    let examples = Examples::new(vec![0.5; 8], vec![2], Labels::Targets(vec![1.0; 4], 1));
    let declined = Arc::new(Notify::new());
    let heard = Arc::clone(&declined);
    let client = Client::builder(deployment.url())
        .certificate(certificate)
        .enrolment_token(&deployment.task.token)
        .state_directory(folder.path())
        .examples(examples.expect("four examples of two features"))
        .wait_seconds(5)
        .device(Device::Cpu)
        .budget(budget)
        .on_event(move |event| {
            if let ClientEvent::Aborted { reason: AbortReason::Declined, .. } = event {
                heard.notify_one();
            }
        });
    (client.build().expect("it is a client"), folder, declined)
}

/// Runs two clients with this budget until both have declined. Returns the reason that the first client shows to its
/// user.
async fn declines(deployment: &Deployment, budget: Budget) -> String {
    let (mut one, _one, one_declined) = client(deployment, budget.clone());
    let (mut other, _other, other_declined) = client(deployment, budget);
    let log = one.transparency_log().clone();
    let both = async { tokio::join!(one.run(one_declined.notified()), other.run(other_declined.notified())) };
    let (one, other) = patiently("two clients that decline", both).await;
    let accepted = [one, other].map(|summary| summary.expect("to decline is no error").accepted_rounds);
    assert_eq!(accepted, [0, 0]);
    let entries = log.entries().expect("the log can be read");
    let told = entries.into_iter().find(|entry| entry.action == LogAction::Declined);
    told.and_then(|entry| entry.detail).expect("the user can read why")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_declines_a_cohort_of_two_if_it_asks_for_three() {
    let spec = TaskSpec::synthetic(&[2, 1], 2, 1).with_scheduling("minimum_cohort", 2);
    let deployment = Deployment::start(COORDINATOR, &spec, |config| config.is_clock_held = true).await;
    let asks = |cohort_min| Budget { cohort_min, ..Budget::default() };
    let words = declines(&deployment, asks(3)).await;
    assert_eq!(words, "cohort_min is 3; a version of this task may combine the updates of only 2 clients");
    let central = Budget { protection_min: ProtectionLevel::Central, ..asks(2) };
    let words = declines(&deployment, central).await;
    assert_eq!(words, "protection_min is central; this assignment offers none");

    let never = std::future::pending::<()>;
    let (mut one, _one, _) = client(&deployment, asks(2));
    let (mut other, _other, _) = client(&deployment, asks(2));
    let both = async { tokio::join!(one.run_rounds(1, never()), other.run_rounds(1, never())) };
    let (one, other) = patiently("two clients that take part", both).await;
    assert_eq!([one, other].map(|summary| summary.expect("it takes part").accepted_rounds), [1, 1]);
    await_version(&deployment, 1).await;
    deployment.assert_answers().await;
}
