//! Tests a coordinator whose database has gone. It says so, sheds load, and recovers by itself.

use std::collections::BTreeMap;

use folkmoot_protocol::{
    ErrorCode,
    messages::{UploadState, UploadStatus},
};
use folkmoot_tests::{
    cluster::Cluster,
    log::fields_of,
    patience::patiently,
    raw::{Answer, RawRequest},
    raw_client::RawClient,
    task::TaskSpec,
    update::TestUpdate,
    verify::verify_rounds,
};

use super::SEED;
use crate::COORDINATOR;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_waits_for_a_database_that_has_gone() {
    // An update of 12 kB: of a refused body, the coordinator reads 64 KiB, so that the client gets the answer and no reset.
    let spec = TaskSpec::synthetic(&[30, 60, 20], 1, 1);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, 1, SEED).await else { return };
    let client = RawClient::enrolled(&cluster.endpoint, &cluster.task.token).await;
    let assignment = patiently("an assignment", client.await_assignment()).await;
    let id = assignment.assignment_id;
    let update = TestUpdate::of(&cluster.task, &assignment).bytes();

    cluster.stop_database().await;
    let [ready, healthy] = ["/readyz", "/healthz"]
        .map(|path| async { cluster.endpoint.send(&RawRequest::new("GET", path)).await });
    let ready: Answer = ready.await;
    assert_eq!(ready.status, 503, "{}", ready.text());
    assert!(ready.text().contains("the database does not answer"), "{}", ready.text());
    assert_eq!(healthy.await.status, 200);
    for request in [client.upload(id, &update), client.check_in(0)] {
        let shed = client.send(&request).await;
        assert_eq!((shed.status, shed.code()), (503, Some(ErrorCode::Overloaded)), "{}", shed.text());
        assert!(shed.headers.contains_key("retry-after"), "{:?}", shed.headers);
    }

    cluster.start_database();
    let ready = async {
        while cluster.endpoint.send(&RawRequest::new("GET", "/readyz")).await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    patiently("a coordinator that is ready again", ready).await;
    let offset = client.upload_status(id).await.received_bytes as usize;
    let rest = client.upload_part(id, &update, offset..update.len());
    let status: UploadStatus = client.send(&rest).await.json();
    assert_eq!(status.state, UploadState::Accepted);
    let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
    patiently("the commit", cluster.log.wait_for(0, is_committed)).await;
    cluster.log.assert_no_panic();
    cluster.stop().await;
    let storage = cluster.storage().await;
    let sent = BTreeMap::from([(id, update.into())]);
    assert_eq!(verify_rounds(&storage, &cluster.blobs(), &cluster.task, &sent).await.len(), 1);
}
