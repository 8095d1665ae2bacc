//! Tests a rolling upgrade: every process is drained by SIGTERM and replaced, and no client notices.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_client::{ClientKey, Host, Transport, TransportError, UpdateSource};
use folkmoot_protocol::{
    UpdateDigest,
    messages::{CheckInRequest, CheckInResponse, ReportRequest, UploadState, UploadStatus},
};
use folkmoot_tests::{
    cluster::Cluster,
    log::fields_of,
    patience::patiently,
    raw_client::RawClient,
    task::{TaskSpec, now, random_bytes},
    verify::verify_rounds,
};
use tokio::{io::AsyncWriteExt, task::JoinSet};

use super::{PROCESSES, SEED, WIDTHS};
use crate::{COORDINATOR, crash_coordinator::ledger::Ledger};

/// The clients that train without a pause. Each holds one connection, and the load balancer spreads them, so every
/// process has some.
const CLIENTS: u64 = 6;

/// A client that counts its requests. Every request must be answered, and none may be refused.
struct StrictClient {
    transport: Transport,
    ledger: Arc<Ledger>,
    requests: Arc<AtomicU64>,
}

impl StrictClient {
    async fn enrolled(cluster: &Cluster, ledger: &Arc<Ledger>, requests: &Arc<AtomicU64>) -> Self {
        let raw = RawClient::enrolled(&cluster.endpoint, &cluster.task.token).await;
        let key = ClientKey::from_secret(raw.key.to_bytes());
        let host = Host::new(now, random_bytes());
        let transport = Transport::new(&cluster.http_settings(), &cluster.url(), key, host);
        let transport = transport.expect("the address is right");
        transport.set_client_id(raw.id.expect("it is enrolled"));
        Self { transport, ledger: ledger.clone(), requests: requests.clone() }
    }

    /// Takes part in rounds until a request fails. Returns its error.
    async fn run(self) -> TransportError {
        loop {
            if let Err(error) = self.turn().await {
                return error;
            }
        }
    }

    async fn turn(&self) -> Result<(), TransportError> {
        let request = CheckInRequest {
            sdk_version: "test".into(),
            example_count: 10,
            attributes: Default::default(),
            codecs: Vec::new(),
        };
        let CheckInResponse::Assigned { assignment } =
            self.counted(self.transport.check_in(&request, 60)).await?
        else {
            return Ok(());
        };
        let id = assignment.assignment_id;
        self.counted(self.transport.fetch_blob(assignment.weights)).await?;
        let update = self.ledger.update(&assignment);
        let offset = self.counted(self.transport.upload_status(id)).await?.received_bytes;
        let (length, digest) = (update.len() as u64, UpdateDigest::of(&update));
        let source = UpdateSource::Bytes(update);
        let status = self.counted(self.transport.upload(id, &source, offset, length, digest)).await?;
        assert_eq!(status.state, UploadState::Accepted);
        self.ledger.acknowledge(&assignment);
        let report = ReportRequest { training_milliseconds: 1, download_bytes: 2, upload_bytes: 3 };
        self.counted(self.transport.report(id, &report)).await
    }

    async fn counted<T>(
        &self,
        request: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        let answer = request.await?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        Ok(answer)
    }
}

/// Waits for an event. Panics if a client's request fails meanwhile.
async fn unfailing(clients: &mut JoinSet<TransportError>, what: &str, event: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        Some(failed) = clients.join_next() => panic!("a client's request failed: {failed:?}"),
        () = patiently(what, event) => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_every_process_is_replaced() {
    let rounds = PROCESSES as u64;
    let spec = TaskSpec::synthetic(&WIDTHS, CLIENTS + 1, rounds);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, PROCESSES, SEED).await else { return };
    let ledger = Arc::new(Ledger::new(cluster.task.clone()));
    let requests = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(StrictClient::enrolled(&cluster, &ledger, &requests).await.run());
    }
    // One more client, which every round needs to reach its goal. Its upload is in progress while its process drains.
    let slow = RawClient::enrolled(&cluster.endpoint, &cluster.task.token).await;

    for number in 0..PROCESSES {
        let assignment = patiently("an assignment", slow.await_assignment()).await;
        let update = ledger.update(&assignment);
        let (id, half) = (assignment.assignment_id, update.len() / 2);
        let request = slow.upload(id, &update).sign(&slow.key);
        let mut connection = cluster.member(number).connect().await.expect("the process listens");
        connection.write_all(&request.head(update.len() as u64)).await.expect("the process reads");
        connection.write_all(&update[..half]).await.expect("the process reads");
        connection.flush().await.expect("the process reads");
        let others = ledger.acknowledged_in(assignment.round_number, CLIENTS);
        unfailing(&mut clients, "the other updates", others).await;

        assert!(cluster.balancer.open_to(number) > 0, "clients are connected to the process");
        let lines = cluster.log.len();
        let unready = cluster.drain(number).await;
        assert_eq!(unready.status, 503);
        assert!(unready.text().contains("draining"), "{}", unready.text());
        assert!(unready.headers.contains_key("retry-after"), "{:?}", unready.headers);
        assert_eq!(unready.headers.get("connection").map(String::as_str), Some("close"));

        unfailing(&mut clients, "the others to take over", cluster.living(PROCESSES - 1)).await;
        // The upload ends at the process that drains, and another one commits.
        connection.write_all(&update[half..]).await.expect("the process still reads");
        connection.flush().await.expect("the process still reads");
        let answer = patiently("the end of the upload", cluster.member(number).read_answer(&mut connection));
        let status: UploadStatus = answer.await.expect("the process still answers").json();
        assert_eq!(status.state, UploadState::Accepted);
        ledger.acknowledge(&assignment);
        let version = number as u64 + 1;
        let is_committed = |line: &str| {
            (fields_of(line, "round committed")?.get("version")?.as_u64()? == version).then_some(())
        };
        unfailing(&mut clients, "the commit", cluster.log.wait_for(lines, is_committed)).await;
        cluster.replace_drained(number).await;
    }
    unfailing(&mut clients, "the last answers", std::future::ready(())).await;
    clients.shutdown().await;
    cluster.log.assert_no_panic();
    cluster.stop().await;

    let storage = cluster.storage().await;
    let ended = verify_rounds(&storage, &cluster.blobs(), &cluster.task, &ledger.sent()).await;
    assert_eq!(ended.len() as u64, rounds);
    assert!(ended.iter().all(|round| round.accepted.len() as u64 == CLIENTS + 1));
    ledger.assert_none_is_lost(&ended);
    println!("{} requests of {CLIENTS} clients, and none failed", requests.load(Ordering::Relaxed));
}
