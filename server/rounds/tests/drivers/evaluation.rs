//! Tests a complete evaluation by clients: the client software computes the sums, and the coordinator the metrics. The
//! operator's examples are the union of the clients' examples, so both evaluations must agree.

use std::collections::{BTreeMap, HashMap};

use folkmoot_engine::{Evaluation as Measured, Examples, ImportLimits, Labels, Model, evaluate_in_detail};
use folkmoot_protocol::{
    AssignmentId, BlobDigest, FineTuning, Metric, UpdateDigest,
    messages::{Assignment, UploadState},
    update::HEADER_BYTES,
};
use folkmoot_storage::{
    AssignmentRepository, AssignmentStatus, EvaluationRecord, EvaluationRepository, EvaluationSource,
};
use folkmoot_training::{Budget, Evaluation, FinishedWork, Inputs, fine_tuned_weights, make, parse_plan};

use super::*;
use folkmoot_rounds::{
    device::{Begun, Offered, UploadRequest},
    ingest::Announced,
    refusal::Refusal,
    registry::evaluation_data,
};

const CLIENTS: usize = 5;
const EVALUATION_SECONDS: u64 = 60;

/// Returns the examples of client `number`; the last index is the union of all clients. Each client has a different
/// number of examples and different labels.
fn examples(loss: &str, outputs: usize, number: usize) -> Examples {
    let rows: Vec<usize> = match number {
        CLIENTS => (0..CLIENTS).flat_map(rows_of).collect(),
        number => rows_of(number).collect(),
    };
    let features =
        rows.iter().flat_map(|row| [(*row as f32 * 0.7).sin() * 3.0, (*row as f32 * 1.3).cos() * 3.0]);
    let labels = match loss {
        "mean_squared_error" => {
            let targets =
                rows.iter().flat_map(|row| (0..outputs).map(move |at| ((row * 3 + at) as f32).sin()));
            Labels::Targets(targets.collect(), outputs)
        }
        _ => Labels::Classes(rows.iter().map(|row| (row * 7 % 11 % outputs.max(2)) as u32).collect()),
    };
    Examples::new(features.collect(), vec![2], labels).unwrap()
}

/// Client 0 has one example, client 1 has 61, and so on.
fn rows_of(number: usize) -> std::ops::Range<usize> {
    let start = 1000 * number;
    start..start + 1 + 60 * number
}

/// A task that both its clients and the operator evaluate.
struct Scene {
    world: World,
    loss: &'static str,
    outputs: usize,
    assignments: Vec<Assignment>,
}

impl Scene {
    async fn new(loss: &'static str, outputs: usize) -> Self {
        Self::with(loss, outputs, None).await
    }

    async fn with(loss: &'static str, outputs: usize, tuning: Option<FineTuning>) -> Self {
        let world = Box::pin(World::of_evaluation(loss, outputs, tuning)).await;
        let mut scene = Self { world, loss, outputs, assignments: Vec::new() };
        scene.check_in().await;
        scene
    }

    /// Lets all clients check in. The evaluation round then selects all of them.
    async fn check_in(&mut self) {
        let coordinator = &self.world.coordinator;
        while drive_task(coordinator, self.world.task, START).await.unwrap() {}
        for (number, client) in self.world.clients[..CLIENTS].iter().enumerate() {
            let os = if number < 3 { "linux" } else { "ios" };
            let offer = CheckInRequest {
                sdk_version: "1.0.0".into(),
                example_count: 10,
                attributes: [("os".into(), os.into())].into(),
                codecs: Vec::new(),
            };
            device::check_in(coordinator, client, &offer, 60_000, START).await.unwrap();
        }
        while drive_task(coordinator, self.world.task, START).await.unwrap() {}
        let (attributes, plan) = (BTreeMap::new(), self.world.task().await.evaluation_plan.unwrap());
        for client in &self.world.clients[..CLIENTS] {
            let offered = Offered { attributes: &attributes, codecs: &[] };
            let assignment =
                device::assignment_of(coordinator, client, offered, START).await.unwrap().unwrap();
            assert_eq!((assignment.plan, assignment.metric_sums), (plan, true));
            self.assignments.push(assignment);
        }
    }

    /// Evaluates as the client's software does, and returns the bytes of the update.
    async fn work(&self, number: usize, assignment: &Assignment) -> Vec<u8> {
        let mut blobs = HashMap::new();
        for artifact in [assignment.plan, assignment.model, assignment.weights] {
            blobs.insert(artifact.digest, self.world.coordinator.blobs.get(artifact.digest).await.unwrap());
        }
        let blob = |digest: BlobDigest| blobs[&digest].to_vec();
        let plan = parse_plan(&blob(assignment.plan.digest)).unwrap();
        let budget = Budget::default();
        let inputs =
            Inputs::of(assignment, plan, None, &budget, |artifact| Ok(blob(artifact.digest))).unwrap();
        let examples = examples(self.loss, self.outputs, number);
        let mut evaluation = Evaluation::begin(&inputs, &examples, &budget).unwrap();
        while !evaluation.advance(&|| std::time::Duration::ZERO).unwrap() {}
        let outcome = evaluation.finish().unwrap();
        let held_example_count = examples.len() as u64;
        let finished = FinishedWork {
            assignment: assignment.clone(),
            plan: inputs.plan,
            outcome,
            held_example_count,
            own: None,
        };
        make(&finished, None).unwrap().bytes
    }

    /// Sends an update in pieces of this many bytes.
    async fn send(&self, number: usize, bytes: &[u8], piece: usize) -> Result<UploadState, Refusal> {
        let announced = Announced { digest: UpdateDigest::of(bytes), length: bytes.len() as u64 };
        let (coordinator, assignment_id) = (&self.world.coordinator, self.assignments[number].assignment_id);
        let request = UploadRequest { assignment_id, announced, offset: 0 };
        let client = &self.world.clients[number];
        let begun = device::begin_upload(coordinator, client, request, START).await?;
        let Begun::Awaited(mut guard) = begun else { panic!("it was sent before") };
        let upload = guard.as_mut().expect("it was begun");
        match bytes.chunks(piece).try_for_each(|piece| upload.push(piece)) {
            Ok(()) => {
                device::finish_upload(coordinator, client, guard, START).await.map(|status| status.state)
            }
            Err(refusal) => Err(device::refuse_upload(coordinator, client, guard, refusal, START).await),
        }
    }

    /// Lets these clients evaluate and send.
    async fn report(&self, clients: impl IntoIterator<Item = usize>) {
        for number in clients {
            let bytes = self.work(number, &self.assignments[number]).await;
            assert!(bytes.len() > HEADER_BYTES, "sums follow the header");
            assert_eq!(self.send(number, &bytes, 100 + number).await, Ok(UploadState::Accepted));
        }
    }

    /// Ends the round and returns the evaluations of version 0: the operator's, and the clients'.
    async fn evaluations<const N: usize>(&self) -> [EvaluationRecord; N] {
        let now = START.plus_seconds(EVALUATION_SECONDS + 1);
        while drive_task(&self.world.coordinator, self.world.task, now).await.unwrap() {}
        let found = self.world.coordinator.storage.evaluations_at(self.world.task, 0).await.unwrap();
        found.try_into().expect("both have evaluated")
    }

    async fn status(&self, id: AssignmentId) -> AssignmentStatus {
        self.world.coordinator.storage.assignment(id).await.unwrap().unwrap().status
    }
}

impl World {
    async fn of_evaluation(loss: &str, outputs: usize, tuning: Option<FineTuning>) -> Self {
        let mut world = Self::new().await;
        let coordinator = Arc::get_mut(&mut world.coordinator).expect("nobody else has it");
        let onnx = Bytes::from(mlp(&[2, outputs], 1));
        let (organisation, bytes_max) = (world.organisation, onnx.len());
        let model = registry::create_model(coordinator, organisation, onnx, bytes_max, START).await.unwrap();
        let data = evaluation_data::write(&examples(loss, outputs, CLIENTS)).unwrap();
        let metric = if loss == "mean_squared_error" { "rmse" } else { "f1_macro" };
        let description = json!({
            "name": "evaluated", "population": "others",
            "plan": { "loss": loss, "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16 },
            // No training round has enough clients, so all of them evaluate.
            "scheduling": { "kind": "synchronous", "report_goal": 100, "minimum_cohort": 100 },
            "evaluation": {
                "central": true, "metric": metric,
                "federated": {
                    "report_goal": CLIENTS, "minimum_cohort": 2, "slice_by": ["os"], "minimum_group": 2,
                    "reporting_deadline_seconds": EVALUATION_SECONDS, "fine_tuning": tuning,
                },
            },
            "stop": { "rounds": 30 },
        });
        let request = CreateTaskRequest {
            description: serde_json::from_value(description).unwrap(),
            model: model.model,
            evaluation_data: Some(coordinator.blobs.put(data.into()).await.unwrap()),
            warm_start: None,
            activate: true,
        };
        world.task = registry::create_task(coordinator, organisation, request, START).await.unwrap().id;
        let storage = &coordinator.storage;
        let population = "others".parse().unwrap();
        let token = TokenRecord::unlimited("others", organisation, population, START);
        storage.create_token(&token).await.unwrap();
        world.clients.clear();
        for number in 1..=CLIENTS as u8 {
            let id = ClientId::from_random_bytes([100 + number; 16]);
            let enrolled = storage.enrol("others", &format!("other {number}"), id, START).await.unwrap();
            let EnrolOutcome::Enrolled(record) = enrolled else { panic!("{enrolled:?}") };
            world.clients.push(record);
        }
        world
    }
}

/// Metrics of counts must be equal, and metrics of sums of float64 nearly.
#[track_caller]
fn agree(federated: Option<f64>, central: Option<f64>, metric: Metric) {
    let is_counted =
        !matches!(metric, Metric::Loss | Metric::Perplexity | Metric::Rmse | Metric::Mae | Metric::R2);
    match (federated, central) {
        (Some(found), Some(expected)) if !is_counted => {
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                "{metric}: {found} {expected}"
            );
        }
        _ => assert_eq!(federated, central, "{metric}"),
    }
}

#[tokio::test]
async fn clients_and_the_operator_measure_the_same_on_the_same_examples() {
    let cases = [
        ("softmax_cross_entropy", 3, 8),
        ("softmax_cross_entropy", 2, 9),
        ("softmax_cross_entropy", 70, 8),
        ("binary_cross_entropy", 1, 8),
        ("mean_squared_error", 2, 4),
    ];
    for (loss, outputs, metrics) in cases {
        let scene = Box::pin(Scene::new(loss, outputs)).await;
        // The order in which clients report does not matter.
        scene.report([3, 0, 4, 1, 2]).await;
        let [central, federated] = scene.evaluations().await;
        assert_eq!((central.client_count, federated.client_count), (0, CLIENTS as u64));
        assert_eq!(federated.values.iter().count(), metrics, "{loss} {outputs}: {:?}", federated.values);
        for metric in Metric::ALL {
            agree(federated.value(metric), central.value(metric), metric);
        }
        assert_eq!(federated.classes, central.classes);
        assert_eq!(federated.classes.is_none(), loss == "mean_squared_error");

        let storage = &scene.world.coordinator.storage;
        let slices = storage.evaluation_slices(scene.world.task).await.unwrap();
        let [ios, _] = slices.as_slice() else { panic!("two slices have enough clients: {slices:?}") };
        assert_eq!((ios.slice.as_str(), ios.client_count, &ios.classes), ("os=ios", 2, &None));
        assert_eq!(ios.values.iter().count(), metrics, "{:?}", ios.values);
        let model = Model::from_onnx(&mlp(&[2, outputs], 1), &ImportLimits::default()).unwrap();
        let loss = scene.world.task().await.description.plan.loss;
        let detail = |number| {
            let examples = examples(scene.loss, outputs, number);
            evaluate_in_detail(&model, &model.initial_weights(), &examples, loss).unwrap()
        };
        let mut expected = detail(3);
        expected += &detail(4);
        for metric in Metric::ALL {
            agree(ios.value(metric), expected.value(metric), metric);
        }
    }
}

#[tokio::test]
async fn a_client_of_before_sends_no_sums_and_then_only_loss_and_accuracy_are_known() {
    let scene = Box::pin(Scene::new("softmax_cross_entropy", 3)).await;
    scene.report([0, 1, 2, 4]).await;
    let asked = Assignment { metric_sums: false, ..scene.assignments[3].clone() };
    let bytes = scene.work(3, &asked).await;
    assert_eq!(bytes.len(), HEADER_BYTES);
    assert_eq!(scene.send(3, &bytes, 64).await, Ok(UploadState::Accepted));
    let [central, federated] = scene.evaluations().await;
    assert_eq!((federated.client_count, &federated.classes), (CLIENTS as u64, &None));
    assert!(federated.values.is_empty(), "a metric over some of the examples would mislead");
    for metric in [Metric::Loss, Metric::Accuracy] {
        agree(federated.value(metric), central.value(metric), metric);
    }
    assert_eq!(federated.value(Metric::F1Macro), None);
    // The other slice is whole.
    let slices = scene.world.coordinator.storage.evaluation_slices(scene.world.task).await.unwrap();
    let counts: Vec<_> = slices.iter().map(|one| (one.slice.as_str(), one.values.iter().count())).collect();
    assert_eq!(counts, [("os=ios", 0), ("os=linux", 8)]);
}

#[tokio::test]
async fn impossible_sums_are_refused_and_the_others_count() {
    let scene = Box::pin(Scene::new("softmax_cross_entropy", 3)).await;
    scene.report([0, 1]).await;
    let honest = scene.work(2, &scene.assignments[2]).await;
    // A count of the confusion matrix, the last byte, is raised by one.
    let mut raised = honest.clone();
    *raised.last_mut().unwrap() += 1;
    let refusal = scene.send(2, &raised, 1000).await.unwrap_err();
    assert_eq!(refusal.code(), ErrorCode::UpdateMetricInvalid, "{refusal:?}");
    let status = scene.status(scene.assignments[2].assignment_id).await;
    assert!(matches!(status, AssignmentStatus::Dropped { .. }), "{status:?}");
    let cut = &scene.work(3, &scene.assignments[3]).await[..HEADER_BYTES + 5];
    assert_eq!(scene.send(3, cut, 1000).await.unwrap_err().code(), ErrorCode::UpdateMalformed);
    let long = [&scene.work(4, &scene.assignments[4]).await[..], &[0; 1000]].concat();
    let refusal = scene.send(4, &long, 1000).await.unwrap_err();
    assert!([ErrorCode::UploadLengthInvalid, ErrorCode::UpdateMalformed].contains(&refusal.code()));
    let [_, federated] = scene.evaluations().await;
    assert_eq!((federated.client_count, federated.metrics.example_count), (2, 62));
    assert_eq!(federated.values.iter().count(), 8);
}

/// The clients with at least two examples report what they measure before and after a fine-tuning.
#[tokio::test]
async fn a_fine_tuning_is_reported_beside_the_version() {
    let tuning = FineTuning { epochs: 2, learning_rate: 0.25, held_out_share: 0.2 };
    for (loss, outputs) in [("softmax_cross_entropy", 3), ("mean_squared_error", 2)] {
        let scene = Box::pin(Scene::with(loss, outputs, Some(tuning))).await;
        scene.report([4, 2, 1]).await;
        // An update without the second measurement, or of other examples, is refused.
        let bytes = scene.work(3, &scene.assignments[3]).await;
        let refusal = scene.send(3, &bytes[..HEADER_BYTES], 64).await.unwrap_err();
        assert_eq!(refusal.code(), ErrorCode::UploadLengthInvalid, "{refusal:?}");
        let mut others = scene.work(3, &scene.assignments[0]).await;
        others[HEADER_BYTES + 1] ^= 1;
        let refusal = scene.send(0, &others, 64).await.unwrap_err();
        assert_eq!(refusal.code(), ErrorCode::UpdateMetricInvalid, "{refusal:?}");

        let model = Model::from_onnx(&mlp(&[2, outputs], 1), &ImportLimits::default()).unwrap();
        let (start, plan) = (model.initial_weights(), scene.world.task().await.description.plan);
        let mut expected = [Measured::default(), Measured::default()];
        for client in [1, 2, 4] {
            let all = examples(loss, outputs, client);
            let divided = tuning.divide(all.len()).unwrap().map(|rows| all.subset(&rows).unwrap());
            let (tuned, _) = fine_tuned_weights(&model, &tuning, &plan, &start, &divided[0]).unwrap();
            for (sum, weights) in expected.iter_mut().zip([&start, &tuned]) {
                *sum += &evaluate_in_detail(&model, weights, &divided[1], plan.loss).unwrap();
            }
        }
        let [central, before, after] = scene.evaluations().await;
        assert_eq!(
            [central.source, before.source, after.source],
            [EvaluationSource::Central, EvaluationSource::Federated, EvaluationSource::FineTuned]
        );
        for (record, expected) in [&before, &after].into_iter().zip(&expected) {
            assert_eq!((record.client_count, record.metrics.example_count), (3, 12 + 24 + 48));
            for metric in Metric::ALL {
                agree(record.value(metric), expected.value(metric), metric);
            }
            assert_eq!(record.classes, expected.class_report());
        }
        assert_ne!(before.value(Metric::Loss), after.value(Metric::Loss));
        let slices = scene.world.coordinator.storage.evaluation_slices(scene.world.task).await.unwrap();
        let slices: Vec<_> = slices.iter().map(|one| (one.slice.as_str(), one.source)).collect();
        let linux = |source| ("os=linux", source);
        assert_eq!(slices, [linux(EvaluationSource::Federated), linux(EvaluationSource::FineTuned)]);
    }
}
