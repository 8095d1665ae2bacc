//! Tests of what the API reveals about clients of private tasks: every field has a decision, and the responses follow
//! it.

mod document;
mod edge_table;
mod filled;
mod log;
mod log_table;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use document::{Answers, Document};
use edge_table::FIELDS_AT_THE_EDGE;
use filled::{Filled, Ids, UPDATE_BYTES, UPDATES, fill};
use folkmoot_protocol::{BlobDigest, PopulationName, Role};
use log_table::LOG_FIELDS;
use serde_json::Value;
use table::{Decision, FIELDS, METRICS, OPAQUE};

use super::{Running, description, model, privacy::private, start};

/// Runs a task through one round by hand.
pub(super) async fn fill_one(running: &Running) -> Filled {
    fill(running, &mut Ids::new(), description()).await
}

/// Returns the decision for every field.
fn decisions() -> BTreeMap<String, Decision> {
    let mut decisions = BTreeMap::new();
    for (schema, decision, fields) in FIELDS.iter().chain(FIELDS_AT_THE_EDGE) {
        for field in *fields {
            let before = decisions.insert(format!("{schema}.{field}"), *decision);
            assert_eq!(before, None, "{schema}.{field} is decided twice");
        }
    }
    decisions
}

#[test]
fn every_field_of_every_answer_is_decided() {
    let decided = Answers {
        fields: decisions().into_keys().collect(),
        opaque: OPAQUE.iter().map(|(answer, _)| (*answer).to_owned()).collect(),
    };
    let told = Document::read().answers();
    let difference = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        one.difference(other).cloned().collect::<Vec<_>>().join(", ")
    };
    for (told, decided) in [(&told.fields, &decided.fields), (&told.opaque, &decided.opaque)] {
        let (undecided, unknown) = (difference(told, decided), difference(decided, told));
        assert_eq!(undecided, "", "add these fields with a decision to tests/disclosure/table.rs");
        assert_eq!(
            unknown, "",
            "no response has these fields any more; remove them from tests/disclosure/table.rs"
        );
    }
}

#[test]
fn every_metric_is_decided() {
    let mut told = BTreeSet::new();
    for (_, text) in sources() {
        for kind in ["counter!(\"", "gauge!(\"", "histogram!(\""] {
            let after = text.split(kind).skip(1).filter_map(|after| after.split_once('"'));
            told.extend(after.map(|(name, _)| name.to_owned()));
        }
    }
    let decided: BTreeSet<String> = METRICS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(told, decided);
}

#[test]
fn every_line_of_the_log_is_decided() {
    let told: BTreeSet<String> = sources().iter().flat_map(|(_, text)| log::fields(text)).collect();
    let decided: BTreeSet<String> =
        LOG_FIELDS.iter().flat_map(|(_, fields)| *fields).map(|field| (*field).to_owned()).collect();
    assert_eq!(told, decided);
}

#[test]
fn no_line_of_the_log_has_the_debug_text_of_a_value() {
    let found: Vec<(PathBuf, Vec<String>)> =
        sources().into_iter().map(|(path, text)| (path, log::in_debug_form(&text))).collect();
    let found: Vec<_> = found.iter().filter(|(_, fields)| !fields.is_empty()).collect();
    assert!(found.is_empty(), "log the name or the numbers of these values: {found:?}");
}

/// Returns the sources of the server, without their tests.
fn sources() -> Vec<(PathBuf, String)> {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let mut folders = [
        "src",
        "../rounds/src",
        "../combine/src",
        "../edge/src",
        "../notification/src",
        "../objects/src",
        "../telemetry/src",
    ]
    .map(|folder| Path::new(&package).join(folder))
    .to_vec();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                folders.extend((name != "tests").then_some(path));
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = std::fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                sources.push((path, text.to_owned()));
            }
        }
    }
    assert!(sources.len() > 100, "{} files", sources.len());
    sources
}

/// For every field that one role can read about one population, the values in the responses.
type Seen = BTreeMap<String, Vec<Value>>;

/// Reads every `GET` response about these tasks and this population, with this role's key.
async fn read(running: &Running, role: Role, filled: &[&Filled], population: &PopulationName) -> Seen {
    let key = running.admin().create_api_key("a reader", role).await.unwrap().api_key;
    let http = folkmoot_client::build_http(&folkmoot_client::HttpSettings {
        certificate_pem: Some(running.pem.clone()),
        ..Default::default()
    })
    .unwrap();
    let digest = BlobDigest::of(&model()).to_string();
    let document = Document::read();
    let mut seen = Seen::new();
    for (method, path, operation) in document.operations() {
        let Some(schema) = document.answer_of(operation).filter(|_| method == "GET") else { continue };
        let mut urls = BTreeSet::new();
        for one in filled {
            let id = match path.split("/{id}").next().and_then(|before| before.rsplit('/').next()) {
                Some("rounds") => one.round.to_string(),
                Some("tokens") => one.token.clone(),
                Some("clients") => one.client.to_string(),
                _ => one.task.to_string(),
            };
            let path = path.replace("{id}", &id).replace("{population}", population.as_str());
            let path = path.replace("{number}", "1");
            urls.insert(path.replace("{digest}", &digest));
        }
        for path in urls {
            let answer = http.get(format!("{}{path}", running.host.url())).bearer_auth(&key);
            let answer = answer.send().await.unwrap();
            let least = operation["security"][0]["api_key"][0].as_str().unwrap_or_default();
            let is_session = path == "/v1/admin/session";
            let may_read = match least {
                "operator" => matches!(role, Role::Operator | Role::Admin),
                "privacy_officer" => matches!(role, Role::PrivacyOfficer | Role::Admin),
                "admin" => role == Role::Admin,
                "system" => role == Role::System,
                "aggregator" => role == Role::Aggregator,
                _ => true,
            };
            if is_session || !may_read {
                assert!(!answer.status().is_success(), "{path} as {}", role.name());
                continue;
            }
            assert!(answer.status().is_success(), "{path}: {}", answer.status());
            document.note(schema, &answer.json().await.unwrap(), &mut seen);
        }
    }
    seen
}

/// Returns the fields with this decision that had a value.
fn told(seen: &Seen, wanted: Decision) -> BTreeSet<String> {
    let decisions = decisions();
    let of_decision = seen.iter().filter(|(field, _)| decisions.get(*field) == Some(&wanted));
    let told = of_decision.filter(|(_, values)| values.iter().any(|value| !value.is_null()));
    told.map(|(field, _)| field.clone()).collect()
}

fn all(wanted: Decision) -> BTreeSet<String> {
    decisions().into_iter().filter(|(_, decision)| *decision == wanted).map(|(field, _)| field).collect()
}

/// The same events happen in two populations. In one of them a private task has run beside the plain one.
#[tokio::test]
async fn figures_of_clients_are_withheld_where_a_task_with_privacy_has_run() {
    let running = start().await;
    let (open, closed): (PopulationName, PopulationName) =
        ("open".parse().unwrap(), "closed".parse().unwrap());
    let mut ids = Ids::new();
    let plain = |population: &PopulationName| {
        let mut plain = description();
        plain.population = population.clone();
        plain
    };
    let in_open = fill(&running, &mut ids, plain(&open)).await;
    let beside = fill(&running, &mut ids, plain(&closed)).await;
    let mut promising = private();
    promising.population = closed.clone();
    let promising = fill(&running, &mut ids, promising).await;

    for role in [Role::Viewer, Role::Operator, Role::Admin] {
        // Without a private task all of these fields have values, so that their absence below means something.
        let seen = read(&running, role, &[&in_open], &open).await;
        let mut readable = all(Decision::Withheld);
        // Viewers do not see single sites, and only admins see the clients of updates.
        readable.retain(|field| role != Role::Viewer || !field.starts_with("SiteView."));
        readable.retain(|field| role == Role::Admin || field != "UpdateScoreView.client_id");
        assert_eq!(told(&seen, Decision::Withheld), readable);
        assert_eq!(told(&seen, Decision::OfPrivateTask), all(Decision::OfPrivateTask));
        assert!(seen["ClientsView.withheld"].iter().all(Value::is_null));

        // The plain task shares its clients with the private one.
        let seen = read(&running, role, &[&beside], &closed).await;
        assert_eq!(told(&seen, Decision::Withheld), own_examples(&seen), "as {}", role.name());
        for field in ["ClientsView.withheld", "RoundAssignmentsView.withheld", "SeriesView.withheld"] {
            let reason = seen[field].first().and_then(Value::as_str).unwrap_or_default();
            assert_eq!(seen[field].len(), 1, "{field}");
            assert!(
                reason.starts_with("Withheld: a private task runs or has run in this population."),
                "{field}"
            );
        }

        // Responses never show the figures that the private task's clients measured and sent, although they are stored.
        let seen = read(&running, role, &[&promising], &closed).await;
        assert_eq!(told(&seen, Decision::Withheld), own_examples(&seen), "as {}", role.name());
        let still_told = told(&seen, Decision::OfPrivateTask);
        // The overview covers all populations, and the operator's own examples are not secret.
        let allowed = [
            "EvaluationView.accuracy",
            "EvaluationView.mean_loss",
            "EvaluationView.metrics",
            "HourView.upload_bytes",
            "SliceView.metrics",
        ];
        assert_eq!(still_told, allowed.map(str::to_owned).into());
        let measured = &seen["EvaluationView.accuracy"];
        assert_eq!(measured.iter().filter(|value| !value.is_null()).count(), own_evaluations(&seen));
        let measured = &seen["EvaluationView.metrics"];
        let is_empty = |value: &&Value| value.as_object().is_some_and(serde_json::Map::is_empty);
        assert_eq!(measured.len() - measured.iter().filter(is_empty).count(), own_evaluations(&seen));
        assert!(seen["SliceView.metrics"].iter().all(|value| is_empty(&value)));
        let bytes: u64 = seen["HourView.upload_bytes"].iter().filter_map(Value::as_u64).sum();
        assert_eq!(bytes, 2 * UPDATES * UPDATE_BYTES, "only the two tasks without privacy are counted");
    }
    running.host.stop().await.unwrap();
}

/// Returns the counted examples of evaluations whose source is `central`: the operator's own.
fn own_examples(seen: &Seen) -> BTreeSet<String> {
    let counted = seen["EvaluationView.example_count"].iter().filter(|value| !value.is_null()).count();
    assert_eq!(counted, own_evaluations(seen));
    let classes = seen["ClassEvaluationView.classes"].iter().filter(|value| !value.is_null()).count();
    assert_eq!(
        2 * classes,
        seen["ClassEvaluationView.classes"].len(),
        "of both evaluations, only the operator's"
    );
    let of_classes = all(Decision::Withheld).into_iter().filter(|field| field.starts_with("Class"));
    of_classes.chain(["EvaluationView.example_count".to_owned()]).collect()
}

fn own_evaluations(seen: &Seen) -> usize {
    let of_operator = seen["EvaluationView.source"].iter().filter(|source| *source == "central").count();
    assert!(of_operator > 0 && of_operator < seen["EvaluationView.source"].len(), "both were measured");
    of_operator
}

#[tokio::test]
async fn an_unusual_update_is_explained_and_its_client_shown_to_admins() {
    let running = start().await;
    let filled = fill_one(&running).await;
    let shown = running.admin().round_assignments(filled.round).await.unwrap().scores.expect("it is stored");
    assert_eq!((shown.updates, shown.unusual, shown.most_unusual.len()), (UPDATES, 1, 1));
    let update = &shown.most_unusual[0];
    assert_eq!((update.client_id, update.score, update.is_unusual), (Some(filled.client), 7.0, true));
    assert_eq!(update.explanation, "4.1 times the median norm");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn the_statement_says_what_is_withheld_and_what_is_shown() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let task = admin.create_task(private(), kept.model, false).await.unwrap();
    let statement = admin.privacy(task.id).await.unwrap();
    let said = |about: &str| {
        let found = statement.sentences.iter().find(|one| one.about == about);
        found.unwrap_or_else(|| panic!("nothing is said about {about}: {statement:?}")).text.clone()
    };
    let withheld = said("Withheld");
    for figure in
        ["how many examples", "how fast", "how long", "when its update came", "sizes of its updates"]
    {
        assert!(withheld.contains(figure), "{figure}: {withheld}");
    }
    let shown = said("Shown");
    for figure in [
        "are enrolled, are revoked, wait and train",
        "an enrolment token was used",
        "metrics, which need no key",
        "attributes",
        "when rounds open and close",
        "a training failed or an update was refused",
        "who watches a round",
    ] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
    running.host.stop().await.unwrap();
}
