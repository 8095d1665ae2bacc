use folkmoot_api::{
    Page, TaskVerb,
    stats::{RoundStatsView, TrafficView},
    tasks::CreateTaskRequest,
};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::task::WarmStart;
use folkmoot_engine::{ImportLimits, Model, onnx::build::mlp};
use folkmoot_protocol::{BlobDigest, Clusters, ErrorCode, Problem, RoundId, TaskId};
use serde_json::json;

use super::{Running, description, model, refused, start};

/// The first page of a list.
pub fn newest<C>() -> Page<C> {
    Page { limit: 100, before: None }
}

#[tokio::test]
async fn a_task_goes_through_its_states() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    assert_eq!(kept.parameter_count, 4 * 3 + 3);
    assert_eq!(admin.create_model(model()).await.unwrap(), kept);

    let task = admin.create_task(description(), kept.model, false).await.unwrap();
    assert_eq!((task.state.as_str(), task.latest_version, task.open_round.is_none()), ("draft", 0, true));
    let (code, _) = refused(admin.change_task(task.id, TaskVerb::Pause).await);
    assert_eq!(code, ErrorCode::TaskStateConflict);
    let verbs = [
        (TaskVerb::Activate, "active"),
        (TaskVerb::Activate, "active"),
        (TaskVerb::Pause, "paused"),
        (TaskVerb::Resume, "active"),
        (TaskVerb::Cancel, "cancelled"),
        (TaskVerb::Cancel, "cancelled"),
    ];
    for (verb, state) in verbs {
        assert_eq!(admin.change_task(task.id, verb).await.unwrap().state, state, "{verb:?}");
    }
    let (code, _) = refused(admin.change_task(task.id, TaskVerb::Resume).await);
    assert_eq!(code, ErrorCode::TaskStateConflict);
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn an_active_task_opens_a_round_that_can_be_seen() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let task = admin.create_task(description(), kept.model, true).await.unwrap();
    assert_eq!(task.state, "active");
    let open = loop {
        if let Some(open) = admin.task(task.id).await.unwrap().open_round {
            break open;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!((open.round.number, open.round.phase.as_str(), open.outstanding), (1, "selecting", Some(0)));
    let rounds = admin.rounds(task.id, newest()).await.unwrap();
    assert_eq!(rounds, std::slice::from_ref(&open.round));
    let funnel = admin.round(open.round.id).await.unwrap();
    assert_eq!((funnel.round, funnel.cohort, funnel.dropped), (open.round, Some(0), vec![]));
    let stats = admin.stats(task.id, newest()).await.unwrap();
    let nothing = RoundStatsView {
        number: 1,
        purpose: "training".into(),
        phase: "selecting".into(),
        all: Some(TrafficView::default()),
        classes: vec![],
    };
    assert_eq!(stats, [nothing]);
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn the_first_version_can_be_downloaded() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let task = admin.create_task(description(), kept.model, false).await.unwrap();
    let versions = admin.versions(task.id, newest()).await.unwrap();
    assert_eq!(versions.len(), 1);
    assert_eq!((versions[0].number, versions[0].mean_loss, versions[0].weights_bytes), (0, None, 4 * 15));
    for number in [None, Some(0)] {
        let downloaded = admin.download_model(task.id, number, None).await.unwrap();
        assert_eq!((downloaded.number, BlobDigest::of(&downloaded.onnx)), (0, kept.model));
        assert!(Model::from_onnx(&downloaded.onnx, &ImportLimits::default()).is_ok());
    }
    let (code, _) = refused(admin.download_model(task.id, Some(1), None).await);
    assert_eq!(code, ErrorCode::ModelVersionUnknown);
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn each_cluster_can_be_downloaded() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let one = admin.create_task(description(), kept.model, false).await.unwrap();
    let mut description = description();
    description.plan.clusters = Some(Box::new(Clusters { count: 2, tensors: Vec::new(), start_spread: 1.0 }));
    description.aggregator = serde_json::from_value(json!({ "kind": "weighted_mean" })).unwrap();
    let task = admin.create_task(description, kept.model, false).await.unwrap();
    assert_eq!(task.parameter_count, 2 + 2 * 15);
    let digest =
        async |cluster| BlobDigest::of(&admin.download_model(task.id, None, cluster).await.unwrap().onnx);
    // The first cluster starts with the file. Of clusters with equal shares, the first is the default.
    assert_eq!([digest(None).await, digest(Some(1)).await], [kept.model; 2]);
    assert_ne!(digest(Some(2)).await, kept.model);
    for (task, cluster, word) in [(task.id, 3, "1 to 2"), (task.id, 0, "1 to 2"), (one.id, 1, "one model")] {
        let (code, detail) = refused(admin.download_model(task, None, Some(cluster)).await);
        assert_eq!(code, ErrorCode::ResourceUnknown);
        assert!(detail.contains(word), "{detail}");
    }
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_task_with_frozen_tensors_goes_on_from_another_tasks_version() {
    let running = start().await;
    let admin = running.admin();
    let [first, second] = [mlp(&[4, 3], 1), mlp(&[4, 3], 2)];
    let weights_of =
        |onnx: &[u8]| Model::from_onnx(onnx, &ImportLimits::default()).unwrap().initial_weights();
    let kept = [
        admin.create_model(first.clone()).await.unwrap().model,
        admin.create_model(second.clone()).await.unwrap().model,
    ];
    let create = async |model: BlobDigest, from: Option<TaskId>, frozen: &str| {
        let mut description = description();
        description.plan.frozen = (!frozen.is_empty()).then(|| frozen.into()).into_iter().collect();
        let warm_start = from.map(|task_id| WarmStart { task_id, version: 0 });
        let request =
            CreateTaskRequest { description, model, evaluation_data: None, warm_start, activate: false };
        let task = admin.create_task_from(&request).await.unwrap();
        let bytes = admin.versions(task.id, newest()).await.unwrap()[0].weights_bytes;
        assert_eq!(bytes, 4 * task.parameter_count, "a version holds what is trained");
        let whole = weights_of(&admin.download_model(task.id, None, None).await.unwrap().onnx);
        (task, whole)
    };
    let (whole, weights) = create(kept[0], None, "").await;
    assert_eq!((whole.parameter_count, &weights), (15, &weights_of(&first)));
    // The task does not start from the second file's own weights, so a new file is created. It is identical to the
    // first file, byte for byte.
    let (tuned, weights) = create(kept[1], Some(whole.id), "*.weight").await;
    assert_eq!((tuned.parameter_count, &weights), (3, &weights_of(&first)));
    assert_eq!(tuned.model, kept[0]);
    let (same, _) = create(kept[0], Some(whole.id), "*.weight").await;
    assert_eq!((same.parameter_count, same.model), (3, kept[0]));
    // Start a third task from the second one, with all tensors trained.
    let (again, weights) = create(kept[1], Some(tuned.id), "").await;
    assert_eq!((again.parameter_count, again.model, &weights), (15, kept[1], &weights_of(&first)));
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn lists_have_pages() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(admin.create_task(description(), kept.model, false).await.unwrap().id);
    }
    let mut seen: Vec<TaskId> = Vec::new();
    loop {
        let page = admin.tasks(Page { limit: 2, before: seen.last().copied() }).await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(page.iter().map(|task| task.id));
    }
    seen.sort_unstable();
    ids.sort_unstable();
    assert_eq!(seen, ids);
    let (code, detail) = refused(admin.tasks(Page { limit: 101, before: None }).await);
    assert_eq!((code, detail.as_str()), (ErrorCode::MalformedRequest, "limit is 101; it must be 1 to 100"));
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn every_fault_of_a_description_is_listed() {
    let running = start().await;
    let admin = running.admin();
    let mut bad = description();
    bad.name = String::new();
    bad.stop.rounds = Some(0);
    let (code, detail) = refused(admin.create_task(bad.clone(), BlobDigest::of(b"nothing"), false).await);
    assert_eq!(code, ErrorCode::TaskInvalid);
    let fields: Vec<&str> = detail.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(fields, ["name", "stop.rounds", "model"], "{detail}");
    let regression = admin.create_model(mlp(&[4, 1], 1)).await.unwrap();
    let (code, detail) = refused(admin.create_task(description(), regression.model, false).await);
    assert_eq!(code, ErrorCode::TaskInvalid);
    assert!(detail.starts_with("plan.loss: "), "{detail}");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_not_there_or_no_model_is_refused() {
    let running = start().await;
    let admin = running.admin();
    assert_eq!(refused(admin.create_model(b"no model".to_vec()).await).0, ErrorCode::ModelInvalid);
    let unknown = TaskId::from_random_bytes([1; 16]);
    assert_eq!(refused(admin.task(unknown).await).0, ErrorCode::TaskUnknown);
    assert_eq!(refused(admin.rounds(unknown, newest()).await).0, ErrorCode::TaskUnknown);
    assert_eq!(refused(admin.round(RoundId::from_random_bytes([1; 16])).await).0, ErrorCode::RoundUnknown);
    running.host.stop().await.unwrap();
}

/// Sends a body that the typed client would not send, and returns the refusal's code.
async fn code_of(running: &Running, content_type: &str, body: String) -> ErrorCode {
    let settings = HttpSettings { certificate_pem: Some(running.pem.clone()), ..HttpSettings::default() };
    let request = build_http(&settings)
        .unwrap()
        .post(format!("{}/v1/admin/tasks", running.host.url()))
        .bearer_auth(running.host.first_api_key.as_ref().unwrap())
        .header("content-type", content_type)
        .body(body);
    let bytes = request.send().await.unwrap().bytes().await.unwrap();
    serde_json::from_slice::<Problem>(&bytes).unwrap().code.known().unwrap()
}

#[tokio::test]
async fn a_body_has_a_type_a_limit_and_only_known_fields() {
    let running = start().await;
    let body =
        serde_json::json!({ "description": description(), "model": BlobDigest::of(b""), "activated": true });
    assert_eq!(code_of(&running, "application/json", body.to_string()).await, ErrorCode::MalformedRequest);
    assert_eq!(code_of(&running, "text/plain", body.to_string()).await, ErrorCode::UnsupportedMediaType);
    let large = " ".repeat(folkmoot_protocol::limits::CONTROL_BYTES_MAX + 1);
    assert_eq!(code_of(&running, "application/json", large).await, ErrorCode::PayloadTooLarge);
    running.host.stop().await.unwrap();
}
