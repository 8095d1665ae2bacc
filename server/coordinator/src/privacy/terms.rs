use std::num::NonZeroU64;

use folkmoot_privacy::{
    Delta, Epsilon, NoiseMultiplier, Relation, SamplingRate,
    accountant::{SplitError, update_multiplier},
    claim::{
        Blt, Capped, Charged, ClaimError, DistributedGaussian, EnforcedDraw, EnforcedParticipation, Gaussian,
        LocalGaussian, PoissonSampled, Separated, Tree,
    },
    ledger::{Charge, Participation},
};
use folkmoot_protocol::Fault;

use super::{
    Amplification, CentralPrivacy, Clipping, Limits, PrivacyChoice, PrivacyContext, Stream, SumNoise,
};
use crate::{scheduling::SchedulingChoice, selection::SelectionChoice};

/// The standard deviation of the noise on the count of short updates, as a share of the report goal: Andrew et
/// al. 2021, section 3.
const COUNT_DEVIATION_SHARE: f64 = 1.0 / 20.0;

/// The privacy parameters of a task's releases. They follow from the description alone, so they are the same in
/// every process and after every restart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The charge of each release. It includes everything that is published with the release.
    pub charge: Charge,
    /// The standard deviation of the noise divided by the clipping norm. It applies to the sum of updates, or to
    /// each update if privacy is local. In a stream, it is divided by the sensitivity of the whole stream.
    pub update_multiplier: f64,
    /// The standard deviation of the noise on the count of short updates, if the norm is adaptive.
    pub count_deviation: Option<f64>,
    /// The stream that the noise belongs to, if versions have correlated noise.
    pub stream: Option<Stream>,
    /// The fixed denominator of the mean.
    pub report_goal: u64,
}

impl Terms {
    /// Derives the terms of a task, or `None` if it promises no privacy.
    ///
    /// # Errors
    /// A fault if the numbers contradict each other or cannot reach the budget.
    pub(crate) fn derive(context: &PrivacyContext<'_>) -> Result<Option<Self>, Box<Fault>> {
        match context.privacy {
            PrivacyChoice::None => Ok(None),
            PrivacyChoice::Central(central) => central_terms(central, context).map(Some),
            PrivacyChoice::Local(_) => local_terms(context).map(Some),
            PrivacyChoice::Distributed(_) => distributed_terms(context).map(Some),
        }
    }
}

fn central_terms(central: &CentralPrivacy, context: &PrivacyContext<'_>) -> Result<Terms, Box<Fault>> {
    let report_goal = match context.scheduling {
        SchedulingChoice::Synchronous(policy) => policy.report_goal,
        _ => 1,
    };
    let rounds = context.rounds;
    let participations_max = central.participations_max.or(rounds).unwrap_or(1);
    let stream = central.noise.stream(participations_max, rounds);
    let participation = participation(central, context)?;
    let noise_multiplier = noise_multiplier(context, participation, Relation::ZeroOut)?;
    let count_deviation = match central.clipping {
        Clipping::Fixed { .. } => None,
        Clipping::Adaptive { .. } => Some(report_goal as f64 * COUNT_DEVIATION_SHARE),
    };
    let update_multiplier = match count_deviation {
        None => noise_multiplier.get(),
        Some(deviation) => {
            update_multiplier(noise_multiplier, deviation).map_err(|error| no_room(&error))?.get()
        }
    };
    let charge = Charge { noise_multiplier, participation };
    Ok(Terms { charge, update_multiplier, count_deviation, stream, report_goal })
}

/// Derives the terms of local privacy. Readers of updates must not distinguish any two data sets of a client, and a
/// replaced data set moves an update by up to two norms.
fn local_terms(context: &PrivacyContext<'_>) -> Result<Terms, Box<Fault>> {
    collected_terms(context, LocalGaussian::participation(&capped(context)?), Relation::ReplaceOne)
}

/// Derives the terms of distributed privacy. Who takes part is known, so runs are compared in which a client sends zeros.
fn distributed_terms(context: &PrivacyContext<'_>) -> Result<Terms, Box<Fault>> {
    collected_terms(context, DistributedGaussian::participation(&capped(context)?), Relation::ZeroOut)
}

fn capped(context: &PrivacyContext<'_>) -> Result<Capped, Box<Fault>> {
    Capped::from_enforced(&enforced(context)?)
        .map_err(|error| fault("participations_max", &error.to_string(), "it must be at least 1"))
}

/// Returns terms under which clients add the noise.
fn collected_terms(
    context: &PrivacyContext<'_>,
    participation: Participation,
    relation: Relation,
) -> Result<Terms, Box<Fault>> {
    let noise_multiplier = noise_multiplier(context, participation, relation)?;
    Ok(Terms {
        charge: Charge { noise_multiplier, participation },
        update_multiplier: noise_multiplier.standard_deviation_per_clipping_norm(),
        count_deviation: None,
        stream: None,
        report_goal: 1,
    })
}

/// Returns the description's noise multiplier. If the description sets none, returns the smallest multiplier that keeps
/// the task within its budget.
fn noise_multiplier(
    context: &PrivacyContext<'_>,
    participation: Participation,
    relation: Relation,
) -> Result<NoiseMultiplier, Box<Fault>> {
    let Some(limits) = context.privacy.limits() else {
        return Err(fault(
            "kind",
            "it promises no privacy",
            "choose \"central\", \"distributed\" or \"local\"",
        ));
    };
    let multiplier = match limits.noise_multiplier {
        // The description's multiplier is relative to the clipping norm.
        Some(value) => rounded_up(value) / relation.sensitivity_per_clipping_norm(),
        None => rounded_up(calibrated(&limits, participation, context.rounds.unwrap_or(1))?),
    };
    NoiseMultiplier::new(multiplier, relation)
        .map_err(|error| fault("noise_multiplier", &error.to_string(), "change noise_multiplier"))
}

/// Rounds up to a millionth. Six decimals survive every text format, and the ledger's digests need exact numbers.
fn rounded_up(number: f64) -> f64 {
    let nearest = (number * 1e6).round() / 1e6;
    if nearest == number { number } else { (number * 1e6).ceil() / 1e6 }
}

fn fault(field: &str, message: &str, remedy: &str) -> Box<Fault> {
    Box::new(Fault::new(&format!("privacy.{field}"), message, remedy))
}

fn no_room(error: &SplitError) -> Box<Fault> {
    let remedy = "raise scheduling.report_goal, lower noise_multiplier, or choose clipping.kind = \"fixed\"";
    fault("clipping", &error.to_string(), remedy)
}

/// Returns the pattern of releases in which one client may take part. It contains only limits that selection enforces.
fn participation(
    central: &CentralPrivacy,
    context: &PrivacyContext<'_>,
) -> Result<Participation, Box<Fault>> {
    let enforced = enforced(context)?;
    let refuse = |error: ClaimError| {
        let remedy = "set participations_max and noise.separation to at least 1";
        fault("amplification", &error.to_string(), remedy)
    };
    match (central.noise, central.amplification) {
        (SumNoise::Independent, Amplification::None) => {
            Capped::from_enforced(&enforced).map(|capped| Gaussian::participation(&capped)).map_err(refuse)
        }
        (SumNoise::Independent, Amplification::Poisson) => {
            let sampled = PoissonSampled::from_enforced(&enforced).map_err(|_| not_sampled(context))?;
            Ok(Gaussian::participation(&sampled))
        }
        (SumNoise::Tree { .. }, _) => {
            Separated::from_enforced(&enforced).map(|apart| Tree::participation(&apart)).map_err(refuse)
        }
        (SumNoise::Blt { .. }, _) => {
            Separated::from_enforced(&enforced).map(|apart| Blt::participation(&apart)).map_err(refuse)
        }
    }
}

/// Returns a fault that names the choice that prevents Poisson sampling.
fn not_sampled(context: &PrivacyContext<'_>) -> Box<Fault> {
    let (message, remedy) = match context.sampled() {
        None => (
            "it claims Poisson sampling of rounds, but scheduling.kind draws no cohorts",
            "choose scheduling.kind = \"synchronous\", or amplification = \"none\"",
        ),
        Some(_) => (
            "it claims Poisson sampling, but selection.kind draws clients differently",
            "choose selection.kind = \"poisson\", or amplification = \"none\"",
        ),
    };
    fault("amplification", message, remedy)
}

/// Returns the guarantees that selection enforces: [`PrivacyChoice::allows`] and the policy's draw. Coins are
/// independent only in rounds that keep their draws, as checked by [`PrivacyContext::sampled`].
fn enforced(context: &PrivacyContext<'_>) -> Result<EnforcedParticipation, Box<Fault>> {
    let most = context.privacy.limits().and_then(|limits| limits.participations_max);
    let separation = context.privacy.central().and_then(|central| central.noise.separation());
    let draw = match (context.sampled(), context.selection) {
        (Some(_), SelectionChoice::Poisson(poisson)) => {
            let rate = SamplingRate::new(rounded_up(poisson.sampling_rate).min(1.0));
            let wrong = |error: &dyn std::fmt::Display| {
                fault("amplification", &error.to_string(), "correct selection.sampling_rate")
            };
            EnforcedDraw::IndependentCoins { rate: rate.map_err(|error| wrong(&error))? }
        }
        _ => EnforcedDraw::FromWaiting,
    };
    Ok(EnforcedParticipation {
        participations_max: NonZeroU64::new(most.or(context.rounds).unwrap_or(1)),
        separation_rounds: separation.and_then(NonZeroU64::new),
        draw,
    })
}

fn calibrated(limits: &Limits, participation: Participation, releases: u64) -> Result<f64, Box<Fault>> {
    let wrong = |error: &dyn std::fmt::Display| {
        fault(
            "epsilon",
            &format!(
                "no amount of noise keeps {releases} versions within epsilon {}: {error}",
                limits.epsilon
            ),
            "raise epsilon, or lower stop.rounds or participations_max",
        )
    };
    let epsilon = Epsilon::new(limits.epsilon).map_err(|error| wrong(&error))?;
    let delta = Delta::new(limits.delta).map_err(|error| wrong(&error))?;
    folkmoot_privacy::ledger::multiplier_for(participation, releases, epsilon, delta)
        .map_err(|error| wrong(&error))
}
