//! Tests a deployment under a seeded series of faults: processes are killed and paused, connections are reset, and the
//! database and the object storage fail.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use folkmoot_storage::{AssignmentRepository, SqlStorage};
use folkmoot_tests::{
    cluster::Cluster, log::fields_of, patience::patiently, task::TaskSpec, verify::Verifier,
};
use nix::sys::signal::Signal;
use rand::{Rng, RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use tokio::task::JoinSet;

use super::{PROCESSES, SEED};
use crate::{
    COORDINATOR,
    crash_coordinator::{client::CrashClient, ledger::Ledger},
};

const CLIENTS: u64 = 8;
/// The report goal of the rounds.
const GOAL: u64 = 6;
/// The maximum number of ledger changes before a fault. A round has at least one for each update.
const PROGRESS_MAX: u64 = 18;
/// The widths of the layers, with about 33,000 parameters: two tiles of the running sum.
const WIDTHS: [usize; 3] = [180, 170, 12];
/// More rounds than a test can commit, so that the task does not end.
const ROUNDS_MAX: u64 = 100_000;
/// The number of requests that the object storage refuses before it recovers.
const REFUSALS: u64 = 8;
/// The delay of each answer of a slow object storage.
const DELAY: Duration = Duration::from_millis(100);

/// A fault, with the process that it concerns.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The process is killed, and restarted after the others have committed a round.
    Killed(usize),
    /// The process is killed with its disk.
    Lost(usize),
    /// The process is stopped by SIGSTOP until the others have replaced it and committed a round.
    Paused(usize),
    /// The load balancer resets all connections to the process.
    Reset(usize),
    /// The database shuts down and starts again.
    DatabaseRestarted,
    /// The database crashes and recovers.
    DatabaseCrashed,
    /// The object storage refuses requests.
    StorageFailed,
    /// The object storage is slow for a round.
    StorageSlow,
}

impl Fault {
    /// Returns one fault of each kind, in random order.
    fn shuffled(rng: &mut impl Rng) -> Vec<Self> {
        let mut process = || rng.random_range(0..PROCESSES);
        let mut faults = vec![
            Self::Killed(process()),
            Self::Lost(process()),
            Self::Paused(process()),
            Self::Reset(process()),
            Self::DatabaseRestarted,
            Self::DatabaseCrashed,
            Self::StorageFailed,
            Self::StorageSlow,
        ];
        faults.shuffle(rng);
        faults
    }

    /// Causes the fault, waits until it has had its effect, and heals it.
    async fn strike(self, cluster: &mut Cluster) {
        match self {
            Self::Killed(number) | Self::Lost(number) => {
                cluster.kill(number).await;
                committed(cluster, self).await;
                if matches!(self, Self::Lost(_)) {
                    cluster.lose_disk(number);
                }
                cluster.restart(number).await;
            }
            Self::Paused(number) => {
                cluster.signal(number, Signal::SIGSTOP);
                patiently("the others to take over", cluster.living(PROCESSES - 1)).await;
                cluster.balancer.take_out(number, true);
                cluster.balancer.reset(number);
                committed(cluster, self).await;
                cluster.signal(number, Signal::SIGCONT);
                cluster.balancer.take_out(number, false);
                patiently("the return of the process", cluster.living(PROCESSES)).await;
            }
            Self::Reset(number) => {
                patiently("a connection to reset", cluster.balancer.reset_open(number)).await;
            }
            Self::DatabaseRestarted => cluster.restart_database(Signal::SIGINT).await,
            Self::DatabaseCrashed => cluster.restart_database(Signal::SIGQUIT).await,
            Self::StorageFailed => {
                patiently("refused requests", cluster.s3.refuse(REFUSALS)).await;
            }
            Self::StorageSlow => {
                cluster.s3.delay(DELAY);
                committed(cluster, self).await;
                cluster.s3.delay(Duration::ZERO);
            }
        }
    }
}

/// Waits for a commit that is logged after this call.
async fn committed(cluster: &Cluster, after: impl fmt::Debug) {
    let is_committed = |line: &str| fields_of(line, "round committed").map(drop);
    let commit = cluster.log.wait_for(cluster.log.len(), is_committed);
    patiently(&format!("a commit after {after:?}"), commit).await;
}

/// Asserts that every acknowledged update is accepted in its round, unless the round was abandoned.
async fn assert_none_is_lost(storage: &SqlStorage, ledger: &Ledger, verifier: &Verifier<'_>) {
    let ended: BTreeMap<_, _> = verifier.ended.iter().map(|round| (round.id, round)).collect();
    for (assignment, round) in ledger.acknowledged() {
        let counts = match ended.get(&round) {
            Some(round) => round.abandoned.is_some() || round.accepted.contains(&assignment),
            None => {
                let accepted = storage.accepted_updates(round).await.expect("the database can be read");
                accepted.iter().any(|update| update.assignment_id == assignment)
            }
        };
        assert!(counts, "round {round} acknowledged {assignment} and lost it");
    }
}

/// Returns a number from an environment variable. `cargo xtask campaign` sets it.
fn number_of(variable: &str, default: u64) -> u64 {
    let parse = |text: String| text.parse().expect("the variable is a number");
    std::env::var(variable).map_or(default, parse)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_loses_or_doubles_an_update() {
    let seed = number_of("FOLKMOOT_FIRST_SEED", SEED);
    let faults = number_of("FOLKMOOT_FAULTS", 8);
    println!("FOLKMOOT_FIRST_SEED={seed} FOLKMOOT_FAULTS={faults} repeats this test");
    let spec = TaskSpec::synthetic(&WIDTHS, GOAL, ROUNDS_MAX).with_scheduling("over_selection_factor", 1.3);
    let Some(mut cluster) = Cluster::start(COORDINATOR, &spec, PROCESSES, seed).await else { return };
    let (task, blobs) = (cluster.task.clone(), cluster.blobs());
    let ledger = Arc::new(Ledger::new(task.clone()));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (settings, url) = (cluster.http_settings(), cluster.url());
        let client =
            CrashClient::enrolled(&cluster.endpoint, &settings, &url, ledger.clone(), seed + number).await;
        clients.spawn(client.run());
    }

    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut verifier = Verifier::new(&task);
    let mut planned = Vec::new();
    for number in 0..faults {
        if planned.is_empty() {
            planned = Fault::shuffled(&mut rng);
        }
        let fault = planned.pop().expect("it was filled");
        patiently("progress", ledger.progress(rng.random_range(0..PROGRESS_MAX))).await;
        println!("fault {number}: {fault:?}");
        fault.strike(&mut cluster).await;
        committed(&cluster, fault).await;
        if let Some(failed) = clients.try_join_next() {
            panic!("a client ended after {fault:?}: {failed:?}");
        }
        let storage = cluster.storage().await;
        verifier.advance(&storage, &blobs, &ledger.sent()).await;
        assert_none_is_lost(&storage, &ledger, &verifier).await;
        storage.close().await;
    }
    clients.shutdown().await;
    cluster.log.assert_no_panic();
    cluster.stop().await;

    let storage = cluster.storage().await;
    verifier.advance(&storage, &blobs, &ledger.sent()).await;
    assert_none_is_lost(&storage, &ledger, &verifier).await;
    let abandoned = verifier.ended.iter().filter(|round| round.abandoned.is_some());
    println!(
        "seed {seed}: {faults} faults, {} updates acknowledged, {} rounds verified, {} of them abandoned: {:?}",
        ledger.acknowledged().len(),
        verifier.ended.len(),
        abandoned.clone().count(),
        abandoned.map(|round| round.abandoned).collect::<Vec<_>>(),
    );
}
