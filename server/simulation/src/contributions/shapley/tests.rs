use std::convert::Infallible;

use super::*;

/// Returns the values of the game in which a set has this utility.
fn valued(count: usize, settings: &ContributionSettings, utility: impl Fn(&Coalition) -> f64) -> RoundValues {
    let each = |sets: &[Coalition]| Ok::<_, Infallible>(sets.iter().map(&utility).collect());
    let values = value_round(count, settings, 7, each).unwrap();
    assert_ne!(values.method, Method::LeftOut);
    values
}

fn sampling(tolerance: f64, passes_max: usize) -> ContributionSettings {
    ContributionSettings { exact_clients_max: 0, passes_max, tolerance }
}

fn is_near(one: &[f64], other: &[f64], within: f64) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() <= within)
}

/// A pair of gloves is worth 1. Clients 0 and 1 have left gloves, and client 2 has the right one. In the six orders, client 2 completes the
/// pair four times, and each other client once: 1/6, 1/6 and 4/6.
fn gloves(set: &Coalition) -> f64 {
    f64::from(set.contains(2) && (set.contains(0) || set.contains(1)))
}

#[test]
fn the_exact_values_are_those_of_a_game_by_hand() {
    let values = valued(3, &ContributionSettings::default(), gloves);
    assert!(is_near(&values.shapley, &[1.0 / 6.0, 1.0 / 6.0, 4.0 / 6.0], 1e-15), "{values:?}");
    assert!(is_near(&values.leave_one_out, &[0.0, 0.0, 1.0], 0.0), "either left glove replaces the other");
    assert_eq!((values.evaluations, values.method, values.gain), (8, Method::Exact, 1.0));
}

/// A game without structure. Client 3 is a copy of client 0, and client 4 changes nothing.
fn strange(set: &Coalition) -> f64 {
    let numbers = [0.3, -0.2, 0.5, 0.3, 0.0];
    let sum: f64 = set.places().map(|place| numbers[place]).sum();
    sum.tanh() + 0.1 * sum * sum
}

#[test]
fn the_values_have_the_properties_that_define_them() {
    let values = valued(5, &ContributionSettings::default(), strange);
    let total: f64 = values.shapley.iter().sum();
    let gain = strange(&Coalition::all(5)) - strange(&Coalition::none(5));
    assert!((total - gain).abs() < 1e-12 && (values.gain - gain).abs() < 1e-15, "efficiency: {values:?}");
    assert!((values.shapley[0] - values.shapley[3]).abs() < 1e-12, "symmetry: {values:?}");
    assert!(values.shapley[4].abs() < 1e-12 && values.leave_one_out[4].abs() < 1e-12, "dummy: {values:?}");
    assert!(values.shapley[1] < 0.0, "a client that hurts has a negative value: {values:?}");
    let sum = |set: &Coalition| strange(set) + gloves(set);
    let (gloves, both) = (
        valued(5, &ContributionSettings::default(), gloves),
        valued(5, &ContributionSettings::default(), sum),
    );
    let added: Vec<f64> =
        values.shapley.iter().zip(&gloves.shapley).map(|(one, other)| one + other).collect();
    assert!(is_near(&both.shapley, &added, 1e-12), "additivity: {both:?}");
}

#[test]
fn sampled_values_add_up_and_come_close_to_the_exact_ones() {
    let exact = valued(5, &ContributionSettings::default(), strange);
    // 120 orders of 5 clients exist. 40 passes draw 200, unless the values change by less than 5 % before.
    let values = valued(5, &sampling(0.0, 40), strange);
    assert_eq!(values.method, Method::Sampled);
    let total: f64 = values.shapley.iter().sum();
    assert!((total - exact.gain).abs() < 1e-12, "without a tolerance, nothing is lost: {values:?}");
    assert!(is_near(&values.shapley, &exact.shapley, 0.05), "{values:?}\n{exact:?}");
    assert!(is_near(&values.leave_one_out, &exact.leave_one_out, 1e-15));
    assert_eq!(values, valued(5, &sampling(0.0, 40), strange), "the same seed gives the same values");
}

#[test]
fn a_sum_needs_one_order_and_its_values_are_exact() {
    let values = valued(20, &sampling(0.0, 50), |set| set.places().map(|place| place as f64).sum());
    let expected: Vec<f64> = (0..20).map(f64::from).collect();
    assert!(is_near(&values.shapley, &expected, 1e-9) && is_near(&values.leave_one_out, &expected, 1e-9));
    // 100 orders after the first pass have changed nothing, so there are six passes of 20 orders with at most 20 new sets each.
    assert!(values.evaluations <= 6 * 20 * 20, "{}", values.evaluations);
}

#[test]
fn truncation_saves_evaluations_and_loses_no_more_than_the_tolerance() {
    // After three clients, nothing is gained any more.
    let utility = |set: &Coalition| (set.len() as f64 / 3.0).min(1.0);
    let whole = valued(30, &sampling(0.0, 1), |set| utility(set) + 1e-6 * set.len() as f64);
    let short = valued(30, &sampling(0.001, 1), |set| utility(set) + 1e-6 * set.len() as f64);
    assert!(short.evaluations * 5 < whole.evaluations, "{} and {}", short.evaluations, whole.evaluations);
    let total: f64 = short.shapley.iter().sum();
    assert!((total - short.gain).abs() <= 0.001, "{short:?}");
    let still = valued(30, &sampling(0.001, 5), |set| 1e-5 * set.len() as f64);
    assert_eq!((still.method, still.evaluations), (Method::Truncated, 2 + 30));
    assert_eq!(still.shapley, [0.0; 30]);
    assert!(still.leave_one_out.iter().all(|value| (value - 1e-5).abs() < 1e-12), "{still:?}");
}

#[test]
fn a_round_whose_model_is_no_number_has_no_values() {
    let utility = |set: &Coalition| if set.len() == 2 { f64::NAN } else { set.len() as f64 };
    for settings in [ContributionSettings::default(), sampling(0.0, 3)] {
        let each = |sets: &[Coalition]| Ok::<_, Infallible>(sets.iter().map(utility).collect());
        assert_eq!(value_round(3, &settings, 1, each).unwrap().method, Method::LeftOut);
    }
    let failing = |_: &[Coalition]| Err::<Vec<f64>, _>("failed");
    assert_eq!(value_round(3, &ContributionSettings::default(), 1, failing), Err("failed"));
}

#[test]
fn one_client_has_all_of_its_round() {
    for settings in [ContributionSettings::default(), sampling(0.0, 5)] {
        let values = valued(1, &settings, |set| 0.25 * set.len() as f64);
        assert_eq!((values.shapley, values.leave_one_out), (vec![0.25], vec![0.25]));
    }
}
