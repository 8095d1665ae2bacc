//! A coordinator that is killed with SIGKILL, again and again, in every state that a round has.

mod client;
mod ledger;
mod moment;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use folkmoot_coordinator::round::Phase;
use folkmoot_storage::{RoundRepository, TaskRepository};
use folkmoot_tests::{
    deployment::{Deployment, patiently},
    log::fields_of,
    task::TaskSpec,
    verify::{EndedRound, verify_rounds},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::task::JoinSet;

use crate::{COORDINATOR, cohort::await_forgotten};
use client::CrashClient;
use ledger::Ledger;
use moment::{Aim, Evidence, Moment};

const SEED: u64 = 20_261_120;
const CLIENTS: u64 = 8;
/// Rounds that commit. Kills come in the first of them; the last run undisturbed.
const ROUNDS: u64 = 32;
const KILLS_MIN: u32 = 24;
/// Each state must have been hit so often.
const HITS_MIN: u32 = 3;
/// About 130,000 parameters: four tiles of the running sum, eight pieces of an upload.
const WIDTHS: [usize; 3] = [360, 350, 12];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_coordinator_loses_nothing_and_counts_nothing_twice() {
    let spec = TaskSpec::synthetic(&WIDTHS, 6, ROUNDS).with_scheduling("over_selection_factor", 1.3);
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let ledger = Arc::new(Ledger::new(deployment.task.clone()));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = CrashClient::enrolled(&deployment, ledger.clone(), SEED + number).await;
        clients.spawn(client.run());
    }

    let hits = kill_often(&mut deployment, &ledger).await;
    let updates_when_undisturbed = ledger.acknowledged().len();
    patiently("the last round", completion(&deployment)).await;
    clients.shutdown().await;
    deployment.assert_answers().await;
    deployment.stop().await;

    let storage = deployment.storage().await;
    let rounds = verify_rounds(&storage, &deployment.blobs(), &deployment.task, &ledger.sent()).await;
    assert_eq!(rounds.iter().filter(|round| round.abandoned.is_none()).count() as u64, ROUNDS);
    assert_no_acknowledged_update_is_lost(&ledger, &rounds);
    await_forgotten(&deployment, &rounds).await;
    println!(
        "seed {SEED}: kills by state {hits:?}, {} updates acknowledged, {updates_when_undisturbed} of them by then",
        ledger.acknowledged().len()
    );
}

/// Kills and restarts until every state was hit often enough, and returns how often.
async fn kill_often(deployment: &mut Deployment, ledger: &Ledger) -> BTreeMap<Moment, u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut hits = BTreeMap::from(Moment::ALL.map(|moment| (moment, 0)));
    let mut kills = 0;
    while kills < KILLS_MIN || hits.values().any(|&count| count < HITS_MIN) {
        assert!(kills < 3 * KILLS_MIN, "{kills} kills did not hit every state: {hits:?}");
        let aim = Aim::draw(&hits, &mut rng);
        patiently("the moment to kill", aim.wait(&deployment.log, ledger)).await;
        // Progress is remembered by the byte, so that what was under way when the kill came is known.
        let evidence = Evidence::before_kill(ledger);
        deployment.kill().await;
        kills += 1;
        if let Some(moment) = evidence.classify(&aim, observed_phase(deployment).await.as_ref()) {
            *hits.entry(moment).or_default() += 1;
        }
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..30))).await;
        deployment.restart().await;
    }
    hits
}

/// Reads from a copy of the dead process's database where its round stood; none if no round was open.
async fn observed_phase(deployment: &Deployment) -> Option<Phase> {
    let (storage, _folder) = deployment.dead_storage().await;
    let round = storage.unfinished_round(deployment.task.id).await.expect("what was killed can be read");
    storage.close().await;
    round.map(|record| record.round.phase)
}

/// Waits until the task is over. The storage knows it even if the last log line was lost in a kill.
async fn completion(deployment: &Deployment) {
    let is_last = |line: &str| {
        let version = fields_of(line, "round committed")?.get("version")?.as_u64()?;
        (version == ROUNDS).then_some(())
    };
    deployment.log.wait_for(0, is_last).await;
    let storage = deployment.storage().await;
    let task = storage.task_of_any_organisation(deployment.task.id).await.expect("the database can be read");
    assert!(task.expect("the task is there").state.is_final());
    storage.close().await;
}

fn assert_no_acknowledged_update_is_lost(ledger: &Ledger, rounds: &[EndedRound]) {
    let by_id: BTreeMap<_, _> = rounds.iter().map(|round| (round.id, round)).collect();
    for (assignment, round) in ledger.acknowledged() {
        let ended = by_id.get(&round).expect("a round that acknowledged has ended");
        let counts = ended.abandoned.is_some() || ended.accepted.contains(&assignment);
        assert!(counts, "round {} acknowledged {assignment} and lost it", ended.number);
    }
}
