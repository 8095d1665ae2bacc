//! Tests the complete coordinator with the user as the unit of privacy: it must treat all devices of a user as one.

use std::{collections::BTreeMap, time::Duration};

use folkmoot_coordinator::privacy::PopulationPrivacy;
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ErrorCode, UserKey};
use folkmoot_storage::{
    AssignmentRepository, ParticipationRepository, PopulationRepository, PrivacyChange, PrivacyOutcome,
};
use folkmoot_tests::{
    deployment::Deployment,
    patience::patiently,
    raw_client::RawClient,
    task::{TaskSpec, create_token, now},
    update::TestUpdate,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    COORDINATOR,
    cohort::{assert_accepted, await_version},
};

const USERS: [&str; 2] = ["ann", "bob"];
const DEVICES: usize = 2;
/// The maximum number of versions to which one user may contribute.
const MOST: u64 = 2;

/// Returns a task whose rounds each need both users.
fn spec() -> TaskSpec {
    TaskSpec::synthetic(&[4, 3], USERS.len() as u64, 1000)
        .with_scheduling("over_selection_factor", 1.0)
        .with_part("aggregator", json!({ "kind": "uniform_mean" }))
        .with_part(
            "privacy",
            json!({
                "kind": "central", "epsilon": 8.0, "delta": 1e-5, "participations_max": MOST,
                "clipping": { "kind": "fixed", "norm": 1000.0 },
            }),
        )
}

#[tokio::test(flavor = "multi_thread")]
async fn all_devices_of_a_user_spend_one_budget() {
    let mut deployment = Deployment::start(COORDINATOR, &spec(), |_| {}).await;
    let (organisation, population) = (deployment.task.organisation, deployment.task.population.clone());
    let storage = deployment.storage().await;
    let users = PopulationPrivacy { unit: Unit::User, budget: None };
    let change = PrivacyChange { privacy: users, weakened: None, may_weaken: true, by: "test", now: now() };
    let set = storage.set_population_privacy(organisation, &population, &change).await.unwrap();
    assert_eq!(set, PrivacyOutcome::Set);
    let nameless = RawClient::new(&deployment.endpoint);
    let answer = nameless.send(&nameless.enrolment(&deployment.task.token)).await;
    assert_eq!(answer.code(), Some(ErrorCode::EnrolmentTokenInvalid), "its token names no user");

    let mut devices = Vec::new();
    for user in USERS {
        let key = UserKey::of(organisation, &population, user);
        let name = |token: &mut folkmoot_storage::TokenRecord| token.user_key = Some(key);
        let token = create_token(&storage, organisation, &population, name).await;
        for _ in 0..DEVICES {
            devices.push((user, RawClient::enrolled(&deployment.endpoint, &token).await));
        }
    }
    let mut waiting = JoinSet::new();
    let wait = |waiting: &mut JoinSet<_>, user: &'static str, client: RawClient| {
        waiting.spawn(async move { (user, client.await_assignment().await, client) });
    };
    devices.iter().for_each(|(user, client)| wait(&mut waiting, user, client.clone()));
    for version in 1..=MOST {
        let mut drawn = BTreeMap::new();
        while drawn.len() < USERS.len() {
            let (user, assignment, client) = patiently("the draw", waiting.join_next())
                .await
                .expect("devices wait")
                .expect("it is answered");
            assert!(drawn.insert(user, (assignment, client)).is_none(), "two devices of {user} in one round");
        }
        for (user, (assignment, client)) in drawn {
            let update = TestUpdate::of(&deployment.task, &assignment).bytes();
            assert_accepted(&client.send(&client.upload(assignment.assignment_id, &update)).await);
            wait(&mut waiting, user, client);
        }
        await_version(&deployment, version).await;
    }
    // All four devices wait. Each user has reached the maximum number of versions over all its devices.
    let all_wait = async {
        loop {
            let all =
                storage.waiting_for(organisation, &population, deployment.task.id, now()).await.unwrap();
            if all.len() == USERS.len() * DEVICES {
                return all;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    for one in patiently("all devices", all_wait).await {
        let user = one.user.expect("it has a user");
        assert_eq!((user.participated.accepted, user.is_busy), (MOST, false));
    }
    let another = tokio::time::timeout(Duration::from_secs(2), waiting.join_next()).await;
    assert!(another.is_err(), "a user was drawn once more than it may be");
    assert!(storage.outstanding(deployment.task.id).await.unwrap().is_empty());
    storage.close().await;
    deployment.stop().await;
}
