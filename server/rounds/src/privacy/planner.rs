//! The privacy planner of the command line and the API.

use folkmoot_coordinator::privacy::EPSILON_MAX;
use folkmoot_privacy::{
    Delta, Epsilon, Unit,
    accountant::update_multiplier,
    plan::{Forecast, Intention},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The exponent of the default delta, clients^-1.1, which is well below 1 / clients.
const DELTA_EXPONENT: f64 = -1.1;
/// The standard deviation of the noise on the count of short updates, divided by the report goal. Tasks use the same
/// value.
const COUNT_DEVIATION_SHARE: f64 = 1.0 / 20.0;
/// The default number of parameters.
pub const PARAMETERS: u64 = 1_000_000;
/// The default clipping norm.
pub const CLIPPING_NORM: f64 = 1.0;

/// The inputs of a privacy plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The number of clients in the population, at least 1.
    #[schema(minimum = 1)]
    pub clients: u64,
    /// The report goal: the number of updates in a version, at least 1.
    #[schema(minimum = 1)]
    pub report_goal: u64,
    /// The number of versions to release, at least 1.
    #[schema(minimum = 1)]
    pub rounds: u64,
    /// The epsilon that all versions together may spend per client: above 0, at most 1000.
    #[schema(exclusive_minimum = 0.0, maximum = 1000.0)]
    pub epsilon: f64,
    /// The delta of the budget: the probability with which epsilon may be exceeded. Default: 1 / clients^1.1, rounded
    /// down to one digit.
    #[serde(default)]
    pub delta: Option<f64>,
    /// The maximum number of versions that may contain a client's updates. Default: all versions.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub participations: Option<u64>,
    /// The number of parameters of the model. Default: 1,000,000.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub parameters: Option<u64>,
    /// The L2 norm to which updates are clipped. Default: 1.
    #[serde(default)]
    #[schema(exclusive_minimum = 0.0)]
    pub clipping_norm: Option<f64>,
    /// The privacy amplification that the plan claims. Default: none.
    #[serde(default)]
    pub amplification: PlannedAmplification,
}

/// A claim of privacy amplification by sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedAmplification {
    /// No claim.
    #[default]
    None,
    /// Poisson sampling: for each version, every client is drawn independently with the same probability.
    Poisson,
}

/// A plan and its cost.
#[derive(Serialize)]
pub struct Planned {
    /// The inputs, with all defaults filled in.
    pub intention: Intention,
    /// The noise and the expected accuracy.
    pub forecast: Forecast,
    /// The noise multiplier of the sum if the clipping norm is adaptive. It is larger than the plan's, because the
    /// noised count of short updates uses part of the budget. `None` if the count would use the whole budget.
    pub adaptive_update_multiplier: Option<f64>,
}

/// The reason why no plan could be computed, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {remedy}")]
pub struct PlanError {
    /// A description of the problem.
    pub message: String,
    /// Advice on how to fix the problem.
    pub remedy: &'static str,
}

/// Computes the noise that a budget requires, and whether the model can learn despite it.
///
/// # Errors
/// [`PlanError`] if a number is out of range, or no noise meets the budget.
pub fn planned(request: &PlanRequest) -> Result<Planned, PlanError> {
    let fault = |message: String| PlanError { message, remedy: "change the plan's numbers and try again" };
    let counts = [
        ("clients", Some(request.clients)),
        ("report_goal", Some(request.report_goal)),
        ("rounds", Some(request.rounds)),
        ("participations", request.participations),
        ("parameters", request.parameters),
    ];
    if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == Some(0)) {
        return Err(fault(format!("{name} is 0; it must be at least 1")));
    }
    let clipping_norm = request.clipping_norm.unwrap_or(CLIPPING_NORM);
    // Updates are float32, so a larger clipping norm would not clip any update.
    if !(clipping_norm > 0.0 && clipping_norm <= f64::from(f32::MAX)) {
        return Err(fault(format!("clipping_norm is {clipping_norm}; it must be above 0 and fit a float32")));
    }
    let in_range = |epsilon: &Epsilon| epsilon.get() > 0.0 && epsilon.get() <= EPSILON_MAX;
    let epsilon = Epsilon::new(request.epsilon).ok().filter(in_range);
    let delta = match request.delta {
        Some(delta) => Delta::new(delta).map_err(|error| fault(error.to_string()))?,
        None => default_delta(request.clients)?,
    };
    let intention = Intention {
        clients: request.clients,
        report_goal: request.report_goal,
        rounds: request.rounds,
        participations_max: request.participations.unwrap_or(request.rounds),
        is_poisson_claimed: request.amplification == PlannedAmplification::Poisson,
        epsilon: epsilon.ok_or_else(|| {
            let epsilon = request.epsilon;
            fault(format!("epsilon is {epsilon}; it must be above 0 and at most {EPSILON_MAX}"))
        })?,
        delta,
        unit: Unit::Client,
        parameters: request.parameters.unwrap_or(PARAMETERS),
        clipping_norm,
    };
    let forecast = intention.forecast().map_err(|error| fault(error.to_string()))?;
    let count_deviation = request.report_goal as f64 * COUNT_DEVIATION_SHARE;
    let adaptive = update_multiplier(forecast.noise_multiplier, count_deviation).ok();
    Ok(Planned {
        intention,
        forecast,
        adaptive_update_multiplier: adaptive.map(|multiplier| multiplier.get()),
    })
}

/// Returns 1 / clients^1.1, rounded down to one significant digit.
fn default_delta(clients: u64) -> Result<Delta, PlanError> {
    let shown = format!("{:e}", (clients as f64).powf(DELTA_EXPONENT));
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let first: String = digits.chars().take(1).collect();
    let delta = format!("{first}e{exponent}").parse().ok().and_then(|delta| Delta::new(delta).ok());
    let message = || format!("the default delta, 1 / {clients}^1.1, is not below 1");
    delta.ok_or_else(|| PlanError { message: message(), remedy: "give a delta below 1" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of all magnitudes, including both ends of the range of `u64`.
    fn counts() -> impl Strategy<Value = u64> {
        prop_oneof![0..3u64, (0..64u32).prop_map(|bits| 1 << bits), Just(u64::MAX)]
    }

    fn numbers() -> impl Strategy<Value = f64> {
        prop_oneof![(-308..308i32).prop_map(|exponent| 10f64.powi(exponent)), 0.0..2.0f64, Just(f64::MAX)]
    }

    proptest! {
        /// Any request results in a plan or in an error with a reason.
        #[test]
        fn any_numbers_are_planned_or_refused(
            clients in counts(), report_goal in counts(), rounds in counts(), epsilon in numbers(),
            delta in prop::option::of(numbers()), participations in prop::option::of(counts()),
            parameters in prop::option::of(counts()), clipping_norm in prop::option::of(numbers()),
        ) {
            let amplification = PlannedAmplification::None;
            let request = PlanRequest {
                clients, report_goal, rounds, epsilon, delta, participations, parameters, clipping_norm, amplification,
            };
            if let Ok(planned) = planned(&request) {
                prop_assert!(planned.forecast.noise_multiplier.get() > 0.0);
            }
        }
    }

    #[test]
    fn the_default_delta_has_one_digit_and_is_below_one_in_all_clients() {
        for (clients, expected) in [(200, 2e-3), (10_000, 3e-5), (1_000_000, 2e-7), (10, 7e-2)] {
            assert_eq!(default_delta(clients).unwrap().get(), expected);
            assert!(expected < 1.0 / clients as f64);
        }
        assert_eq!(default_delta(1).unwrap_err().remedy, "give a delta below 1");
    }

    #[test]
    fn a_number_out_of_range_is_named() {
        let fine = PlanRequest {
            clients: 1_000,
            report_goal: 10,
            rounds: 10,
            epsilon: 8.0,
            delta: None,
            participations: None,
            parameters: None,
            clipping_norm: None,
            amplification: PlannedAmplification::None,
        };
        assert!(planned(&fine).is_ok());
        for (wrong, name) in [
            (PlanRequest { clients: 0, ..fine }, "clients"),
            (PlanRequest { rounds: 0, ..fine }, "rounds"),
            (PlanRequest { participations: Some(0), ..fine }, "participations"),
            (PlanRequest { epsilon: 0.0, ..fine }, "epsilon"),
            (PlanRequest { epsilon: f64::NAN, ..fine }, "epsilon"),
            (PlanRequest { epsilon: EPSILON_MAX + 1.0, ..fine }, "epsilon"),
            (PlanRequest { clients: 1 << 63, rounds: 280, epsilon: 1.8e307, ..fine }, "epsilon"),
            (PlanRequest { delta: Some(2.0), ..fine }, "delta"),
            (PlanRequest { clipping_norm: Some(f64::INFINITY), ..fine }, "clipping_norm"),
        ] {
            let Err(error) = planned(&wrong) else { panic!("{wrong:?}") };
            assert!(error.message.contains(name), "{error}");
        }
    }
}
