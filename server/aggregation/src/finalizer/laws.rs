//! Properties of every finalizer, and helpers for their tests.

use proptest::prelude::*;

use super::{Commit, Finalizer, FinalizerChoice};

/// The result of one commit in the reference script: the weights, then the state, slot by slot.
pub struct Step<const N: usize> {
    pub weights: [f64; N],
    pub state: &'static [[f64; N]],
}

/// The initial weights in the tests of single finalizers.
const WEIGHTS: [f32; 3] = [1.0, -0.5, 0.25];

/// The mean deltas of three commits: a constant one, one that changes sign, and one that is small and mostly 0.
const DELTAS: [[f64; 3]; 3] = [[0.5, -0.25, 0.0], [0.5, 0.5, 0.001], [0.25, -0.0625, 0.0]];

/// Compares three commits, numbered from 1, with the script's numbers, to a relative precision of 1e-6.
pub fn expect_steps(finalizer: &dyn Finalizer, commit: Commit, steps: [Step<3>; 3]) {
    let mut weights = WEIGHTS;
    let mut state = begin(finalizer, 3);
    for ((index, step), delta) in steps.iter().enumerate().zip(&DELTAS) {
        let mut slots: Vec<&mut [f32]> = state.iter_mut().map(Vec::as_mut_slice).collect();
        let commit = Commit { number: index as u64 + 1, ..commit };
        finalizer.advance(&commit, &mut weights, delta, &mut slots);
        let name = format!("step {}", index + 1);
        expect_close(&weights, &step.weights, &name);
        assert_eq!(state.len(), step.state.len(), "{name}");
        state.iter().zip(step.state).for_each(|(slot, expected)| expect_close(slot, expected, &name));
    }
}

fn expect_close(values: &[f32], expected: &[f64], name: &str) {
    for (value, expected) in values.iter().zip(expected) {
        let distance = (f64::from(*value) - expected).abs();
        assert!(distance <= 1e-6 * expected.abs(), "{name}: {value} is not {expected}");
    }
}

fn begin(finalizer: &dyn Finalizer, parameters: usize) -> Vec<Vec<f32>> {
    (0..finalizer.state_count()).map(|slot| vec![finalizer.initial_state(slot); parameters]).collect()
}

fn built_in(choice: &FinalizerChoice) -> &dyn Finalizer {
    choice.finalizer().expect("it is not a component")
}

fn choice(json: serde_json::Value) -> FinalizerChoice {
    serde_json::from_value(json).unwrap()
}

fn choices() -> Vec<FinalizerChoice> {
    let schedule = serde_json::json!({
        "warmup_commits": 2,
        "learning_rate_schedule": { "cosine": { "final_factor": 0.1, "steps": 3 } },
    });
    let kinds =
        ["fed_avg", "fed_avg_m", "fed_adagrad", "fed_adam", "fed_yogi", "fed_exp", "fed_cm", "proximal"];
    let plain = kinds.map(|kind| choice(serde_json::json!({ "kind": kind })));
    let scheduled = kinds.map(|kind| choice(serde_json::json!({ "kind": kind, "schedule": schedule })));
    let corrected = ["scaffold", "fed_dyn", "fed_dc"]
        .map(|kind| choice(serde_json::json!({ "kind": kind, "clients": 20 })));
    let ahead = serde_json::json!({ "kind": "fed_avg_m", "nesterov": true, "momentum_correction": true });
    [&plain[..], &scheduled, &corrected, &[choice(ahead)]].concat()
}

/// Runs commits over tiles that end at the cuts. Returns the bits of the weights and of the state.
fn run(finalizer: &dyn Finalizer, weights: &[f32], deltas: &[Vec<f64>], cuts: &[usize]) -> Vec<u32> {
    let mut weights = weights.to_vec();
    let mut state = begin(finalizer, weights.len());
    for (index, delta) in deltas.iter().enumerate() {
        let commit = Commit {
            number: index as u64 + 1,
            mean_staleness: 0.75 * index as f64,
            updates: 3,
            local_rate_sum: 0.5,
        };
        let mut start = 0;
        for end in cuts.iter().copied().chain([weights.len()]) {
            let mut slots: Vec<&mut [f32]> = state.iter_mut().map(|slot| &mut slot[start..end]).collect();
            finalizer.advance(&commit, &mut weights[start..end], &delta[start..end], &mut slots);
            start = end;
        }
    }
    weights.iter().chain(state.iter().flatten()).map(|value| value.to_bits()).collect()
}

proptest! {
    #[test]
    fn the_tiles_never_show(
        weights in prop::collection::vec(-2.0f32..2.0, 40),
        deltas in prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 40), 5),
        mut cuts in prop::collection::vec(0usize..=40, 0..4),
    ) {
        cuts.sort_unstable();
        for choice in choices() {
            let whole = run(built_in(&choice), &weights, &deltas, &[]);
            prop_assert_eq!(run(built_in(&choice), &weights, &deltas, &cuts), whole);
        }
    }

    #[test]
    fn federated_averaging_is_bit_for_bit_the_sum(weight in -4.0f32..4.0, delta in -1.0f64..1.0, rate in 0.1f64..2.0) {
        let finalizer = choice(serde_json::json!({ "kind": "fed_avg", "server_learning_rate": rate }));
        let mut weights = [weight];
        let commit = Commit { number: 7, mean_staleness: 2.0, ..Commit::default() };
        built_in(&finalizer).advance(&commit, &mut weights, &[delta], &mut []);
        prop_assert_eq!(weights[0].to_bits(), ((f64::from(weight) + rate * delta) as f32).to_bits());
    }
}

#[test]
fn the_defaults_are_valid_and_step_along_the_delta() {
    for choice in choices() {
        let mut faults = Vec::new();
        choice.validate(&mut faults);
        assert_eq!(faults, []);
        let after = run(built_in(&choice), &[0.0, 0.0], &[vec![0.1, -0.1]], &[]);
        let [up, down] = [after[0], after[1]].map(f32::from_bits);
        assert!(up > 0.0 && down == -up && up < 1.0, "{choice:?}: {up} {down}");
    }
}

#[test]
fn what_is_written_is_read_again_and_a_strange_field_is_refused() {
    for choice in choices() {
        let json = serde_json::to_value(&choice).unwrap();
        assert_eq!(serde_json::from_value::<FinalizerChoice>(json.clone()).unwrap(), choice);
        let mut strange = json;
        strange["beta3"] = 0.5.into();
        assert!(serde_json::from_value::<FinalizerChoice>(strange).is_err());
    }
    let json = serde_json::to_value(FinalizerChoice::default()).unwrap();
    assert_eq!(json, serde_json::json!({ "kind": "fed_avg", "server_learning_rate": 1.0 }));
}

#[test]
fn every_number_out_of_range_is_a_fault() {
    let bad = serde_json::json!({ "server_learning_rate": 0.0, "beta1": 1.0, "beta2": -0.1, "tau": 0.0 });
    let with_kind = |kind: &str, without: &[&str]| {
        let mut json = bad.clone();
        json["kind"] = kind.into();
        without.iter().for_each(|field| drop(json.as_object_mut().unwrap().remove(*field)));
        let mut faults = Vec::new();
        choice(json).validate(&mut faults);
        faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
    };
    let all = ["server_learning_rate", "beta1", "beta2", "tau"].map(|field| format!("finalizer.{field}"));
    assert_eq!(with_kind("fed_adam", &[]), all);
    assert_eq!(with_kind("fed_yogi", &[]), all);
    assert_eq!(with_kind("fed_adagrad", &["beta2"]), [0, 1, 3].map(|index| all[index].clone()));
    assert_eq!(with_kind("fed_avg", &["beta1", "beta2", "tau"]), [all[0].clone()]);
    let mut faults = Vec::new();
    choice(serde_json::json!({ "kind": "fed_avg_m", "momentum": 1.0 })).validate(&mut faults);
    for kind in ["scaffold", "fed_dyn"] {
        let mut faults = Vec::new();
        choice(serde_json::json!({ "kind": kind, "clients": 0 })).validate(&mut faults);
        assert_eq!(faults[0].field, "finalizer.clients", "{kind}");
    }
    assert_eq!(faults[0].to_string(), "finalizer.momentum: it is 1; it must be above -1, and below 1");
}
