use folkmoot_graph::step::StepRule;
use folkmoot_protocol::{PersonalTraining, TrainingPlan};

/// Returns the part of a plan that an executor needs.
pub(super) fn step_rule(plan: &TrainingPlan) -> StepRule {
    StepRule {
        batch_size: plan.batch_size as usize,
        accumulation_steps: plan.accumulation_steps,
        precision: plan.precision,
        clipping: plan.gradient_clipping,
        sharpness_radius: plan.sharpness_aware.map(|one| one.radius),
        has_constraints: plan.l1.is_some() || plan.value_range.is_some(),
        privacy: plan.example_privacy,
        // pFedMe pulls the client's own model toward the shared one. A plan has only one of the two terms.
        proximal_term: match plan.personal_training {
            Some(PersonalTraining::PFedMe { lambda, .. }) => lambda,
            _ => plan.proximal_term,
        },
        optimizer: plan.optimizer,
        memory_bytes_max: plan.memory_bytes_max,
    }
}
