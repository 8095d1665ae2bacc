//! A client that does not take part reveals nothing about the reason.

use std::{path::Path, sync::Arc};

use folkmoot_protocol::{
    DeviceCondition, DeviceRule,
    messages::{AbortReason, AbortRequest},
};

use super::{
    fake::{Fake, SentRequest, Trouble, artifact},
    story::{builder, never},
    until,
};
use crate::ClientBuilder;

const NAME: &str = "favourite-city";
const VALUE: &str = "Ghent-on-Lys";

/// Returns a coordinator whose plan accepts only clients with this favourite city.
fn fake(city: &str) -> Fake {
    let mut fake = Fake::new(1, Trouble::default());
    let rule = |condition| DeviceRule { attribute: NAME.into(), condition };
    fake.plan.device_rules =
        vec![rule(DeviceCondition::OneOf(vec![VALUE.into(), city.into()])), rule(equals(city))];
    fake
}

fn equals(city: &str) -> DeviceCondition {
    DeviceCondition::Equals(city.into())
}

/// Runs the client until it has given up an assignment and checked in again. Returns all requests except the enrolment.
async fn requests_until_given_up(fake: Arc<Fake>, builder: ClientBuilder) -> Vec<SentRequest> {
    let mut client = builder.build().unwrap();
    let checks_in = |request: &SentRequest| request.line.starts_with("POST /v1/check-in");
    let given_up = until("a second check-in", || {
        fake.seen().requests.iter().filter(|request| checks_in(request)).count() >= 2
    });
    client.run(given_up).await.unwrap();
    let mut requests = std::mem::take(&mut fake.seen().requests);
    assert_eq!(requests.remove(0).line, "POST /v1/enrol");
    requests
}

fn assert_silent(requests: &[SentRequest], directory: &Path, words: &[&str]) {
    for word in words {
        for request in requests {
            let body = String::from_utf8_lossy(&request.body);
            let is_said =
                body.contains(word) || request.line.contains(word) || request.headers.contains(word);
            assert!(!is_said, "`{word}` was sent: {request:?}");
        }
    }
    assert!(!files(directory).iter().any(|text| text.contains(VALUE)), "the value was stored");
}

/// All stored files except blobs, which include the plan.
fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let entries = entries.filter(|path| !path.ends_with("blobs"));
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()],
        })
        .collect()
}

#[tokio::test]
async fn a_rule_that_does_not_hold_is_a_decline_and_nothing_else() {
    let fake = Arc::new(fake("Bruges"));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.private_attribute(NAME, VALUE);
    let requests = requests_until_given_up(Arc::clone(&fake), builder).await;

    let plan = artifact(&serde_json::to_vec(&fake.plan).unwrap()).digest;
    let lines: Vec<&str> = requests[..4].iter().map(|request| request.line.as_str()).collect();
    let [first, fetch, abort, second] = lines[..] else { panic!("{lines:?}") };
    assert!(first.starts_with("POST /v1/check-in") && second == first, "{lines:?}");
    assert_eq!(fetch, format!("GET /v1/blobs/{plan}"), "only the plan is fetched");
    assert!(abort.ends_with("/abort"), "{lines:?}");
    assert_eq!(requests[2].body, br#"{"reason":"declined","detail":""}"#);
    assert_eq!(requests[0].body, requests[3].body, "the next check-in is the same as the first");
    let declined = AbortRequest { reason: AbortReason::Declined, detail: String::new() };
    assert_eq!(fake.seen().aborts, [declined]);
    assert!(fake.seen().reports.is_empty() && fake.seen().upload_offsets.is_empty());
    assert_silent(&requests, directory.path(), &[NAME, VALUE, "Ghent", "Bruges"]);
}

#[tokio::test]
async fn no_attribute_another_one_and_an_app_that_refuses_or_fails_look_the_same() {
    let mut seen: Vec<Vec<(String, Vec<u8>)>> = Vec::new();
    let changes: [fn(ClientBuilder) -> ClientBuilder; 4] = [
        |builder| builder,
        |builder| builder.private_attributes([(NAME.to_owned(), VALUE.to_owned())].into()),
        |builder| builder.private_attribute(NAME, "Bruges").ask_before(|_, _| false),
        |builder| builder.private_attribute(NAME, "Bruges").ask_before(|_, _| panic!("it likes {VALUE}")),
    ];
    for change in changes {
        let fake = Arc::new(fake("Bruges"));
        let directory = tempfile::tempdir().unwrap();
        let builder = change(builder(&fake, directory.path()).await);
        let requests = requests_until_given_up(Arc::clone(&fake), builder).await;
        assert_silent(&requests, directory.path(), &[NAME, VALUE, "Ghent", "Bruges"]);
        seen.push(requests.into_iter().take(4).map(|request| (request.line, request.body)).collect());
    }
    assert!(seen.iter().all(|requests| *requests == seen[0]), "{seen:?}");
}

#[tokio::test]
async fn who_fulfils_the_rules_and_agrees_takes_part_and_says_no_more() {
    let fake = Arc::new(fake(VALUE));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.private_attribute(NAME, VALUE);
    let agrees =
        builder.ask_before(|assignment, plan| assignment.round_number == 3 && plan.device_rules.len() == 2);
    agrees.build().unwrap().run_rounds(1, never()).await.unwrap();
    assert!(fake.seen().is_accepted && fake.seen().aborts.is_empty());
    assert_silent(&fake.seen().requests, directory.path(), &[NAME, VALUE]);
}

#[test]
fn too_many_or_too_long_private_attributes_are_refused_in_general_words() {
    let client = || crate::Client::builder("http://127.0.0.1:1");
    let long = VALUE.repeat(20);
    let many = (0..33).map(|number| (format!("{NAME}-{number}"), VALUE.to_owned())).collect();
    let refused = [
        client().private_attribute(NAME, &long),
        client().private_attribute(&long, "x"),
        client().private_attributes(many),
    ];
    for builder in refused {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains("private attribute"), "{error}");
        assert!(!error.contains(NAME) && !error.contains(VALUE), "{error}");
    }
}
