//! Tests versions that are complete but may no longer be released.

use std::time::Duration;

use folkmoot_coordinator::{
    privacy::{PopulationBudget, PopulationPrivacy},
    round::{AbandonReason, Phase},
    task::{StopReason, TaskState},
};
use folkmoot_privacy::{Delta, Epsilon};
use folkmoot_storage::{
    LedgerRepository, PopulationRepository, PrivacyChange, PrivacyOutcome, RoundRepository,
};
use folkmoot_tests::{
    deployment::Deployment,
    patience::patiently,
    task::{TaskSpec, now},
};
use serde_json::json;

use super::{GOAL, assert_charged, blob_files, end, scale, spec, spec_with};
use crate::{
    COORDINATOR,
    cohort::{Member, assert_accepted, await_version, draw, enrol},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_set_in_mid_round_withholds_its_version() {
    let unprotected = TaskSpec::synthetic(&[4, 3], GOAL, 1000).with_scheduling("minimum_cohort", 1);
    for spec in [spec(2), unprotected] {
        a_version_is_withheld_after(0, &spec).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_withheld_version_goes_what_takes_the_noise_off_the_one_before() {
    a_version_is_withheld_after(2, &spec_with(0.125, json!({ "kind": "tree", "separation": 1 }))).await;
}

async fn a_version_is_withheld_after(released: u64, spec: &TaskSpec) {
    let mut deployment = Deployment::start(COORDINATOR, spec, |_| {}).await;
    let clients = enrol(&deployment, GOAL as usize).await;
    for version in 1..=released {
        upload_all(draw(&deployment, &clients).await).await;
        await_version(&deployment, version).await;
    }
    let members = draw(&deployment, &clients).await;
    let is_unprotected = members.iter().all(|member| member.assignment.clipping_norm.is_none());
    let storage = deployment.storage().await;
    let budget = PopulationBudget {
        epsilon: Epsilon::new(0.01).expect("it is in range"),
        delta: Delta::new(1e-5).expect("it is in range"),
    };
    let privacy = PopulationPrivacy { budget: Some(budget), ..PopulationPrivacy::default() };
    let (organisation, population) = (deployment.task.organisation, deployment.task.population.clone());
    let change = PrivacyChange { privacy, weakened: None, may_weaken: true, by: "test", now: now() };
    let set = storage.set_population_privacy(organisation, &population, &change).await;
    assert_eq!(set.expect("the storage answers"), PrivacyOutcome::Set);
    upload_all(members).await;
    let privacy_budget = TaskState::Completed { reason: StopReason::PrivacyBudget };
    assert_eq!(end(&deployment, &storage).await, privacy_budget);
    assert_eq!(assert_charged(&deployment, &storage).await.len() as u64, released);
    let rounds = storage.rounds(deployment.task.id, 10, None).await.expect("the storage answers");
    let withheld = rounds.iter().max_by_key(|record| record.round.number).expect("there was one");
    assert_eq!((rounds.len() as u64, withheld.round.base_version), (released + 1, released));
    assert!(
        matches!(withheld.round.phase, Phase::Abandoned { reason: AbandonReason::PrivacyBudget, .. }),
        "{withheld:?}"
    );
    assert_eq!(storage.unreleased(withheld.round.id).await.expect("the storage answers"), []);
    // The blobs are the model, its plan and the weights of every version. No noisy version and no noise state may be
    // left. A version without noise is not deleted, because another task may have the same blob.
    let kept = 3 + released + u64::from(is_unprotected);
    patiently("the end of what was made for the round", async {
        while blob_files(&deployment).len() as u64 != kept {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    storage.close().await;
    deployment.stop().await;
}

async fn upload_all(members: Vec<Member>) {
    for mut member in members {
        scale(&mut member, 0.9);
        assert_accepted(&member.upload().await);
    }
}
