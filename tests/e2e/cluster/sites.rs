//! A site in front of several processes: any of them may draw its clients, take its sum, or combine it.

use folkmoot_storage::AssignmentRepository;
use futures::future::select;

use super::*;
use crate::edge_aggregators::Site;

const SITE_CLIENTS: u64 = 4;
const SITE_GOAL: u64 = 4;
const SITE_ROUNDS: u64 = 8;

/// Half of the clients send their updates through a site. While they do, coordinators are killed, and the site restarts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_and_processes_that_are_killed_lose_nothing() {
    let spec = TaskSpec::synthetic(&[60, 50, 12], SITE_GOAL, SITE_ROUNDS);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, 2, SEED).await else { return };
    let mut site = Site::of_cluster(&cluster).await;
    let ledger = Arc::new(Ledger::new(cluster.task.clone()));
    let mut clients = JoinSet::new();
    for number in 0..SITE_CLIENTS {
        let (endpoint, settings, url) = match number % 2 {
            0 => (&cluster.endpoint, cluster.http_settings(), cluster.url()),
            _ => (&site.endpoint, site.http_settings(), site.url()),
        };
        let client =
            CrashClient::enrolled(endpoint, &settings, &url, ledger.clone(), SEED + 100 + number).await;
        clients.spawn(client.run());
    }
    let log = cluster.log.clone();
    let is_last = |line: &str| {
        let version = fields_of(line, "round committed")?.get("version")?.as_u64()?;
        (version == SITE_ROUNDS).then_some(())
    };
    // A quick machine may have ended the task: then there is nobody left to disturb.
    let progress = async |times| {
        let (progress, end) = (Box::pin(ledger.progress(times)), Box::pin(log.wait_for(0, is_last)));
        patiently("progress", select(progress, end)).await;
    };
    for number in [0, 1] {
        progress(SITE_GOAL + 1).await;
        cluster.kill(number).await;
        progress(1).await;
        cluster.restart(number).await;
        site.stop().await;
        site.restart().await;
    }
    let (storage, rounds) = ended(&mut cluster, &ledger, clients, SITE_ROUNDS).await;
    let mut held = 0;
    for round in &rounds {
        let accepted = storage.accepted_updates(round.id).await.expect("the database can be read");
        held += accepted.iter().filter(|update| update.held.is_some()).count();
    }
    assert!(held > 0, "the site has held updates");
    storage.close().await;
}
