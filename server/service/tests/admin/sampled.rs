use folkmoot_api::{Page, TaskVerb, rounds::RoundView};
use folkmoot_coordinator::{
    privacy::{Amplification, PrivacyChoice},
    round::Phase,
    task::TaskDescription,
};
use folkmoot_protocol::{PopulationName, Timestamp};
use serde_json::{Value, json};

use super::{
    model,
    privacy::{open, private, release},
    start,
};

/// A task that claims amplification by sampling, so its privacy depends on hiding which clients were selected.
fn sampled() -> TaskDescription {
    let mut description = private();
    let PrivacyChoice::Central(central) = &mut description.privacy else { panic!("it is central") };
    central.amplification = Amplification::Poisson;
    central.epsilon = 100.0;
    description.selection =
        serde_json::from_value(json!({ "kind": "poisson", "sampling_rate": 0.1 })).unwrap();
    description
}

/// Lists the fields that count clients or updates and are not withheld.
fn counted(value: &Value) -> Vec<String> {
    const COUNTS: [&str; 11] = [
        "cohort",
        "accepted",
        "outstanding",
        "dropped",
        "lanes",
        "left_out",
        "clients",
        "waiting",
        "training",
        "updates",
        "upload_bytes",
    ];
    let is_hidden = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    match value {
        Value::Array(values) => values.iter().flat_map(counted).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match COUNTS.contains(&name.as_str()) && !is_hidden(value) {
                true => vec![name.clone()],
                false => counted(value),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn json_of(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[tokio::test]
async fn no_answer_counts_what_a_sample_drew_or_brought() {
    let digits: PopulationName = "digits".parse().unwrap();
    for (description, is_sampled) in [(private(), false), (sampled(), true)] {
        let running = start().await;
        let admin = running.admin();
        let kept = admin.create_model(model()).await.unwrap();
        let task = admin.create_task(description, kept.model, false).await.unwrap();
        release(&running, task.id, 1).await;
        // The task waits longer for clients than the test runs.
        admin.change_task(task.id, TaskVerb::Activate).await.unwrap();
        let rounds = admin.rounds(task.id, Page { limit: 10, before: None }).await.unwrap();
        let round = rounds.iter().find(|round| round.phase == "committed").unwrap().id;
        let answers = [
            json_of(&rounds),
            json_of(admin.round(round).await.unwrap()),
            json_of(admin.round_assignments(round).await.unwrap()),
            json_of(admin.series(task.id, 100).await.unwrap()),
            json_of(admin.overview().await.unwrap()),
            json_of(admin.population_clients(&digits).await.unwrap()),
        ];
        // The drivers may or may not have opened a round by now.
        let shown = json_of(admin.task(task.id).await.unwrap());
        assert!(!is_sampled || counted(&shown).is_empty(), "{shown:#}");
        for answer in &answers {
            assert_eq!(counted(answer).is_empty(), is_sampled, "{answer:#}");
        }
        running.host.stop().await.unwrap();
    }
}

#[tokio::test]
async fn nobody_is_told_how_many_an_open_round_has_drawn() {
    for (description, is_sampled) in [(private(), false), (sampled(), true)] {
        let running = start().await;
        let admin = running.admin();
        let kept = admin.create_model(model()).await.unwrap();
        let task = admin.create_task(description, kept.model, false).await.unwrap();
        let since = Timestamp(1_700_000_000_000);
        open(&running, task.id, 1, Phase::Reporting { since, cohort: 5, asked: None }).await;
        let shown = admin.task(task.id).await.unwrap().open_round.expect("it reports");
        let told = |count| (!is_sampled).then_some(count);
        let RoundView { phase, cohort, accepted, .. } = shown.round;
        assert_eq!((phase.as_str(), cohort, accepted), ("reporting", told(5), None));
        assert_eq!((shown.accepted, shown.outstanding, shown.dropped), (told(0), told(0), told(0)));
        running.host.stop().await.unwrap();
    }
}
