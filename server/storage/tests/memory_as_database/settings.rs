//! The small sets from which ids are drawn, and the records with these ids.

use folkmoot_coordinator::{
    round::{Phase, Purpose, Round},
    task::TaskState,
};
use folkmoot_protocol::{
    BlobDigest, ClientId, OrganisationId, PopulationName, RoundId, TaskId, TensorSchema, TensorSpec,
    Timestamp, UserKey, update::UpdateMetrics,
};
use folkmoot_storage::{ModelVersionRecord, RoundRecord, TaskRecord, VersionMaking};

pub const ORGANISATIONS: u64 = 3;
pub const POPULATIONS: u64 = 2;
pub const CLIENTS: u64 = 9;
pub const TASKS: u64 = 3;

pub fn organisation(number: u64) -> OrganisationId {
    OrganisationId::from_random_bytes([number as u8 + 1; 16])
}

/// Returns the name of a population. No organisation has the last one.
pub fn population(number: u64) -> PopulationName {
    ["apps", "digits", "nobody"][number as usize].parse().expect("it is a name")
}

/// Returns the client id for a number. The order of the ids differs from the order of the numbers.
pub fn client(number: u64) -> ClientId {
    ClientId::from_random_bytes([(number as u8).wrapping_mul(67); 16])
}

pub fn task(number: u64) -> TaskId {
    TaskId::from_random_bytes([(number as u8).wrapping_mul(151); 16])
}

pub fn user(number: u64) -> UserKey {
    UserKey::of(organisation(0), &population(1), &name(number))
}

pub fn name(number: u64) -> String {
    format!("{:02x}", (number as u8).wrapping_mul(93))
}

pub fn digest(number: u64) -> BlobDigest {
    BlobDigest::of(&number.to_le_bytes())
}

pub fn metrics(number: u64) -> UpdateMetrics {
    UpdateMetrics {
        example_count: number,
        loss_sum: number as f64 / 3.0,
        correct_count: number / 2,
        step_count: 1,
    }
}

pub fn version(
    task_id: TaskId,
    number: u64,
    round_id: Option<RoundId>,
    now: Timestamp,
) -> ModelVersionRecord {
    ModelVersionRecord {
        task_id,
        number,
        round_id,
        weights: digest(number),
        weights_bytes: 16,
        metrics: metrics(number),
        making: VersionMaking { change_norm: 0.1, ..VersionMaking::default() },
        created_at: now,
        dropped_at: None,
    }
}

pub fn task_record(id: TaskId, organisation_id: OrganisationId, now: Timestamp) -> TaskRecord {
    let text = r#"{"name": "digits", "population": "digits",
        "plan": {"loss": "softmax_cross_entropy", "optimizer": {"sgd": {"learning_rate": 0.1}},
                 "epochs": 1, "batch_size": 16},
        "scheduling": {"kind": "synchronous", "report_goal": 8}, "stop": {"rounds": 30}}"#;
    let tensors = vec![TensorSpec { name: "weight".into(), shape: vec![2, 2] }];
    TaskRecord {
        id,
        organisation_id,
        description: serde_json::from_str(text).expect("it is a description"),
        state: TaskState::Draft,
        model: digest(0),
        model_bytes: 5,
        schema: TensorSchema { tensors },
        plan: digest(1),
        plan_bytes: 4,
        evaluation_plan: None,
        evaluation_data: None,
        served: 0,
        created_at: now,
        revision: 0,
    }
}

pub fn round_record(
    organisation_id: OrganisationId,
    task_id: TaskId,
    number: u64,
    purpose: Purpose,
    phase: Phase,
) -> RoundRecord {
    let mut bytes = *task_id.as_bytes();
    (bytes[0], bytes[1]) = (number as u8, purpose.name().len() as u8);
    let id = RoundId::from_random_bytes(bytes);
    let round = Round { id, task_id, number, purpose, base_version: number.saturating_sub(1), phase };
    RoundRecord { organisation_id, round, updates_max: None, created_at: Timestamp(number), revision: 0 }
}
