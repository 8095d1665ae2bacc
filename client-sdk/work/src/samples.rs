//! A sample plan and assignment, for tests.

use folkmoot_protocol::{
    AssignmentId, BlobDigest, Codec, LocalOptimizer, Loss, Plan, Protection, RoundId, TaskId, TensorSchema,
    TensorSpec, Timestamp, TrainingPlan, ValueGrid, Work,
    messages::{Artifact, Assignment},
    secure::{SecureTerms, Threat},
};

/// A plan for two weights with default settings.
pub fn plan() -> Plan {
    Plan {
        model: BlobDigest::of(b""),
        schema: TensorSchema { tensors: vec![TensorSpec { name: "w".into(), shape: vec![2] }] },
        work: Work::Training,
        device_rules: Vec::new(),
        training: TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.1)),
        codec: Codec::None,
        protection: Protection::Plain,
        grid: ValueGrid::default(),
        local_noise: None,
        drift_correction: None,
        fine_tuning: None,
        table_schema: None,
        image_schema: None,
    }
}

/// The terms of secure aggregation for three clients, none of which may vanish or collude.
pub fn secure_terms(threat: Threat) -> SecureTerms {
    SecureTerms {
        cohort_min: 3,
        cohort_max: 3,
        corrupt_share: 0.0,
        dropout_share: 0.0,
        threat,
        is_weighted: true,
        noise: None,
    }
}

/// An assignment whose blobs are empty.
pub fn assignment() -> Assignment {
    let artifact = Artifact { digest: BlobDigest::of(b""), bytes: 0 };
    Assignment {
        assignment_id: AssignmentId::from_random_bytes([7; 16]),
        task_id: TaskId::from_random_bytes([1; 16]),
        round_id: RoundId::from_random_bytes([2; 16]),
        round_number: 3,
        base_version: 2,
        plan: artifact,
        model: artifact,
        weights: artifact,
        weights_parts: Vec::new(),
        control_variate: None,
        deadline: Timestamp(0),
        deadline_in_milliseconds: 0,
        clipping_norm: None,
        recipe: None,
        may_be_asked: false,
        cohort_min: None,
        protection_level: None,
        metric_sums: false,
        is_masked: false,
        endorsement: None,
    }
}
