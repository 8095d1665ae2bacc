use std::collections::BTreeSet;

use axum::http::Method;
use folkmoot_api::{
    AdminClient, TaskVerb,
    populations::{ChangeRolloutRequest, SetPrivacyRequest},
};
use folkmoot_coordinator::{
    ClientKind,
    audit_log::{Chain, Entry, Head, Record},
};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ErrorCode, PopulationName, Role};
use folkmoot_rounds::{audit_retention, clock::system_clock};

use super::{
    Running, description,
    endorsements::{signed, statement},
    model, refused, start, start_with,
};
use folkmoot_service::http::endpoints;

/// The endpoints that change something, each with the action in the audit log; `None` if there is nothing to record.
const ACTS: [(&str, Option<&str>); 37] = [
    ("POST /demo", Some("task.create")),
    ("POST /models", Some("model.create")),
    ("POST /models/parts", None),
    // Examples and components are content without a row; the task that uses them names their digest.
    ("POST /evaluation-data", None),
    ("POST /components", None),
    ("POST /tasks", Some("task.create")),
    ("POST /tasks/check", None),
    ("POST /tasks/{id}/activate", Some("task.set_state")),
    ("POST /tasks/{id}/pause", Some("task.set_state")),
    ("POST /tasks/{id}/resume", Some("task.set_state")),
    ("POST /tasks/{id}/cancel", Some("task.set_state")),
    ("POST /tasks/{id}/roll-back", Some("task.roll_back")),
    ("POST /tasks/{id}/endorsement", Some("task.endorse")),
    ("POST /populations/{population}/clients", Some("population.set_clients")),
    ("POST /populations/{population}/downloads", Some("population.set_downloads")),
    ("POST /populations/{population}/privacy", Some("population.set_privacy")),
    ("POST /populations/{population}/rollouts", Some("rollout.create")),
    ("POST /populations/{population}/rollouts/{number}", Some("rollout.change")),
    ("POST /privacy/plan", None),
    ("POST /tokens", Some("token.create")),
    ("DELETE /tokens/{id}", Some("token.revoke")),
    ("POST /tokens/{id}/revoke-clients", Some("token.revoke_clients")),
    ("POST /api-keys", Some("api_key.create")),
    ("DELETE /api-keys/{id}", Some("api_key.revoke")),
    ("POST /api-keys/{id}/rotate", Some("api_key.rotate")),
    ("DELETE /sessions/{id}", Some("session.end")),
    ("POST /sessions/end", Some("session.end_all")),
    ("POST /clients/{id}/revoke", Some("client.revoke")),
    // These are in the log of that organisation; `organisations` and `quotas` test them.
    ("POST /organisations", None),
    ("POST /organisations/{id}/quotas", None),
    ("POST /organisations/{id}/close", None),
    ("POST /session", Some("session.create")),
    // Edge aggregators pass on what clients do.
    ("POST /aggregator/admissions", None),
    ("POST /aggregator/updates", None),
    ("POST /aggregator/refusals", None),
    ("POST /aggregator/rounds", None),
    ("POST /aggregator/rounds/{id}/sum", None),
];

/// Reads the whole log, and verifies its chain.
async fn log(admin: &AdminClient) -> Vec<Record> {
    let (mut chain, mut records) = (Chain::default(), Vec::new());
    loop {
        let page = admin.audit(Some(records.len() as u64), 3).await.unwrap();
        if page.entries.is_empty() {
            assert_eq!(page.entry_count, records.len() as u64);
            return records;
        }
        for entry in page.entries {
            let record: Record = serde_json::from_str(&entry.record).unwrap();
            let entry = Entry { record: entry.record, digest: entry.digest.parse().unwrap() };
            chain.follow(&entry, &record).unwrap();
            records.push(record);
        }
    }
}

/// A new endpoint that changes something must be listed above.
#[test]
fn every_endpoint_that_changes_something_is_known() {
    let changing = endpoints().into_iter().filter(|endpoint| endpoint.method != Method::GET);
    let served: BTreeSet<String> =
        changing.map(|endpoint| format!("{} {}", endpoint.method, endpoint.path)).collect();
    let known = ACTS.iter().map(|(endpoint, _)| (*endpoint).to_owned());
    let known: BTreeSet<String> = known.filter(|endpoint| !endpoint.ends_with("/session")).collect();
    assert_eq!(served, known);
}

#[tokio::test]
async fn what_an_operator_does_is_in_the_log() {
    let running = start().await;
    let admin = running.admin();
    let secrets = act(&running, &admin).await;
    let records = log(&admin).await;
    let done: BTreeSet<&str> = records.iter().map(|record| record.action.as_str()).collect();
    // The storage's own tests record these.
    let elsewhere = ["task.roll_back", "client.revoke"];
    let wanted = ACTS.iter().filter_map(|(_, action)| *action);
    let wanted: BTreeSet<&str> = wanted.filter(|action| !elsewhere.contains(action)).collect();
    assert_eq!(done, wanted);
    let text = serde_json::to_string(&records).unwrap();
    for secret in secrets {
        let (_, secret) = secret.split_once('.').unwrap();
        assert!(!text.contains(secret), "the log contains a secret");
    }
    let first = running.host.first_api_key.as_ref().unwrap().split_once('.').unwrap().0.to_owned();
    assert!(records.iter().all(|record| record.by == format!("key {first}")));
    assert!(records.iter().all(|record| record.from.as_deref() == Some("127.0.0.1")));
    let newest = admin.audit(None, 2).await.unwrap().entries;
    let newest: Vec<Record> =
        newest.iter().map(|entry| serde_json::from_str(&entry.record).unwrap()).collect();
    assert_eq!(newest, records[records.len() - 2..]);
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn retention_removes_old_entries_and_leaves_a_chain() {
    let running = start_with(|config| config.audit_keep_days = Some(30)).await;
    let (admin, coordinator) = (running.admin(), &running.host.coordinator);
    for name in ["one", "two", "three"] {
        admin.create_api_key(name, Role::Viewer).await.unwrap();
    }
    let now = system_clock()();
    let entries = async || admin.audit(Some(0), 100).await.unwrap();
    let before = entries().await;
    audit_retention::prune(coordinator, now.plus_seconds(29 * 86_400)).await.unwrap();
    assert_eq!(entries().await, before, "nothing is older than 30 days");

    audit_retention::prune(coordinator, now.plus_seconds(31 * 86_400)).await.unwrap();
    let after = entries().await;
    let records: Vec<Record> =
        after.entries.iter().map(|entry| serde_json::from_str(&entry.record).unwrap()).collect();
    let [prune] = &records[..] else { panic!("{records:?}") };
    let last = Head { entries: 3, digest: Some(before.head.unwrap().parse().unwrap()) };
    assert_eq!((prune.number, prune.previous, prune.removed()), (4, last.digest, Some(last)));
    assert_eq!((prune.by.as_str(), prune.from.as_deref()), ("coordinator (audit.keep_days = 30)", None));
    // The log continues after what was removed.
    admin.create_api_key("four", Role::Viewer).await.unwrap();
    let mut chain = Chain::after(last);
    for entry in entries().await.entries {
        let record: Record = serde_json::from_str(&entry.record).unwrap();
        let entry = Entry { record: entry.record, digest: entry.digest.parse().unwrap() };
        chain.follow(&entry, &record).unwrap();
    }
    assert_eq!(chain.head().entries, 5);
    running.host.stop().await.unwrap();
}

/// Performs each act once, and returns the secrets that the coordinator gave out.
async fn act(running: &Running, admin: &AdminClient) -> Vec<String> {
    let population: PopulationName = "digits".parse().unwrap();
    admin.set_client_kind(&"clinics".parse().unwrap(), ClientKind::Sites).await.unwrap();
    admin.set_viewers_download(&"clinics".parse().unwrap(), false).await.unwrap();
    let kept = admin.create_model(model()).await.unwrap();
    let privacy = SetPrivacyRequest { unit: Some(Unit::User), ..SetPrivacyRequest::default() };
    admin.set_population_privacy(&"people".parse().unwrap(), &privacy).await.unwrap();
    let task = admin.create_task(description(), kept.model, false).await.unwrap().id;
    let endorsement = signed(&statement(&admin.endorsement(task).await.unwrap()));
    admin.publish_endorsement(task, &endorsement).await.unwrap();
    for verb in [TaskVerb::Activate, TaskVerb::Pause, TaskVerb::Resume, TaskVerb::Cancel] {
        admin.change_task(task, verb).await.unwrap();
    }
    let rollout = serde_json::from_value(serde_json::json!({ "task": task.to_string() })).unwrap();
    let rollout = admin.create_rollout(&population, &rollout).await.unwrap();
    let hold = ChangeRolloutRequest { held: Some(true), ..ChangeRolloutRequest::default() };
    admin.change_rollout(&population, rollout.number, &hold).await.unwrap();
    let one = admin.create_token(population.clone(), None, None).await.unwrap();
    let other = admin.create_token(population, None, None).await.unwrap();
    admin.revoke_token(&one.record.id).await.unwrap();
    admin.revoke_token_and_clients(&other.record.id).await.unwrap();
    let key = admin.create_api_key("a reader", Role::Viewer).await.unwrap();
    assert_eq!(refused(running.client(&key.api_key).audit(None, 1).await).0, ErrorCode::RoleInsufficient);
    let http =
        folkmoot_client::HttpSettings { certificate_pem: Some(running.pem.clone()), ..Default::default() };
    let sign_in =
        folkmoot_client::build_http(&http).unwrap().post(format!("{}/v1/admin/session", running.host.url()));
    let first = running.host.first_api_key.clone().unwrap();
    let session = sign_in.json(&serde_json::json!({ "api_key": first })).send().await.unwrap();
    assert!(session.status().is_success());
    let open = admin.sessions().await.unwrap();
    admin.end_session(&open[0].id).await.unwrap();
    assert_eq!(admin.end_sessions_of("example", "ada").await.unwrap().ended, 0);
    let rotated = admin.rotate_api_key(&key.record.id, 60).await.unwrap();
    admin.revoke_api_key(&key.record.id).await.unwrap();
    vec![first, one.token, other.token, key.api_key, rotated.api_key]
}
