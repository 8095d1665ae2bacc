//! Tests differential privacy over real sockets with a real database: refused updates, added noise, charges, and the
//! end of the budget.

mod withheld;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use folkmoot_coordinator::task::{StopReason, TaskState};
use folkmoot_privacy::{
    Delta,
    accountant::{
        BufferedToeplitz, ParticipationPattern, best_tree, tree_prefix_variance, tree_sensitivity_squared,
    },
    ledger::{Chain, Entry, Event},
};
use folkmoot_protocol::ErrorCode;
use folkmoot_storage::{
    LedgerRepository, ModelVersionRepository, RoundRepository, SqlStorage, TaskRepository,
};
use folkmoot_tests::{deployment::Deployment, halt::Halt, patience::patiently, task::TaskSpec};
use serde_json::{Value, json};

use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

const GOAL: u64 = 4;
const NORM: f64 = 0.5;
const MULTIPLIER: f64 = 2.0;

/// Returns a task whose budget allows `versions` versions. Each version costs the rho of one participation, 1 / (2 ·
/// 2²).
fn spec(versions: u32) -> TaskSpec {
    spec_with(f64::from(versions) / 8.0, json!({ "kind": "independent" }))
}

/// Returns a task that may spend slightly more than `rho`.
fn spec_with(rho: f64, noise: Value) -> TaskSpec {
    let rho = rho + 0.01;
    let rho = folkmoot_privacy::Rho::new(rho).expect("it is in range");
    let delta = Delta::new(1e-5).expect("it is in range");
    let epsilon = folkmoot_privacy::accountant::zcdp_epsilon(rho, delta).get();
    let spec = TaskSpec::synthetic(&[30, 60, 20], GOAL, 1000);
    let spec = TaskSpec { server_learning_rate: 1.0, ..spec };
    spec.with_scheduling("minimum_cohort", 1)
        .with_part("aggregator", json!({ "kind": "uniform_mean" }))
        .with_part(
            "privacy",
            json!({
                "kind": "central", "epsilon": epsilon, "delta": 1e-5, "noise_multiplier": MULTIPLIER,
                "clipping": { "kind": "fixed", "norm": NORM }, "noise": noise,
            }),
        )
}

/// Scales a member's update to `share` times the clipping norm.
fn scale(member: &mut Member, share: f64) {
    let values = &mut member.update.values;
    let norm = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    values.iter_mut().for_each(|value| *value = (f64::from(*value) * share * NORM / norm) as f32);
}

async fn weights(deployment: &Deployment, storage: &SqlStorage, number: u64) -> Vec<f32> {
    let version = storage
        .model_version(deployment.task.id, number)
        .await
        .expect("the storage answers")
        .expect("it is there");
    let bytes = deployment.blobs().get(version.weights).await.expect("the storage answers");
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Asserts that every version is charged exactly once, and that the ledger's hash chain is intact. Returns the ledger's
/// entries.
async fn assert_charged(deployment: &Deployment, storage: &SqlStorage) -> Vec<Entry> {
    let task = &deployment.task;
    let entries = storage
        .ledger_entries(task.organisation, &task.population, 0, 1000)
        .await
        .expect("the storage answers");
    let versions = storage.model_versions(task.id, 1000, None).await.expect("the storage answers");
    let mut released: Vec<u64> =
        versions.iter().map(|version| version.number).filter(|number| *number > 0).collect();
    released.sort_unstable();
    let version = |entry: &Entry| match entry.event {
        Event::Release(release) => Some(release.version),
        _ => None,
    };
    let charged: Vec<u64> = entries.iter().filter_map(version).collect();
    assert_eq!(charged, released, "a version and its charge are one");
    let mut chain = Chain::new(task.population.clone());
    entries.iter().for_each(|entry| chain.follow(entry).expect("the ledger hangs together"));
    entries.into_iter().filter(|entry| entry.event.charged().is_some()).collect()
}

/// Waits until the task has ended, and returns its state.
async fn end(deployment: &Deployment, storage: &SqlStorage) -> TaskState {
    let over = async {
        loop {
            let task = storage.task_of_any_organisation(deployment.task.id).await;
            let task = task.expect("the storage answers").expect("it is there");
            if task.state.is_final() {
                return task.state;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently("the end", over).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_ends_before_it_spends_more_than_it_may() {
    let mut deployment = Deployment::start(COORDINATOR, &spec(2), |_| {}).await;
    let clients = enrol(&deployment, GOAL as usize).await;
    let mut sums: Vec<Vec<f64>> = Vec::new();
    for version in 1..=2 {
        let mut members = draw(&deployment, &clients).await;
        assert!(members.iter().all(|member| member.assignment.clipping_norm == Some(1 << 27)), "0.5 · 2^28");
        members.iter_mut().for_each(|member| scale(member, 0.999));
        // The coordinator does not rely on a client's clipping. It must reject this update, whose norm is too large.
        let mut last = members.pop().unwrap();
        scale(&mut last, 1.01);
        assert_eq!(last.upload().await.code(), Some(ErrorCode::UpdateNormTooLarge));
        let count = deployment.task.parameter_count();
        let mut sum = vec![0.0; count];
        for member in &members {
            member.update.values.iter().zip(&mut sum).for_each(|(value, sum)| *sum += f64::from(*value));
            assert_accepted(&member.upload().await);
        }
        sums.push(sum);
        await_version(&deployment, version).await;
    }
    let storage = deployment.storage().await;
    assert_eq!(end(&deployment, &storage).await, TaskState::Completed { reason: StopReason::PrivacyBudget });
    assert_eq!(assert_charged(&deployment, &storage).await.len(), 2);
    let [before, first, second] = [
        weights(&deployment, &storage, 0).await,
        weights(&deployment, &storage, 1).await,
        weights(&deployment, &storage, 2).await,
    ];
    let noise = |from: &[f32], to: &[f32], sum: &[f64]| -> Vec<f64> {
        let moves = from.iter().zip(to).map(|(from, to)| f64::from(*to) - f64::from(*from));
        moves.zip(sum).map(|(moved, sum)| moved - sum / GOAL as f64).collect()
    };
    let draws = [noise(&before, &first, &sums[0]), noise(&first, &second, &sums[1])];
    // The standard deviation of the noise on the mean is multiplier · norm / goal, for any number of reports.
    let wanted = MULTIPLIER * NORM / GOAL as f64;
    for draw in &draws {
        let deviation = (draw.iter().map(|one| one * one).sum::<f64>() / draw.len() as f64).sqrt();
        // With 3,080 draws, the standard error of the estimate is 1.3 %. 8 % is more than six standard errors.
        assert!((deviation / wanted - 1.0).abs() < 0.08, "{deviation} against {wanted}");
        // One draw rounds to 0 in about two million runs.
        let zeros = draw.iter().filter(|one| one.abs() <= 1e-12).count();
        assert!(zeros <= 1, "{zeros} coordinates have no noise");
    }
    let product: f64 = draws[0].iter().zip(&draws[1]).map(|(one, other)| one * other).sum();
    assert!(product.abs() / (draws[0].len() as f64 * wanted * wanted) < 0.1, "the second is not the first");
    storage.close().await;
    deployment.stop().await;
}

/// Tests a stream of correlated noise. The noise on each version must have the variance of the mechanism, the stream
/// must be charged once, and the data that could remove the noise must be deleted when the task ends.
async fn a_stream_of_noise_is_added(noise: Value, prefix_variances: impl Fn(u64) -> Vec<f64>) {
    const VERSIONS: u64 = 6;
    let spec = TaskSpec { rounds: VERSIONS, ..spec_with(1.0 / 8.0, noise) };
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let clients = enrol(&deployment, GOAL as usize).await;
    let mut sum = vec![0.0; deployment.task.parameter_count()];
    let mut sums = Vec::new();
    for version in 1..=VERSIONS {
        let mut members = draw(&deployment, &clients).await;
        for member in &mut members {
            scale(member, 0.9);
            member.update.values.iter().zip(&mut sum).for_each(|(value, sum)| *sum += f64::from(*value));
            assert_accepted(&member.upload().await);
        }
        sums.push(sum.clone());
        await_version(&deployment, version).await;
    }
    let storage = deployment.storage().await;
    let entries = assert_charged(&deployment, &storage).await;
    let mut totals = folkmoot_privacy::ledger::Totals::default();
    entries.iter().for_each(|entry| totals.count(&entry.event));
    let delta = Delta::new(1e-5).expect("it is in range");
    let spent = totals.spent(delta).expect("it can be accounted");
    let rho = spent.rho.expect("nothing is claimed of sampling");
    assert!((rho.get() - 0.125).abs() < 1e-9, "{spent:?}");
    let first = weights(&deployment, &storage, 0).await;
    let variances = prefix_variances(VERSIONS);
    for version in 1..=VERSIONS {
        let now = weights(&deployment, &storage, version).await;
        let sum = &sums[version as usize - 1];
        let moves = first.iter().zip(&now).map(|(from, to)| f64::from(*to) - f64::from(*from));
        let noise = moves.zip(sum).map(|(moved, sum)| (moved - sum / GOAL as f64) * GOAL as f64 / NORM);
        let variance = noise.map(|one| one * one).sum::<f64>() / first.len() as f64;
        let wanted = MULTIPLIER * MULTIPLIER * variances[version as usize - 1];
        // The tolerance is six standard errors of a variance estimated from 3,080 draws.
        assert!(
            (variance / wanted - 1.0).abs() < 6.0 * (2.0f64 / 3080.0).sqrt(),
            "{version}: {variance} {wanted}"
        );
    }
    let versions = storage.model_versions(deployment.task.id, 100, None).await.expect("the storage answers");
    let gone = async {
        for state in versions.iter().filter_map(|version| version.making.noise_state) {
            while deployment.blobs().get(state).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    patiently("the end of what takes the noise off", gone).await;
    let kept = versions.iter().filter(|version| version.making.noise_state.is_some());
    assert_eq!(kept.count() as u64, VERSIONS - 1, "with the last version nothing goes on");
    storage.close().await;
    deployment.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_noise_of_a_tree_is_that_of_its_nodes() {
    let pattern = ParticipationPattern::new(6, 1).unwrap();
    a_stream_of_noise_is_added(json!({ "kind": "tree", "separation": 1 }), |versions| {
        let (leaves, _) = best_tree(versions, pattern);
        let squared = tree_sensitivity_squared(versions, leaves, pattern);
        let variance = |version: u64| {
            let (trees, rest) = ((version - 1) / leaves, (version - 1) % leaves + 1);
            trees as f64 * tree_prefix_variance(leaves, true) + tree_prefix_variance(rest, true)
        };
        (1..=versions).map(|version| squared * variance(version)).collect()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn buffered_noise_is_taken_off_in_later_versions() {
    let pattern = ParticipationPattern::new(6, 1).unwrap();
    a_stream_of_noise_is_added(json!({ "kind": "blt", "separation": 1 }), |versions| {
        let (matrix, _) = BufferedToeplitz::chosen_for(versions as usize, pattern);
        let squared = matrix.toeplitz(versions as usize).sensitivity(pattern).powi(2);
        // In the noise on a prefix sum, the draw s steps earlier has as its weight the sum of the first s + 1 entries
        // of C⁻¹.
        let mut prefix = 0.0;
        let weights = matrix.inverse(versions as usize).into_iter().map(|entry| {
            prefix += entry;
            prefix * prefix
        });
        let mut variance = 0.0;
        let variances = weights.map(|square| {
            variance += square;
            squared * variance
        });
        variances.collect()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_coordinator_never_releases_without_its_charge() {
    kill_around_commits(&spec(1000), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_noise_goes_on_after_a_kill() {
    // The coordinator keeps only one state of the noise, which is the state after the newest version.
    kill_around_commits(&spec_with(0.125, json!({ "kind": "tree", "separation": 1 })), 1).await;
}

/// The moment at which the coordinator is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// One update is missing.
    Reporting,
    /// All updates are accepted, but they are not combined yet.
    Aggregating,
    /// The noisy version is stored, but neither released nor charged.
    Made,
    /// The version is released and charged, but its updates are not deleted yet.
    Committed,
    /// The next round is open.
    NextRound,
}

const MOMENTS: [Moment; 5] =
    [Moment::Reporting, Moment::Aggregating, Moment::Made, Moment::Committed, Moment::NextRound];

impl Moment {
    /// Returns the point at which the process halts; `None` if this moment needs no halt.
    fn halt(self, round: u64) -> Option<Halt> {
        match self {
            Moment::Reporting => None,
            Moment::Aggregating => Some(Halt::at_phase("aggregating", round)),
            Moment::Made => Some(Halt::at("version made", round)),
            Moment::Committed => Some(Halt::at("round committed", round)),
            Moment::NextRound => Some(Halt::at("round opened", round + 1)),
        }
    }

    fn is_after_commit(self) -> bool {
        matches!(self, Moment::Committed | Moment::NextRound)
    }
}

async fn kill_around_commits(spec: &TaskSpec, states: usize) {
    // Each moment occurs twice, so that it also occurs after versions that survived a kill. The first moment needs no
    // halt.
    const KILLS: usize = 2 * MOMENTS.len();
    let mut deployment = Deployment::start(COORDINATOR, spec, |_| {}).await;
    let clients = enrol(&deployment, GOAL as usize).await;
    for (kill, moment) in MOMENTS.into_iter().cycle().take(KILLS).enumerate() {
        let mut members = draw(&deployment, &clients).await;
        members.iter_mut().for_each(|member| scale(member, 0.5));
        for member in &members[1..] {
            assert_accepted(&member.upload().await);
        }
        let round = members[0].assignment.round_number;
        if moment != Moment::Reporting {
            let last = members[0].clone();
            let sent = tokio::spawn(async move {
                // The kill may prevent the response.
                let request = last.client.upload(last.id(), &last.update.bytes()).sign(&last.client.key);
                let _ = last.client.endpoint.try_send(&request).await;
            });
            deployment.halted().await;
            sent.abort();
        }
        deployment.kill().await;
        let (dead, _copy) = deployment.dead_storage().await;
        let charged = assert_charged(&deployment, &dead).await.len();
        assert_eq!(charged, kill + usize::from(moment.is_after_commit()), "{moment:?}");
        dead.close().await;
        deployment.halt_at(MOMENTS[(kill + 1) % MOMENTS.len()].halt(round + 1));
        deployment.restart().await;
        members[0].upload_rest().await;
        assert_eq!(deployment_version(&deployment).await, kill as u64 + 1, "{moment:?}");
    }
    let storage = deployment.storage().await;
    let entries = assert_charged(&deployment, &storage).await;
    assert_eq!(entries.len(), KILLS, "every round made one version");
    let names = blob_files(&deployment);
    // The blobs are the model, its plan, and the weights of every version. No uncharged noisy version may be left.
    assert_eq!(names.len(), 2 + 1 + KILLS + states, "{names:?}");
    storage.close().await;
    deployment.stop().await;
}

fn blob_files(deployment: &Deployment) -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder).expect("the folder is there");
        files.map(|file| file.expect("it can be read").path()).collect()
    };
    // Beside the blobs, also those that were set aside, there is the id of the database.
    let folders = list(&deployment.data().join("blobs")).into_iter();
    folders.filter(|folder| !folder.ends_with("databases")).flat_map(|folder| list(&folder)).collect()
}

/// Waits until no round is aggregating, and returns the number of the newest version.
async fn deployment_version(deployment: &Deployment) -> u64 {
    let storage = deployment.storage().await;
    let task = &deployment.task;
    let settled = async {
        loop {
            let newest = storage
                .latest_model_version(task.id)
                .await
                .expect("the storage answers")
                .expect("it is there")
                .number;
            let open = storage.unfinished_round(task.id).await.expect("the storage answers");
            if open.is_some_and(|record| {
                record.round.base_version == newest && record.round.phase.name() == "selecting"
            }) {
                return newest;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let newest = patiently("the next round", settled).await;
    storage.close().await;
    newest
}
