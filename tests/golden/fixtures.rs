//! Fixed values from which the golden files are produced.

use folkmoot_protocol::{
    AssignmentId, BlobDigest, ClientId, RoundId, TaskId, TensorSchema, TensorSpec, Timestamp,
    messages::{Artifact, Assignment},
};

pub const TIME: Timestamp = Timestamp(1_780_000_000_123);

pub fn client_id() -> ClientId {
    ClientId::from_random_bytes([0x11; 16])
}

pub fn assignment_id() -> AssignmentId {
    AssignmentId::from_random_bytes([0x22; 16])
}

pub fn artifact(content: &str) -> Artifact {
    Artifact { digest: BlobDigest::of(content.as_bytes()), bytes: content.len() as u64 }
}

pub fn assignment() -> Assignment {
    Assignment {
        assignment_id: assignment_id(),
        task_id: TaskId::from_random_bytes([0x33; 16]),
        round_id: RoundId::from_random_bytes([0x44; 16]),
        round_number: 5,
        base_version: 4,
        plan: artifact("plan"),
        model: artifact("model"),
        weights: artifact("weights"),
        weights_parts: Vec::new(),
        control_variate: None,
        deadline: TIME.plus_seconds(600),
        deadline_in_milliseconds: 600_000,
        clipping_norm: Some(1 << 27),
        recipe: None,
        may_be_asked: false,
        cohort_min: None,
        protection_level: None,
        metric_sums: false,
        is_masked: false,
        endorsement: None,
    }
}

/// Returns a schema with a matrix, a vector, a scalar, and a name that is not ASCII.
pub fn schema() -> TensorSchema {
    let tensor = |name: &str, shape: &[u64]| TensorSpec { name: name.into(), shape: shape.to_vec() };
    TensorSchema {
        tensors: vec![
            tensor("layer_1.weight", &[2, 3]),
            tensor("layer_1.bias", &[3]),
            tensor("scale", &[]),
            tensor("größe", &[1]),
        ],
    }
}
