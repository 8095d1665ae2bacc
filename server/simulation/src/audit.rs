//! Audits by canaries. A coin decides whether each canary client is in the task, and the audit estimates the coins from
//! the released weights. If its estimates are better than the privacy claim allows, the claim is refuted.
//!
//! One run is enough for all canaries together (Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1)
//! training run"). It goes through the whole coordinator: check-in, upload, the checks of an update, the sum, the
//! noise, and the commit with its charge. Every canary is in every version. So with correlated noise, the audit
//! measures the amount of noise but not the effect of the correlation.

use bytes::Bytes;
use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_coordinator::{
    privacy::{Amplification, PrivacyChoice, SumNoise, Terms},
    scheduling::{SchedulingChoice, Synchronous},
    selection::SelectionChoice,
    task::{Eligibility, StopConditions, TaskDescription},
};
use folkmoot_engine::{Model, onnx::build::mlp};
use folkmoot_privacy::{
    Delta,
    audit::{Audit, AuditError, AuditSettings, AuditedClaim},
    ledger::Participation,
};
use folkmoot_rounds::noise::Sabotage;
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use crate::simulate::{Canaries, DataSource, Progress, SimulateError, Simulation, WorldSettings, simulate};

/// The minimum number of coordinates of a canary.
const COORDINATES_MIN: usize = 3;
/// The maximum number of canaries of one kind.
pub const CANARIES_MAX: usize = 20_000;
const CANARIES_MIN: usize = 20;
/// The number of updates per second that one processor makes, checks and sums, including all other work of a simulated
/// client: for a release build on a fast machine, and for a development build on a slow one.
const UPDATES_PER_SECOND_FAST: u64 = 2_000;
const UPDATES_PER_SECOND_SLOW: u64 = 100;
/// The number of virtual seconds for which a round waits for updates.
const DEADLINE_SECONDS: u64 = 3600;
/// The number of virtual seconds for which a round waits for its clients. A client that has reported comes back within
/// seconds. A client whose update was rejected stays away much longer, and its next update would be rejected again.
/// Waiting for such clients would take most of the running time, because the drivers look at every waiting client
/// whenever one arrives.
const GATHER_SECONDS: u64 = 60;
/// The number of virtual seconds over which the clients first arrive.
const ARRIVAL_SECONDS: f64 = 1.0;

/// The plan of an audit.
#[derive(Clone, Debug)]
pub struct AuditPlan {
    /// The task whose privacy is audited. Its model, data, schedule and population are not used.
    pub description: TaskDescription,
    /// The number of canaries that keep to the norm, and also of those that exceed it: 20 to 20,000 each.
    pub canaries: usize,
    /// The number of versions, 1 to 1,000. Every canary is in each of them.
    pub rounds: u64,
    /// The probability, above 0 and below 1, that the audit does not refute a correct build.
    pub confidence: f64,
    /// The fault to inject into the coordinator on purpose, to show that the audit finds it; `None` for no fault.
    pub sabotage: Option<Sabotage>,
}

/// The result of an audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// The claimed noise multiplier.
    pub noise_multiplier: f64,
    /// The number of versions. Every canary was in each of them.
    pub rounds: u64,
    /// The claim for every client, as Gaussian differential privacy.
    pub claimed: AuditedClaim,
    /// The μ of the claim: √k/z with k participations.
    pub claimed_mu: f64,
    /// The bounds from canaries that kept to the norm.
    pub keeping: Audit,
    /// The bounds from canaries whose updates exceeded the norm.
    pub longer: Audit,
    /// True if the noise is less than claimed.
    pub noise_is_broken: bool,
    /// True if updates above the norm had more influence than claimed.
    pub clipping_is_broken: bool,
}

/// An audit that could not run.
#[derive(Debug, thiserror::Error)]
pub enum CannotAudit {
    /// There is no central noise to audit.
    #[error(
        "the task does not have privacy.kind = \"central\", so the coordinator adds no noise that could be audited; \
         set it, or choose another task"
    )]
    NotCentral,
    /// A number is out of range.
    #[error("{field} is {value}; it must be {allowed}")]
    Range {
        /// The setting's name.
        field: &'static str,
        /// The rejected value.
        value: f64,
        /// The permitted range, in words.
        allowed: &'static str,
    },
    /// The simulation failed.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// The scores cannot be audited.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// Some rounds did not commit.
    #[error(
        "{committed} of {rounds} versions were released, but the audit needs all of them; see the log for the \
         abandoned rounds"
    )]
    Unfinished {
        /// The number of versions that were released.
        committed: u64,
        /// The number of versions that the audit needs.
        rounds: u64,
    },
    /// No randomness is available, or the model cannot be built.
    #[error("{0}")]
    Other(String),
}

impl AuditPlan {
    /// Describes the audit before it begins: its amount of work, and the parts of the claim that it does not test.
    ///
    /// # Errors
    /// As for [`audit`] if it rejects the plan.
    pub fn announcement(&self) -> Result<String, CannotAudit> {
        check(self)?;
        let Some(central) = self.description.privacy.central() else { return Err(CannotAudit::NotCentral) };
        let clients = 2 * self.canaries as u64;
        let updates = clients.saturating_mul(self.rounds);
        let unaudited = match (central.amplification, central.noise) {
            (Amplification::Poisson, _) => {
                " Every canary is in every version, so the audit does not test the claim about sampling."
            }
            (_, SumNoise::Tree { .. } | SumNoise::Blt { .. }) => {
                " Every canary is in every version, so the audit does not test the claim about their separation."
            }
            _ => "",
        };
        Ok(format!(
            "The audit runs {} versions of {clients} clients each, {updates} updates in all. This takes about {} to {} seconds \
             on one processor.{unaudited}",
            self.rounds,
            seconds(updates, UPDATES_PER_SECOND_FAST),
            seconds(updates, UPDATES_PER_SECOND_SLOW),
        ))
    }
}

/// Returns the seconds that `updates` updates take, rounded up.
fn seconds(updates: u64, per_second: u64) -> u64 {
    updates.div_ceil(per_second)
}

/// Runs the audit.
///
/// # Errors
/// If the task has no central privacy, a number is out of range, or the simulation fails.
pub async fn audit(plan: &AuditPlan, progress: &mut dyn Progress) -> Result<AuditReport, CannotAudit> {
    check(plan)?;
    let mut rng =
        ChaCha20Rng::try_from_rng(&mut SysRng).map_err(|error| CannotAudit::Other(error.to_string()))?;
    let canaries = Canaries::draw(plan.canaries, plan.canaries, &mut rng);
    let (description, terms) = audited(plan, canaries.len() as u64)?;
    let delta = description.privacy.central().map_or(0.0, |central| central.delta);
    let delta = Delta::new(delta).map_err(|error| CannotAudit::Other(error.to_string()))?;
    let inputs = (canaries.len() * COORDINATES_MIN).div_ceil(OUTPUTS);
    let onnx = Bytes::from(mlp(&[inputs, OUTPUTS], 1));
    let model = Model::from_onnx(&onnx, &folkmoot_engine::ImportLimits::default());
    let model = model.map_err(|error| CannotAudit::Other(error.to_string()))?;
    let settings = WorldSettings {
        clients: canaries.len(),
        held_out_share: 0.0,
        arrival_seconds: ARRIVAL_SECONDS,
        ..WorldSettings::default()
    };
    let simulation = Simulation {
        description,
        onnx,
        settings,
        source: DataSource::Canaries(canaries.clone()),
        trace: None,
        threads: 1,
        kept: None,
        evaluate_every: 1,
        sabotage: plan.sabotage,
        functions: None,
    };
    let outcome = Box::pin(simulate(simulation, progress)).await?;
    if outcome.version != plan.rounds {
        return Err(CannotAudit::Unfinished { committed: outcome.version, rounds: plan.rounds });
    }
    let before = model.initial_weights();
    let change =
        outcome.weights.iter().zip(&before).map(|(after, before)| f64::from(*after) - f64::from(*before));
    report(plan, &terms, delta, &canaries, &change.collect::<Vec<f64>>())
}

const OUTPUTS: usize = 10;

fn check(plan: &AuditPlan) -> Result<(), CannotAudit> {
    let range = |field, value, is_right: bool, allowed| match is_right {
        true => Ok(()),
        false => Err(CannotAudit::Range { field, value, allowed }),
    };
    let canaries = (CANARIES_MIN..=CANARIES_MAX).contains(&plan.canaries);
    range("canaries", plan.canaries as f64, canaries, "20 to 20000")?;
    range("rounds", plan.rounds as f64, (1..=1000).contains(&plan.rounds), "1 to 1000")?;
    let confidence = plan.confidence > 0.0 && plan.confidence < 1.0;
    range("confidence", plan.confidence, confidence, "above 0 and below 1")
}

/// Builds the task to run: the audited task's privacy and noise, with canaries as clients.
fn audited(plan: &AuditPlan, clients: u64) -> Result<(TaskDescription, Terms), CannotAudit> {
    let mut described = plan.description.clone();
    described.settle();
    // The audit trains another model, without the tensors that `frozen` names.
    described.plan.frozen.clear();
    let PrivacyChoice::Central(mut central) = described.privacy else { return Err(CannotAudit::NotCentral) };
    central.participations_max = Some(plan.rounds);
    // The auditor knows which clients are drawn, so claim only the protection by the noise.
    central.amplification = Amplification::None;
    central.noise = match central.noise {
        SumNoise::Independent => SumNoise::Independent,
        SumNoise::Tree { .. } => SumNoise::Tree { separation: 1 },
        SumNoise::Blt { .. } => SumNoise::Blt { separation: 1 },
    };
    central.epsilon = EPSILON_MAX;
    let synchronous = Synchronous {
        report_goal: clients,
        over_selection_factor: Some(1.0),
        minimum_cohort: Some(clients / 4),
        selection_deadline_seconds: GATHER_SECONDS,
        reporting_deadline_seconds: DEADLINE_SECONDS,
    };
    let description = TaskDescription {
        privacy: PrivacyChoice::Central(central),
        scheduling: SchedulingChoice::Synchronous(synchronous),
        aggregator: AggregatorChoice::UniformMean,
        mixing: None,
        bucketing: None,
        finalizer: FinalizerChoice::default(),
        selection: SelectionChoice::Uniform,
        eligibility: Eligibility::default(),
        evaluation: None,
        stop: StopConditions::after_rounds(plan.rounds),
        ..described
    };
    let terms = Terms::of(&description).map_err(|fault| CannotAudit::Other(fault.to_string()))?;
    let terms = terms.ok_or(CannotAudit::NotCentral)?;
    Ok((description, terms))
}

/// A budget so large that the audit never exceeds it.
const EPSILON_MAX: f64 = 1000.0;

fn report(
    plan: &AuditPlan,
    terms: &Terms,
    delta: Delta,
    canaries: &Canaries,
    change: &[f64],
) -> Result<AuditReport, CannotAudit> {
    let participations = match terms.charge.participation {
        Participation::Whole { count } => count,
        _ => plan.rounds,
    };
    let claimed = AuditedClaim::of_gaussian(terms.charge.noise_multiplier, participations);
    // There are two audits, and the probability that either of them refutes a correct build must be bounded.
    let confidence = 1.0 - (1.0 - plan.confidence) / 2.0;
    let settings = AuditSettings { confidence, ..AuditSettings::for_canaries(plan.canaries as u64, delta) };
    let of = |keeps: bool| {
        let scores = |is_in: bool| -> Vec<f64> {
            let clients = (0..canaries.len()).filter(|client| canaries.keeps(*client) == keeps);
            let clients = clients.filter(|client| canaries.is_in(*client) == is_in);
            clients.map(|client| canaries.score(client, change)).collect()
        };
        Audit::of_scores(&scores(true), &scores(false), &settings)
    };
    let (keeping, longer) = (of(true)?, of(false)?);
    let z = terms.charge.noise_multiplier.get();
    Ok(AuditReport {
        noise_multiplier: z,
        rounds: plan.rounds,
        claimed,
        claimed_mu: (participations as f64).sqrt() / z,
        noise_is_broken: keeping.contradicts(claimed),
        clipping_is_broken: longer.contradicts(claimed),
        keeping,
        longer,
    })
}
