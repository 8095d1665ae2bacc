use folkmoot_privacy::{
    Delta, Epsilon, NoiseMultiplier, Relation, SamplingRate,
    ledger::{Charge, Participation},
};

use super::{Amplification, CentralPrivacy, Clipping};
use crate::{
    scheduling::SchedulingChoice,
    selection::SelectionChoice,
    task::{Fault, TaskDescription},
};

/// The share of the report goal that is the standard deviation of the noise on the count of short updates: Andrew et al.
/// 2021, section 3.
const COUNT_DEVIATION_SHARE: f64 = 1.0 / 20.0;

/// The numbers under which versions are released. They follow from the description alone, so they are the same in every
/// process and after every restart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// What every release costs, all that is released with it counted in.
    pub charge: Charge,
    /// The standard deviation of the noise on the sum of updates, over the clipping norm.
    pub update_multiplier: f64,
    /// The standard deviation of the noise on the count of short updates, where the norm is adaptive.
    pub count_deviation: Option<f64>,
    /// The fixed denominator of the mean.
    pub report_goal: u64,
    /// The releases for which the noise was derived, if it was.
    pub releases: Option<u64>,
}

impl Terms {
    /// Derives the terms of a description.
    ///
    /// # Errors
    /// The fault of numbers that do not go together, or with which nothing can be reached.
    pub fn of(central: &CentralPrivacy, description: &TaskDescription) -> Result<Self, Box<Fault>> {
        let report_goal = match &description.scheduling {
            SchedulingChoice::Synchronous(policy) => policy.report_goal,
            _ => 1,
        };
        let participation = participation(central, description)?;
        let releases = description.stop.rounds;
        let multiplier = rounded_up(match central.noise_multiplier {
            Some(value) => value,
            None => calibrated(central, participation, releases.unwrap_or(1))?,
        });
        let noise_multiplier = NoiseMultiplier::new(multiplier, Relation::ZeroOut).map_err(|error| {
            fault("noise_multiplier", &error.to_string(), "give noise_multiplier another value")
        })?;
        let count_deviation = match central.clipping {
            Clipping::Fixed { .. } => None,
            Clipping::Adaptive { .. } => Some(report_goal as f64 * COUNT_DEVIATION_SHARE),
        };
        let update_multiplier = match count_deviation {
            None => multiplier,
            Some(deviation) => update_multiplier(multiplier, deviation)?,
        };
        let charge = Charge { noise_multiplier, participation };
        let releases = releases.filter(|_| central.noise_multiplier.is_none());
        Ok(Self { charge, update_multiplier, count_deviation, report_goal, releases })
    }
}

/// Rounds up to a millionth: so many digits survive every way of writing them, and the ledger's digests are over exact
/// numbers.
fn rounded_up(number: f64) -> f64 {
    (number * 1e6).ceil() / 1e6
}

fn fault(field: &str, message: &str, remedy: &str) -> Box<Fault> {
    Box::new(Fault::new(&format!("privacy.{field}"), message, remedy))
}

fn participation(
    central: &CentralPrivacy,
    description: &TaskDescription,
) -> Result<Participation, Box<Fault>> {
    match (central.amplification, &description.selection) {
        (Amplification::None, _) => {
            let count = central.participations_max.or(description.stop.rounds).unwrap_or(1);
            Ok(Participation::AtMost { count })
        }
        (Amplification::Poisson, SelectionChoice::Poisson(poisson)) => {
            let rate = SamplingRate::new(rounded_up(poisson.sampling_rate).min(1.0));
            let rate = rate.map_err(|error| {
                fault("amplification", &error.to_string(), "mend selection.sampling_rate")
            })?;
            Ok(Participation::Poisson { rate })
        }
        (Amplification::Poisson, _) => Err(fault(
            "amplification",
            "it claims Poisson sampling, and selection.kind draws otherwise",
            "choose selection.kind = \"poisson\", or amplification = \"none\"",
        )),
    }
}

/// Splits the multiplier of the pair (sum, count): z_update = (z^-2 − (2 σ_b)^-2)^(-1/2) (Andrew et al. 2021, theorem 1).
fn update_multiplier(multiplier: f64, count_deviation: f64) -> Result<f64, Box<Fault>> {
    let left = multiplier.powi(-2) - (2.0 * count_deviation).powi(-2);
    if left > 0.0 {
        return Ok(left.powf(-0.5));
    }
    Err(fault(
        "clipping",
        &format!(
            "noise of {multiplier:.3} times the norm leaves nothing for the sum when the count of short updates has a \
             deviation of {count_deviation:.3}"
        ),
        "raise scheduling.report_goal, lower noise_multiplier, or choose clipping.kind = \"fixed\"",
    ))
}

fn calibrated(
    central: &CentralPrivacy,
    participation: Participation,
    releases: u64,
) -> Result<f64, Box<Fault>> {
    let wrong = |error: &dyn std::fmt::Display| {
        fault(
            "epsilon",
            &format!("no noise keeps {releases} versions within it: {error}"),
            "raise epsilon, or lower stop.rounds or participations_max",
        )
    };
    let epsilon = Epsilon::new(central.epsilon).map_err(|error| wrong(&error))?;
    let delta = Delta::new(central.delta).map_err(|error| wrong(&error))?;
    folkmoot_privacy::ledger::multiplier_for(participation, releases, epsilon, delta)
        .map_err(|error| wrong(&error))
}
