//! An audit by canaries: clients that are in a task or not by the toss of a coin, and an estimate from the released weights of
//! how the coins fell. Whoever estimates better than the promise allows has shown that it is broken.
//!
//! One run is enough for all canaries together (Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training
//! run"). It goes through the whole coordinator: check-in, upload, the checks of an update, the sum, the noise, the commit with
//! its charge. Every canary is in every version, so of correlated noise it sees how much there is, and not what correlates it.

use bytes::Bytes;
use folkmoot_coordinator::{
    aggregation::AggregatorChoice,
    finalizer::FinalizerChoice,
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

/// Coordinates of a canary, at least.
const COORDINATES_MIN: usize = 3;
/// Canaries of one kind, at most.
pub const CANARIES_MAX: usize = 20_000;
const CANARIES_MIN: usize = 20;
/// Updates that one processor makes, checks and adds up in a second, with all that a simulated client does around one: of a
/// release build on a fast machine, and of a build for development on a slow one.
const UPDATES_PER_SECOND_FAST: u64 = 2_000;
const UPDATES_PER_SECOND_SLOW: u64 = 100;
/// Virtual seconds for which a round waits for updates.
const DEADLINE_SECONDS: u64 = 3600;
/// Virtual seconds for which a round waits for its clients. Whoever has reported comes back within seconds. Whose update was
/// refused stays away for long, and need not come: it would be refused again. To wait for these cost more than all the rest,
/// because the drivers look at everybody who waits whenever somebody comes.
const GATHER_SECONDS: u64 = 60;
/// Virtual seconds over which the clients first come.
const ARRIVAL_SECONDS: f64 = 1.0;

/// What is audited.
#[derive(Clone, Debug)]
pub struct AuditPlan {
    /// The task whose privacy it is. Its model, data, schedule and population do not matter here.
    pub description: TaskDescription,
    /// Canaries that keep to the norm, and as many that do not: 20 to 20,000.
    pub canaries: usize,
    /// Versions in each of which every canary is, at least 1.
    pub rounds: u64,
    /// The probability with which an honest build is not accused: above 0, below 1.
    pub confidence: f64,
    /// What is broken on purpose, to show that audits find it.
    pub sabotage: Option<Sabotage>,
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// The noise multiplier that was claimed.
    pub noise_multiplier: f64,
    /// Versions in which every canary was.
    pub rounds: u64,
    /// What is claimed of every client, in Gaussian differential privacy.
    pub claimed: AuditedClaim,
    /// What the claim means at the task's delta.
    pub claimed_mu: f64,
    /// What was seen of canaries that kept to the norm.
    pub keeping: Audit,
    /// What was seen of canaries whose updates were longer.
    pub longer: Audit,
    /// Says that the noise is less than claimed.
    pub noise_is_broken: bool,
    /// Says that updates above the norm had influence.
    pub clipping_is_broken: bool,
}

/// An audit that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CannotAudit {
    /// There is no central noise to audit.
    #[error(
        "the task does not have privacy.kind = \"central\", so the coordinator adds no noise that could be audited"
    )]
    NotCentral,
    /// A number is out of range.
    #[error("{field} is {value}; it must be {allowed}")]
    Range {
        /// Which.
        field: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// The simulation failed.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// The scores say nothing.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The rounds did not commit.
    #[error("{committed} of {rounds} versions were released; the audit needs them all")]
    Unfinished {
        /// Released.
        committed: u64,
        /// Wanted.
        rounds: u64,
    },
    /// There is no randomness, or the model cannot be made.
    #[error("{0}")]
    Other(String),
}

impl AuditPlan {
    /// Says what the audit will do, before it begins: how much it computes, and what it does not look at.
    ///
    /// # Errors
    /// As [`audit`], for a plan that it refuses.
    pub fn announcement(&self) -> Result<String, CannotAudit> {
        check(self)?;
        let Some(central) = self.description.privacy.central() else { return Err(CannotAudit::NotCentral) };
        let clients = 2 * self.canaries as u64;
        let updates = clients.saturating_mul(self.rounds);
        let unaudited = match (central.amplification, central.noise) {
            (Amplification::Poisson, _) => {
                " Every canary is in every version: what is claimed of sampling is not audited."
            }
            (_, SumNoise::Tree { .. } | SumNoise::Blt { .. }) => {
                " Every canary is in every version: what is claimed of their separation is not audited."
            }
            _ => "",
        };
        Ok(format!(
            "The audit makes {} versions of {clients} clients each, {updates} updates in all: about {} to {} seconds of one \
             processor.{unaudited}",
            self.rounds,
            seconds(updates, UPDATES_PER_SECOND_FAST),
            seconds(updates, UPDATES_PER_SECOND_SLOW),
        ))
    }
}

/// Returns how long so many updates take, rounded up to seconds.
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
    };
    let outcome = simulate(simulation, progress).await?;
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

/// Makes the task that is run: the privacy of the task that is audited, with its noise, over canaries.
fn audited(plan: &AuditPlan, clients: u64) -> Result<(TaskDescription, Terms), CannotAudit> {
    let mut described = plan.description.clone();
    described.settle();
    // The model is another one, whose tensors have other names.
    described.plan.frozen.clear();
    let PrivacyChoice::Central(mut central) = described.privacy else { return Err(CannotAudit::NotCentral) };
    central.participations_max = Some(plan.rounds);
    // Who is drawn is known to the auditor: only what the noise alone protects is claimed here.
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

/// The audit is not to end for its budget.
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
    // Two audits, and neither may accuse an honest build.
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
