//! Tests a coordinator that is killed with SIGKILL many times, in every state of a round.

pub mod client;
pub mod ledger;
mod moment;

use std::sync::Arc;

use folkmoot_coordinator::round::Phase;
use folkmoot_protocol::TaskId;
use folkmoot_storage::{RoundRepository, SqlStorage, TaskRepository};
use folkmoot_tests::{
    deployment::Deployment,
    log::{Log, fields_of},
    patience::patiently,
    task::TaskSpec,
    verify::verify_rounds,
};
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use tokio::task::JoinSet;

use crate::{COORDINATOR, cohort::await_forgotten};
use client::CrashClient;
use ledger::Ledger;
use moment::Moment;

const SEED: u64 = 20_261_120;
const CLIENTS: u64 = 8;
/// The report goal of the rounds.
const GOAL: u64 = 6;
/// The number of kills in each state.
const HITS: u64 = 4;
/// The maximum number of ledger changes before a kill at an arbitrary moment. A round has at least one change for each
/// update.
const PROGRESS_MAX: u64 = 18;
/// The number of committed rounds. It allows a separate round for every kill, and some rounds without a kill.
const ROUNDS: u64 = HITS * (Moment::ALL.len() as u64 + PROGRESS_MAX / GOAL) + 4;
/// The widths of the layers, with about 130,000 parameters. That is four tiles of the running sum and eight pieces of
/// an upload.
const WIDTHS: [usize; 3] = [360, 350, 12];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_coordinator_loses_nothing_and_counts_nothing_twice() {
    let spec = TaskSpec::synthetic(&WIDTHS, GOAL, ROUNDS).with_scheduling("over_selection_factor", 1.3);
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let ledger = Arc::new(Ledger::new(deployment.task.clone()));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (settings, url) = (deployment.http_settings(), deployment.url());
        let client =
            CrashClient::enrolled(&deployment.endpoint, &settings, &url, ledger.clone(), SEED + number).await;
        clients.spawn(client.run());
    }

    kill_often(&mut deployment, &ledger).await;
    let updates_when_undisturbed = ledger.acknowledged().len();
    patiently(
        "the last round",
        completion(&deployment.log, deployment.storage(), deployment.task.id, ROUNDS),
    )
    .await;
    clients.shutdown().await;
    deployment.assert_answers().await;
    deployment.stop().await;

    let storage = deployment.storage().await;
    let rounds = verify_rounds(&storage, &deployment.blobs(), &deployment.task, &ledger.sent()).await;
    assert_eq!(rounds.iter().filter(|round| round.abandoned.is_none()).count() as u64, ROUNDS);
    ledger.assert_none_is_lost(&rounds);
    await_forgotten(&deployment, &rounds).await;
    println!(
        "seed {SEED}: {} updates acknowledged, {updates_when_undisturbed} of them when the last kill had come",
        ledger.acknowledged().len()
    );
}

/// Kills and restarts the coordinator in every state, in an order determined by the seed.
async fn kill_often(deployment: &mut Deployment, ledger: &Ledger) {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut moments = Moment::ALL.repeat(HITS as usize);
    moments.shuffle(&mut rng);
    deployment.kill().await;
    for moment in moments {
        // The current round may already be past the moment, so kill the coordinator in the next one.
        let next_round = observed(deployment).await.1 + 1;
        deployment.halt_at(moment.halt(next_round));
        ledger.hold_from((moment == Moment::Uploading).then_some(next_round));
        deployment.restart().await;
        if moment == Moment::Anything {
            patiently("progress", ledger.progress(rng.random_range(0..PROGRESS_MAX))).await;
        } else {
            let round = deployment.halted().await;
            patiently(&format!("{moment:?}"), moment.of_clients(round, ledger, &mut rng)).await;
        }
        deployment.kill().await;
        let (phase, _) = observed(deployment).await;
        assert!(moment.is_of(phase.as_ref()), "killed in {phase:?}, not in {moment:?}");
    }
    deployment.halt_at(None);
    ledger.hold_from(None);
    deployment.restart().await;
}

/// Reads the phase of the open round and the number of the newest round from a copy of the killed process's database.
async fn observed(deployment: &Deployment) -> (Option<Phase>, u64) {
    let (storage, _folder) = deployment.dead_storage().await;
    let task = deployment.task.id;
    let open = storage.unfinished_round(task).await.expect("what was killed can be read");
    let newest = storage.rounds(task, 1, None).await.expect("what was killed can be read");
    storage.close().await;
    (open.map(|record| record.round.phase), newest.first().map_or(0, |record| record.round.number))
}

/// Waits until the task has ended with its version `rounds`. Also reads the database, which is opened then, because the
/// last log line may be lost in a kill.
pub async fn completion(log: &Log, database: impl Future<Output = SqlStorage>, task: TaskId, rounds: u64) {
    let is_last = |line: &str| {
        let version = fields_of(line, "round committed")?.get("version")?.as_u64()?;
        (version == rounds).then_some(())
    };
    log.wait_for(0, is_last).await;
    let storage = database.await;
    let task = storage.task_of_any_organisation(task).await.expect("the database can be read");
    assert!(task.expect("the task is there").state.is_final());
    storage.close().await;
}
