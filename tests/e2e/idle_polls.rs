//! Tests many waiting clients. They must use few resources and must not delay other clients.

use folkmoot_protocol::messages::CheckInResponse;
use folkmoot_tests::{
    deployment::Deployment,
    patience::patiently,
    raw::{Answer, RawRequest},
    raw_client::RawClient,
    task::TaskSpec,
};
use tokio::task::JoinSet;

use crate::{COORDINATOR, cohort::enrol};

const WAITING: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_clients_wait_while_others_are_served_and_all_are_drawn() {
    let spec = TaskSpec::synthetic(&[6, 8, 3], WAITING as u64 + 1, 1);
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, WAITING).await;
    let mut polls = JoinSet::new();
    for client in clients {
        polls.spawn(async move { patiently("the draw", client.await_assignment()).await });
    }
    patiently("all to wait", async {
        while waiting_check_ins(&deployment).await < WAITING {
            tokio::task::yield_now().await;
        }
    })
    .await;
    deployment.assert_answers().await;
    let last = RawClient::enrolled(&deployment.endpoint, &deployment.task.token).await;
    let answer: Answer = last.send(&last.check_in(0)).await;
    // The last client may or may not be part of the first draw.
    answer.json::<CheckInResponse>();
    let mut drawn = Vec::new();
    while let Some(assignment) = polls.join_next().await {
        drawn.push(assignment.expect("a check-in is answered"));
    }
    drawn.push(patiently("the draw", last.await_assignment()).await);
    assert!(drawn.iter().all(|assignment| assignment.round_id == drawn[0].round_id));
    drawn.sort_by_key(|assignment| assignment.assignment_id);
    drawn.dedup_by_key(|assignment| assignment.assignment_id);
    assert_eq!(drawn.len(), WAITING + 1, "everybody has an assignment of its own");
    deployment.assert_unharmed().await;
}

async fn waiting_check_ins(deployment: &Deployment) -> usize {
    let text = deployment.endpoint.send(&RawRequest::new("GET", "/metrics")).await.text();
    let value = text.lines().find_map(|line| line.strip_prefix("folkmoot_waiting_check_ins "));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}
