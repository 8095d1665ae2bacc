use folkmoot_protocol::{
    LocalNoise, Protection, Work,
    messages::Artifact,
    secure::{DistributedNoise, SecureTerms, Threat},
};

use super::*;
use crate::samples;

fn assignment(cohort_min: Option<u64>, level: Option<ProtectionLevel>) -> Assignment {
    Assignment { cohort_min, protection_level: level, ..samples::assignment() }
}

fn refusal(budget: &Budget, assignment: &Assignment, plan: &Plan) -> Option<OverBudget> {
    budget.allows(assignment, plan).err()
}

#[test]
fn the_defaults_are_what_the_guide_says() {
    let budget = Budget::default();
    assert_eq!((budget.memory_bytes_max, budget.model_bytes_max), (2_147_483_648, 1_073_741_824));
    assert_eq!((budget.training_seconds_max, budget.parameters_max), (3600, 268_435_456));
    assert_eq!((budget.operations_max, budget.cohort_min), (200_000, 0));
    assert_eq!(refusal(&budget, &assignment(None, None), &samples::plan()), None);
    assert_eq!(budget.import_limits(), ImportLimits::default());
}

#[test]
fn a_limit_of_0_that_allows_nothing_is_refused_by_name() {
    assert_eq!(Budget::default().validate(), Ok(()));
    let error = Budget { training_seconds_max: 0, ..Budget::default() }.validate().unwrap_err();
    assert!(error.starts_with("training_seconds_max is 0"), "{error}");
}

#[test]
fn what_is_fetched_counts_with_its_weights_in_the_form_that_travels() {
    let of = |bytes| Artifact { bytes, ..samples::assignment().model };
    let whole = Assignment { model: of(60), weights: of(41), ..samples::assignment() };
    let parts = Assignment { weights_parts: vec![of(30), of(10)], ..whole.clone() };
    let budget = Budget { model_bytes_max: 100, ..Budget::default() };
    let plan = samples::plan();
    assert_eq!(refusal(&budget, &whole, &plan), Some(OverBudget::ModelBytes { bytes: 101, max: 100 }));
    assert_eq!(refusal(&budget, &parts, &plan), None);
    let budget = Budget { memory_bytes_max: 100, ..Budget::default() };
    assert_eq!(refusal(&budget, &whole, &plan), Some(OverBudget::MemoryBytes { bytes: 101, max: 100 }));
    let endless = Assignment { model: of(u64::MAX), ..whole };
    assert!(refusal(&budget, &endless, &plan).is_some(), "a sum that overflows is too much");
}

#[test]
fn the_plan_says_how_many_parameters_there_are() {
    let plan = samples::plan();
    let count = plan.schema.parameter_count();
    let budget = |parameters_max| Budget { parameters_max, ..Budget::default() };
    let over = OverBudget::Parameters { parameters: count, max: count - 1 };
    assert_eq!(refusal(&budget(count - 1), &assignment(None, None), &plan), Some(over));
    assert_eq!(refusal(&budget(count), &assignment(None, None), &plan), None);
}

#[test]
fn a_cohort_that_is_too_small_or_not_told_is_declined() {
    let budget = Budget { cohort_min: 3, ..Budget::default() };
    let told = |told| refusal(&budget, &assignment(told, None), &samples::plan());
    for told_by in [None, Some(0), Some(2)] {
        assert_eq!(told(told_by), Some(OverBudget::Cohort { told: told_by, min: 3 }));
    }
    assert_eq!([told(Some(3)), told(Some(4))], [None, None]);
}

#[test]
fn a_promise_of_noise_needs_what_the_client_can_see_of_it() {
    use ProtectionLevel::{Central, Local, None as Nothing};
    let noise = LocalNoise { clipping_norm: 10, scale: 1 };
    let cases = [
        (None, None, None, Nothing),
        (Some(Nothing), Some(5), None, Nothing),
        (Some(Central), None, None, Nothing),
        (Some(Central), Some(5), None, Central),
        // The coordinator promises local noise, but its plan has none.
        (Some(Local), Some(5), None, Nothing),
        (None, None, Some(noise), Local),
        (Some(Local), None, Some(noise), Local),
    ];
    for (told, clipping_norm, local_noise, found) in cases {
        let assignment = Assignment { clipping_norm, ..assignment(None, told) };
        let plan = Plan { local_noise, ..samples::plan() };
        for min in ProtectionLevel::ALL {
            let budget = Budget { protection_min: min, ..Budget::default() };
            let over = (found < min).then_some(OverBudget::Protection { found, min });
            assert_eq!(refusal(&budget, &assignment, &plan), over, "{told:?}, {clipping_norm:?}, {min}");
        }
    }
}

#[test]
fn distributed_noise_is_what_the_plan_states() {
    let noise = Some(DistributedNoise { clipping_norm: 10, noise_multiplier: 1.0 });
    let with = |noise, local_noise| {
        let terms = SecureTerms { is_weighted: false, noise, ..samples::secure_terms(Threat::Malicious) };
        Plan { protection: Protection::SecureAggregation(terms), local_noise, ..samples::plan() }
    };
    let budget = Budget { protection_min: ProtectionLevel::Distributed, ..Budget::default() };
    let promised = assignment(None, Some(ProtectionLevel::Distributed));
    assert_eq!(refusal(&budget, &promised, &with(noise, None)), None);
    // A masked update gets no local noise, whatever the plan says.
    let local = Some(LocalNoise { clipping_norm: 10, scale: 1 });
    // The metrics of an evaluation have no noise, whatever its plan says.
    let evaluation = Plan { work: Work::Evaluation, ..with(noise, None) };
    for plan in [with(None, None), with(None, local), samples::plan(), evaluation] {
        assert!(matches!(refusal(&budget, &promised, &plan), Some(OverBudget::Protection { .. })));
    }
}

#[test]
fn a_plan_can_lower_memory_and_time_and_not_raise_them() {
    let budget = Budget { memory_bytes_max: 7, training_seconds_max: 60, ..Budget::default() };
    let lowered = |bytes, seconds| {
        let mut plan = samples::plan();
        (plan.training.memory_bytes_max, plan.training.time_limit_seconds) = (bytes, seconds);
        let training = budget.lower(plan).training;
        (training.memory_bytes_max.unwrap(), training.time_limit_seconds.unwrap())
    };
    assert_eq!(lowered(None, None), (7, 60.0));
    assert_eq!(lowered(Some(5), Some(2.5)), (5, 2.5));
    assert_eq!(lowered(Some(9), Some(61.0)), (7, 60.0));
}

#[test]
fn models_are_read_under_the_lower_limits() {
    let budget = Budget {
        model_bytes_max: 1000,
        parameters_max: 20,
        operations_max: 30,
        memory_bytes_max: 4000,
        ..Budget::default()
    };
    let limits = budget.import_limits();
    assert_eq!((limits.model_bytes_max, limits.parameters_max), (1000, 20));
    assert_eq!((limits.nodes_max, limits.graph_nodes_max, limits.constant_elements_max), (30, 30, 1000));
    let endless = Budget { operations_max: u64::MAX, parameters_max: u64::MAX, ..Budget::default() };
    assert_eq!(endless.import_limits(), ImportLimits::default(), "the engine's own limits stay");
}
