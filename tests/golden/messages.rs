//! Tests the JSON of every message, and the round trip of every message through JSON.

use std::collections::BTreeMap;

use folkmoot_protocol::{
    BlobDigest, Codec, DeviceCondition, DeviceRule, DriftCorrection, ErrorCode, GradientClipping, ImageFit,
    ImageSchema, LearningRateSchedule, LocalNoise, LocalOptimizer, Loss, MissingValue, Plan, Precision,
    Problem, Protection, RunningStatistics, TableColumn, TableLabel, TableSchema, TrainingPlan, ValueGrid,
    Work,
    messages::{
        AbortReason, AbortRequest, Assignment, CheckInRequest, CheckInResponse, EnrolRequest, EnrolResponse,
        ProtectionLevel, ReportRequest, UploadState, UploadStatus,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use super::{assert_golden, fixtures};

/// Compares a message's JSON with the committed file. Also checks that parsing the JSON returns the same message.
#[track_caller]
fn assert_message<T: Serialize + DeserializeOwned>(name: &str, message: &T) {
    let json = serde_json::to_string_pretty(message).expect("a message is plain data") + "\n";
    assert_golden(&format!("messages/{name}.json"), &json);
    let read: T = serde_json::from_str(&json).expect("what was written can be read");
    assert_eq!(
        serde_json::to_string_pretty(&read).expect("a message is plain data") + "\n",
        json,
        "{name}: parsing its JSON returns a different message"
    );
}

#[test]
fn enrolment() {
    let request = EnrolRequest {
        token: "0123456789abcdef.".to_owned() + &"ab".repeat(32),
        public_key: "/RckOFqgx1tk+3jNYC+h2ZH95/dr0Fnh8bPGQS4wzys=".into(),
    };
    assert_message("enrol_request", &request);
    let response = EnrolResponse {
        client_id: fixtures::client_id(),
        population: "digits".parse().unwrap(),
        server_time: fixtures::TIME,
    };
    assert_message("enrol_response", &response);
}

#[test]
fn check_in() {
    let attributes = BTreeMap::from([("country".into(), "nl".into()), ("app".into(), "keyboard".into())]);
    let request =
        CheckInRequest { sdk_version: "0.1.0".into(), example_count: 1234, attributes, codecs: Vec::new() };
    assert_message("check_in_request", &request);
    let assigned = CheckInResponse::Assigned { assignment: fixtures::assignment() };
    assert_message("check_in_response_assigned", &assigned);
    let assignment = Assignment {
        cohort_min: Some(50),
        protection_level: Some(ProtectionLevel::Central),
        ..fixtures::assignment()
    };
    assert_message("check_in_response_assigned_with_promises", &CheckInResponse::Assigned { assignment });
    let assignment = Assignment { metric_sums: true, ..fixtures::assignment() };
    assert_message("check_in_response_assigned_with_metric_sums", &CheckInResponse::Assigned { assignment });
    let wait = |offered| CheckInResponse::Wait {
        retry_after_milliseconds_min: 500,
        retry_after_milliseconds_max: 5000,
        offered,
    };
    assert_message("check_in_response_wait", &wait(None));
    let offered = fixtures::assignment().weights;
    assert_message("check_in_response_wait_with_an_offer", &wait(Some(offered)));
}

#[test]
fn upload_report_and_abort() {
    let partial = UploadStatus { received_bytes: 65_536, state: UploadState::Partial };
    assert_message("upload_status_partial", &partial);
    let accepted = UploadStatus { received_bytes: 1_048_688, state: UploadState::Accepted };
    assert_message("upload_status_accepted", &accepted);
    let report = ReportRequest { training_milliseconds: 1500, download_bytes: 20_000, upload_bytes: 40_000 };
    assert_message("report_request", &report);
    let reasons = [
        AbortReason::ConditionsEnded,
        AbortReason::FetchFailed,
        AbortReason::PlanUnsupported,
        AbortReason::TrainingFailed,
        AbortReason::DeadlinePassed,
        AbortReason::Stopped,
        AbortReason::StateLost,
        AbortReason::Declined,
    ];
    let aborts = reasons.map(|reason| AbortRequest { reason, detail: "unplugged".into() });
    assert_message("abort_requests", &aborts);
    let declined = AbortRequest { reason: AbortReason::Declined, detail: String::new() };
    assert_message("abort_request_declined", &declined);
}

/// Returns a plan without settings that are off by default.
fn small_plan() -> Plan {
    Plan {
        model: BlobDigest::of(b"model"),
        schema: fixtures::schema(),
        work: Work::Training,
        device_rules: Vec::new(),
        training: TrainingPlan {
            epochs: 3,
            steps_max: Some(100),
            batch_size: 16,
            proximal_term: 0.0625,
            ..TrainingPlan::new(
                Loss::SoftmaxCrossEntropy,
                LocalOptimizer::Sgd {
                    learning_rate: 0.125,
                    momentum: 0.5,
                    nesterov: false,
                    weight_decay: 0.25,
                },
            )
        },
        codec: Codec::None,
        protection: Protection::Plain,
        grid: ValueGrid::default(),
        table_schema: None,
        image_schema: None,
        local_noise: None,
        drift_correction: None,
        fine_tuning: None,
    }
}

#[test]
fn plan() {
    let plan = small_plan();
    assert_message("plan", &plan);
    let training = TrainingPlan { loss: Loss::MeanSquaredError, steps_max: None, ..plan.training.clone() };
    assert_message("plan_without_steps_max", &Plan { training, ..plan.clone() });
    let training = TrainingPlan { precision: Precision::Mixed, ..plan.training.clone() };
    assert_message("plan_with_mixed_precision", &Plan { training, ..plan.clone() });
    let with_everything = Plan {
        work: Work::Evaluation,
        device_rules: every_device_rule(),
        training: training_with_everything(),
        local_noise: Some(LocalNoise { clipping_norm: 1 << 28, scale: 1 << 30 }),
        drift_correction: Some(DriftCorrection::FedDyn { alpha: 0.5 }),
        ..plan
    };
    assert_eq!(with_everything.training.validate(), Ok(()));
    assert_message("plan_with_everything", &with_everything);
}

#[test]
fn a_plan_with_a_table_schema() {
    let plan = Plan { table_schema: Some(every_table_column()), ..small_plan() };
    assert_message("plan_with_table_schema", &plan);
}

#[test]
fn a_plan_with_an_image_schema() {
    let classes = vec!["cat".into(), "größe".into()];
    let (mean, deviation) = (vec![0.5], vec![0.25]);
    let images =
        ImageSchema { width: 64, height: 48, grey: true, fit: ImageFit::Pad, mean, deviation, classes };
    let plan = Plan { image_schema: Some(Box::new(images)), ..small_plan() };
    assert_message("plan_with_image_schema", &plan);
}

/// Returns a table schema with a column of every kind and every treatment of gaps.
fn every_table_column() -> TableSchema {
    let number =
        |name: &str, missing| TableColumn::Number { name: name.into(), mean: 51.5, deviation: 0.1, missing };
    let (name, missing) = ("admitted".to_owned(), MissingValue::Indicator);
    TableSchema {
        columns: vec![
            number("age", MissingValue::Mean),
            number("pulse", MissingValue::Refuse),
            number("oxygen", MissingValue::Constant(95.0)),
            TableColumn::Date { name, mean: 20_574.25, deviation: 30.5, missing },
            TableColumn::Category { name: "größe".into(), values: vec!["klein".into(), "groß".into()] },
        ],
        label: Some(TableLabel::Class {
            name: "outcome".into(),
            classes: vec!["home".into(), "ward".into()],
        }),
    }
}

/// Returns one rule of every kind.
fn every_device_rule() -> Vec<DeviceRule> {
    let rule = |attribute: &str, condition| DeviceRule { attribute: attribute.into(), condition };
    vec![
        rule("language", DeviceCondition::Equals("nl".into())),
        rule("region", DeviceCondition::OneOf(vec!["Ghent".into(), "größe".into()])),
        rule("age", DeviceCondition::AtLeast(18.0)),
        rule("charge", DeviceCondition::AtMost(0.5)),
    ]
}

/// Returns a plan that sets every field except two: mixed precision cannot be combined with gradient accumulation, and
/// explicit learning rates cannot be combined with a schedule.
fn training_with_everything() -> TrainingPlan {
    let optimizer = LocalOptimizer::AdamW {
        learning_rate: 0.125,
        beta1: 0.875,
        beta2: 0.96875,
        epsilon: 0.0009765625,
        weight_decay: 0.03125,
    };
    TrainingPlan {
        learning_rate_schedule: LearningRateSchedule::Cosine { final_factor: 0.125, steps: 100 },
        warmup_steps: 10,
        warmup_from: Some(0.25),
        gradient_clipping: Some(GradientClipping::Norm(1.5)),
        steps_max: Some(100),
        time_limit_seconds: Some(2.5),
        accumulation_steps: 4,
        frozen: vec!["encoder.*".into(), "layer_?.bias".into()],
        trained: vec!["encoder.head.*".into()],
        statistics: RunningStatistics::KeepLocal,
        memory_bytes_max: Some(100_000_000),
        output: Some("logits".into()),
        ..TrainingPlan::new(Loss::Huber { delta: 0.5 }, optimizer)
    }
}

#[test]
fn problems() {
    assert_message("problem", &Problem::new(ErrorCode::RoundClosed, "the round has closed"));
    let full = Problem {
        retry_after_milliseconds: Some(1000),
        server_time: Some(fixtures::TIME),
        received_bytes: Some(65_536),
        request_id: Some("5f3a9c0de1b24c8790aa31fe62d7b845".into()),
        ..Problem::new(ErrorCode::UploadOffsetMismatch, "the part begins at byte 0, but 65536 have arrived")
    };
    assert_message("problem_with_everything", &full);
}
