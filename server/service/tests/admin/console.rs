//! Tests of the endpoints that the console uses, without clients. Browser tests cover them with clients.

use std::{fs, path::Path, sync::Arc};

use folkmoot_api::{Page, TaskVerb, models::ModelPieceView, tasks::CheckTaskRequest};
use folkmoot_coordinator::{
    privacy::PrivacyChoice,
    task::{TaskDescription, TaskFilter},
};
use folkmoot_protocol::{ErrorCode, Role};
use folkmoot_task_file::explain;
use reqwest::StatusCode;
use serde_json::json;

use super::{description, model, privacy::private, refused, start, start_with};
use folkmoot_service::{host::MakeFirstRun, http::FirstRun};

const ALL: Page<folkmoot_protocol::TaskId> = Page { limit: 100, before: None };

#[tokio::test]
async fn an_overview_counts_what_there_is() {
    let running = start().await;
    let admin = running.admin();
    let empty = admin.overview().await.unwrap();
    assert!(empty.is_ready && empty.tasks.is_empty() && empty.populations.is_empty(), "{empty:?}");
    assert_eq!(empty.hours.len(), 24);
    let brought = admin.create_model(model()).await.unwrap().model;
    admin.create_task(description(), brought, false).await.unwrap();
    admin.create_task(description(), brought, true).await.unwrap();
    let overview = admin.overview().await.unwrap();
    assert_eq!(overview.tasks, [("active".to_owned(), 1), ("draft".to_owned(), 1)].into());
    let [population] = overview.populations.as_slice() else { panic!("{overview:?}") };
    assert_eq!((population.enrolled, population.active_tasks), (0, 1));
    let clients = admin.population_clients(&population.name).await.unwrap();
    assert_eq!((clients.enrolled, clients.waiting, clients.attributes.len()), (0, Some(0), 0));
    let (code, _) = refused(admin.population_clients(&"nobody".parse().unwrap()).await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    let system = admin.system().await.unwrap();
    assert_eq!((system.database.as_str(), system.is_ready), ("sqlite", true));
}

#[tokio::test]
async fn tasks_are_found_by_what_is_asked() {
    let running = start().await;
    let admin = running.admin();
    let brought = admin.create_model(model()).await.unwrap().model;
    admin.create_task(description(), brought, true).await.unwrap();
    let found = async |filter: TaskFilter| admin.tasks_like(&filter, ALL).await.unwrap().len();
    assert_eq!(found(TaskFilter::default()).await, 1);
    assert_eq!(found(TaskFilter { name: Some("GIT".into()), ..TaskFilter::default() }).await, 1);
    assert_eq!(found(TaskFilter { name: Some("a&b=c/%".into()), ..TaskFilter::default() }).await, 0);
    assert_eq!(found(TaskFilter { state: Some("draft".into()), ..TaskFilter::default() }).await, 0);
    let nonsense = TaskFilter { state: Some("asleep".into()), ..TaskFilter::default() };
    let (code, detail) = refused(admin.tasks_like(&nonsense, ALL).await);
    assert_eq!(code, ErrorCode::MalformedRequest);
    assert!(detail.contains("draft, active, paused"), "{detail}");
}

#[tokio::test]
async fn a_model_is_shown_with_what_it_costs() {
    let running = start().await;
    let admin = running.admin();
    assert_eq!(admin.models().await.unwrap(), []);
    let brought = admin.create_model(model()).await.unwrap();
    let [listed] = admin.models().await.unwrap().try_into().unwrap();
    assert_eq!((listed.model, listed.parameter_count), (brought.model, brought.parameter_count));
    let graph = admin.model_graph(brought.model).await.unwrap();
    assert_eq!((&*graph.input_shape, &*graph.output_shape), (&[4][..], &[3][..]));
    assert_eq!(graph.nodes.len(), graph.operators.values().sum::<usize>());
    assert!(graph.forward_flops >= 24 && graph.training_flops > 2 * graph.forward_flops, "{graph:?}");
    let unknown = folkmoot_protocol::BlobDigest::of(b"nothing");
    let (code, _) = refused(admin.model_graph(unknown).await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
}

/// Puts the pieces together, as the console does.
#[tokio::test]
async fn a_model_and_its_data_file_become_one_file() {
    let running = start().await;
    let admin = running.admin();
    let exported = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/engine/exported");
    let onnx = fs::read(exported.join("two_files.onnx")).unwrap();
    let data = fs::read(exported.join("two_files.onnx.data")).unwrap();
    let (code, detail) = refused(admin.create_model(onnx.clone()).await);
    assert_eq!(code, ErrorCode::ModelInvalid);
    assert!(detail.contains("is stored in another file, which was not given"), "{detail}");

    let parts = admin.model_parts(onnx.clone()).await.unwrap();
    assert_eq!(parts.data_files, ["two_files.onnx.data"]);
    let range = |start: u64, end: u64| start as usize..end as usize;
    let bytes = |piece: ModelPieceView| match piece {
        ModelPieceView::Model { start, end } => onnx[range(start, end)].to_vec(),
        ModelPieceView::DataFile { start, end, .. } => data[range(start, end)].to_vec(),
        ModelPieceView::New { bytes } => bytes,
    };
    let joined = parts.pieces.into_iter().flat_map(bytes).collect();
    let whole = fs::read(exported.join("one_file.onnx")).unwrap();
    let (joined, whole) =
        (admin.create_model(joined).await.unwrap(), admin.create_model(whole.clone()).await.unwrap());
    assert_eq!((joined.parameter_count, joined.schema), (whole.parameter_count, whole.schema));

    let alone = admin.model_parts(model()).await.unwrap();
    let end = model().len() as u64;
    assert_eq!((alone.data_files.len(), alone.pieces), (0, vec![ModelPieceView::Model { start: 0, end }]));
    let (code, detail) = refused(admin.model_parts(b"# Folkmoot".to_vec()).await);
    assert_eq!(code, ErrorCode::ModelInvalid);
    assert!(detail.contains("not a valid ONNX file"), "{detail}");
}

/// Sends an unfinished task to the check endpoint, as the console's form does after every change.
#[tokio::test]
async fn a_check_lists_every_fault_and_writes_the_file() {
    let running = start().await;
    let admin = running.admin();
    let brought = admin.create_model(model()).await.unwrap().model;
    let check = async |description: serde_json::Value| {
        let request =
            CheckTaskRequest { description: Some(description), model: Some(brought), ..Default::default() };
        admin.check_task(&request).await.unwrap()
    };
    let fine = check(serde_json::to_value(description()).unwrap()).await;
    assert_eq!(fine.faults, []);
    assert!(fine.toml.contains("[plan]") && fine.command.contains("--model model.onnx"), "{fine:?}");
    let request =
        CheckTaskRequest { toml: Some(fine.toml.clone()), model: Some(brought), ..Default::default() };
    let again = admin.check_task(&request).await.unwrap();
    assert_eq!((again.faults.len(), again.description), (0, fine.description), "the file says the same");

    let mut wrong = serde_json::to_value(description()).unwrap();
    wrong["scheduling"]["report_goal"] = json!(0);
    wrong["plan"]["epochs"] = json!("many");
    wrong["name"] = json!(null);
    let wrong = check(wrong).await;
    let fields: Vec<&str> = wrong.faults.iter().map(|fault| fault.field.as_str()).collect();
    for field in ["scheduling.report_goal", "plan.epochs", "name"] {
        assert!(fields.contains(&field), "{field}: {fields:?}");
    }
    assert!(wrong.faults.iter().all(|fault| !fault.message.is_empty() && !fault.remedy.is_empty()));
    assert_eq!(admin.tasks(ALL).await.unwrap().len(), 0, "nothing is made");

    // A model with one output has no classes.
    let single = admin.create_model(folkmoot_engine::onnx::build::mlp(&[4, 1], 1)).await.unwrap().model;
    let request = CheckTaskRequest { toml: Some(fine.toml), model: Some(single), ..Default::default() };
    let misfit = admin.check_task(&request).await.unwrap();
    assert!(misfit.faults.iter().any(|fault| fault.field == "plan.loss"), "{misfit:?}");
    let (code, _) = refused(admin.check_task(&CheckTaskRequest::default()).await);
    assert_eq!(code, ErrorCode::MalformedRequest);
}

/// The notes are those of `folkmoot task check`.
#[tokio::test]
async fn a_check_and_a_task_tell_what_is_not_defended_against() {
    let running = start().await;
    let admin = running.admin();
    let brought = admin.create_model(model()).await.unwrap();
    let shared = TaskDescription { token_share_max: Some(0.5), ..description() };
    let mut noisy = private();
    if let PrivacyChoice::Central(central) = &mut noisy.privacy {
        central.epsilon = 0.01;
    }
    for (described, warned) in
        [(description(), [true, false]), (shared, [false, false]), (noisy, [true, true])]
    {
        let notes = explain::notes(&described, Some(brought.parameter_count));
        let has = |part| notes.iter().any(|note| note.contains(part));
        assert_eq!([has("token_share_max is not set"), has("The noise hides everything")], warned);
        let description = Some(serde_json::to_value(&described).unwrap());
        let request = CheckTaskRequest { description, model: Some(brought.model), ..Default::default() };
        assert_eq!(admin.check_task(&request).await.unwrap().notes, notes);
        let task = admin.create_task(described, brought.model, false).await.unwrap();
        assert_eq!((&task.notes, &admin.task(task.id).await.unwrap().notes), (&notes, &notes));
    }
    let unreadable = CheckTaskRequest { toml: Some("name = 1".into()), ..Default::default() };
    assert_eq!(admin.check_task(&unreadable).await.unwrap().notes, [""; 0]);
}

#[tokio::test]
async fn a_paused_task_returns_to_an_earlier_version() {
    let running = start().await;
    let admin = running.admin();
    let brought = admin.create_model(model()).await.unwrap().model;
    let task = admin.create_task(description(), brought, true).await.unwrap().id;
    let (code, detail) = refused(admin.roll_back(task, 0).await);
    assert_eq!(code, ErrorCode::TaskStateConflict);
    assert!(detail.contains("pause it"), "{detail}");
    admin.change_task(task, TaskVerb::Pause).await.unwrap();
    let (code, _) = refused(admin.roll_back(task, 7).await);
    assert!(matches!(code, ErrorCode::ModelVersionUnknown | ErrorCode::TaskStateConflict), "{code}");
    // The task has only its initial version, and returning to the newest version changes nothing.
    let (code, _) = refused(admin.roll_back(task, 0).await);
    assert_eq!(code, ErrorCode::TaskStateConflict);
    let series = admin.series(task, 600).await.unwrap();
    assert_eq!((series.stride, series.points.len(), series.points[0].loss), (1, 1, None));
    for points in [0, 5_001] {
        let (code, _) = refused(admin.series(task, points).await);
        assert_eq!(code, ErrorCode::MalformedRequest);
    }
}

#[tokio::test]
async fn a_page_hears_what_changes() {
    let running = start().await;
    let admin = running.admin();
    let brought = admin.create_model(model()).await.unwrap().model;
    let http = folkmoot_client::build_http(&folkmoot_client::HttpSettings {
        certificate_pem: Some(running.pem.clone()),
        ..Default::default()
    })
    .unwrap();
    let key = running.host.first_api_key.as_ref().unwrap();
    let url = format!("{}/v1/admin/events", running.host.url());
    let mut events = http.get(url).bearer_auth(key).send().await.unwrap();
    assert_eq!(events.status(), StatusCode::OK);
    let mut heard = String::new();
    let mut hear = async |until: &str| {
        while !heard.contains(until) {
            heard += std::str::from_utf8(&events.chunk().await.unwrap().expect("it goes on")).unwrap();
        }
    };
    hear("event: hello").await;
    // Later look-ups are compared with the first one.
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    let task = admin.create_task(description(), brought, true).await.unwrap().id;
    hear(&task.to_string()).await;
}

#[tokio::test]
async fn the_demo_is_for_a_coordinator_that_has_one_and_for_admins() {
    let running = start().await;
    let operator = running.admin().create_api_key("operator", Role::Operator).await.unwrap().api_key;
    let http = folkmoot_client::build_http(&folkmoot_client::HttpSettings {
        certificate_pem: Some(running.pem.clone()),
        ..Default::default()
    })
    .unwrap();
    let start = async |key: &str| {
        let url = format!("{}/v1/admin/demo", running.host.url());
        http.post(url).bearer_auth(key).send().await.unwrap().status()
    };
    assert_eq!(start(&operator).await, StatusCode::FORBIDDEN);
    assert_eq!(start(running.host.first_api_key.as_ref().unwrap()).await, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_page_hears_nothing_more_when_its_key_is_revoked() {
    let running = start().await;
    let admin = running.admin();
    let viewer = admin.create_api_key("viewer", Role::Viewer).await.unwrap();
    let http = folkmoot_client::build_http(&folkmoot_client::HttpSettings {
        certificate_pem: Some(running.pem.clone()),
        ..Default::default()
    })
    .unwrap();
    let url = format!("{}/v1/admin/events", running.host.url());
    let mut events = http.get(url).bearer_auth(&viewer.api_key).send().await.unwrap();
    assert!(events.chunk().await.unwrap().is_some(), "it is greeted");
    admin.revoke_api_key(&viewer.record.id).await.unwrap();
    // The key is checked every 2 s. A stream that went on would carry a keep-alive comment every 15 s.
    for _ in 0..4 {
        if events.chunk().await.unwrap().is_none() {
            return;
        }
    }
    panic!("the stream outlives its key");
}

/// A demo without clients.
struct Nothing;

impl FirstRun for Nothing {
    fn model(&self) -> &'static [u8] {
        model().leak()
    }

    fn description(&self) -> TaskDescription {
        description()
    }

    fn clients(&self) -> u64 {
        1
    }

    fn start(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

#[tokio::test]
async fn the_demo_is_started_once_however_many_ask_for_it() {
    let first_run = Some(MakeFirstRun(|_| Arc::new(Nothing)));
    let running = start_with(|config| config.first_run = first_run).await;
    let http = folkmoot_client::build_http(&folkmoot_client::HttpSettings {
        certificate_pem: Some(running.pem.clone()),
        ..Default::default()
    })
    .unwrap();
    let key = running.host.first_api_key.as_ref().unwrap();
    let url = format!("{}/v1/admin/demo", running.host.url());
    let all = (0..6).map(|_| http.post(&url).bearer_auth(key).send());
    let answers = futures::future::try_join_all(all).await.unwrap();
    let mut codes: Vec<_> = answers.iter().map(|answer| answer.status()).collect();
    codes.sort();
    assert_eq!(codes[0], StatusCode::CREATED);
    assert!(codes[1..].iter().all(|code| *code == StatusCode::CONFLICT), "{codes:?}");
}

#[tokio::test]
async fn a_store_that_is_gone_is_told_of() {
    let running = start().await;
    let admin = running.admin();
    let overview = admin.overview().await.unwrap();
    assert_eq!((overview.is_ready, overview.problems), (true, Vec::new()));
    let blobs = running.folder.path().join("blobs");
    fs::rename(&blobs, blobs.with_extension("away")).unwrap();
    let overview = admin.overview().await.unwrap();
    assert!(!overview.is_ready);
    assert!(overview.problems[0].contains("the store of models and weights"), "{:?}", overview.problems);
    running.host.stop().await.unwrap();
}
