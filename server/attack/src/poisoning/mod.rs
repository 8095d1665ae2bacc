//! Poisoning: how much hostile clients can harm the task.
//!
//! The task is simulated without an attack and with each attack, in the same worlds. So the accuracy that is lost is a
//! difference of paired runs.

mod kinds;
mod success;

use std::collections::BTreeSet;

use folkmoot_coordinator::task::TaskState;
use folkmoot_engine::Examples;
use folkmoot_simulation::{
    attack::{Adversary, Attack},
    report::{Comparison, Measure, SeedRun, Variant, VariantSummary},
    simulate::{Crowd, Outcome, SimulateError, WorldSettings, held_out_metric, simulate},
};
pub use kinds::Fit;
use serde::Serialize;

use crate::{CannotAttack, Inputs, Progress, rounds::Rounds};

/// The name of the run without an attack.
pub const BASELINE: &str = "no attack";

/// The settings of poisoning.
#[derive(Clone, Debug, PartialEq)]
pub struct PoisoningSettings {
    /// The kinds of attacks; empty for all that fit.
    pub kinds: Vec<String>,
    /// The seeds of the worlds.
    pub seeds: Vec<u64>,
    /// The share of the clients that are hostile.
    pub share: f64,
}

/// The result of poisoning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Poisoning {
    /// The share of the clients that were hostile.
    pub share: f64,
    /// The seeds of the worlds.
    pub seeds: Vec<u64>,
    /// The metric on held-out examples.
    pub metric: String,
    /// The run without an attack, and the run with each attack.
    pub attacks: Vec<PoisoningOutcome>,
    /// The attacks that do not fit the world, with the reason.
    pub left_out: Vec<String>,
    /// The runs, for plots.
    #[serde(skip)]
    pub comparison: Comparison,
}

/// The result of one attack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoisoningOutcome {
    /// The attack with its settings; `None` for the run without one.
    pub attack: Option<Attack>,
    /// The metric and the cost of the runs. Its difference is to the runs without an attack.
    #[serde(flatten)]
    pub summary: VariantSummary,
    /// The share of the attack's goals that the last version fulfils: examples that it takes for the attacker's class.
    /// `None` for attacks that only do harm.
    pub success: Option<Measure>,
    /// The same share without the attack.
    pub success_without: Option<Measure>,
}

/// The runs of one attack over the seeds.
struct Runs {
    name: String,
    attack: Option<Attack>,
    runs: Vec<SeedRun>,
    /// The last version of each seed.
    weights: Vec<Vec<f32>>,
}

/// Checks the kinds, and returns each attack with its name.
///
/// # Errors
/// If a kind is unknown, or does not fit the data.
pub fn attacks(inputs: &Inputs, settings: &PoisoningSettings) -> Result<Vec<(String, Attack)>, CannotAttack> {
    let fit = fit(inputs);
    let mut attacks = match settings.kinds.as_slice() {
        [] => kinds::all(&fit),
        kinds => {
            let attack = |kind: &String| match kinds::named(kind, &fit) {
                Ok(attack) => Ok((kind.clone(), attack)),
                Err(reason) => Err(CannotAttack::UnknownAttack { name: kind.clone(), reason }),
            };
            kinds.iter().map(attack).collect::<Result<_, _>>()?
        }
    };
    // The attack in the world file replaces the attack of the same kind, so that the operator can choose its settings.
    if let Some(adversary) = &inputs.world.adversary {
        let own =
            |attack: &Attack| std::mem::discriminant(attack) == std::mem::discriminant(&adversary.attack);
        if let Some((_, attack)) = attacks.iter_mut().find(|(_, attack)| own(attack)) {
            *attack = adversary.attack.clone();
        }
    }
    Ok(attacks)
}

/// Simulates the task without an attack and with each attack.
///
/// # Errors
/// If a kind is unknown or does not fit the data, there are no held-out examples, or a simulation fails.
pub async fn poison(
    inputs: &Inputs,
    settings: &PoisoningSettings,
    progress: &dyn Progress,
) -> Result<Poisoning, CannotAttack> {
    if inputs.description.plan.is_personal() {
        return Err(CannotAttack::Personal { attack: "the measurement of poisoning" });
    }
    let attacks = attacks(inputs, settings)?;
    let held_out = settings.seeds.iter().map(|seed| held_out(inputs, *seed));
    let held_out: Vec<Examples> = held_out.collect::<Result<_, _>>()?;
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    let named = attacks.into_iter().map(|(name, attack)| (name, Some(attack)));
    let count = named.len() + 1;
    for (place, (name, attack)) in std::iter::once((BASELINE.to_owned(), None)).chain(named).enumerate() {
        let mut runs = Runs { name, attack, runs: Vec::new(), weights: Vec::new() };
        match Box::pin(run_seeds(inputs, settings, &mut runs, (place + 1, count), progress)).await {
            Ok(()) => all.push(runs),
            // An attack of the list that does not fit the world is left out.
            Err(CannotAttack::Simulate { source: SimulateError::Attack(error), .. })
                if settings.kinds.is_empty() =>
            {
                left_out.push(format!("{}: {error}", runs.name));
            }
            Err(error) => return Err(error),
        }
    }
    collect(inputs, settings, &held_out, &all, left_out)
}

/// Runs an attack with each seed. `place` is its number and the number of all attacks.
async fn run_seeds(
    inputs: &Inputs,
    settings: &PoisoningSettings,
    runs: &mut Runs,
    (place, count): (usize, usize),
    progress: &dyn Progress,
) -> Result<(), CannotAttack> {
    for seed in &settings.seeds {
        let label = format!("poisoning {place} of {count}: {}, seed {seed}", runs.name);
        let outcome = Box::pin(run(inputs, settings, runs.attack.as_ref(), *seed, &label, progress)).await?;
        runs.weights.push(outcome.weights);
        let is_paused = matches!(outcome.state, TaskState::Paused { .. });
        runs.runs.push(SeedRun {
            clients: outcome.clients,
            client_metrics: outcome.client_metrics,
            is_paused,
            rounds: outcome.rounds,
        });
    }
    Ok(())
}

async fn run(
    inputs: &Inputs,
    settings: &PoisoningSettings,
    attack: Option<&Attack>,
    seed: u64,
    label: &str,
    progress: &dyn Progress,
) -> Result<Outcome, CannotAttack> {
    let adversary = attack.map(|attack| Adversary {
        share: settings.share,
        clients: BTreeSet::new(),
        attack: attack.clone(),
    });
    let world = WorldSettings { seed, adversary, held_out_of_clients: false, ..inputs.world.clone() };
    let simulation = inputs.simulation(inputs.description.clone(), world, inputs.source());
    let mut rounds = Rounds::new(label, inputs.description.stop.rounds, progress);
    let outcome = Box::pin(simulate(simulation, &mut rounds)).await;
    outcome.map_err(|source| CannotAttack::Simulate { label: label.to_owned(), source })
}

/// Returns the examples on which versions are measured with a seed.
fn held_out(inputs: &Inputs, seed: u64) -> Result<Examples, CannotAttack> {
    let world = WorldSettings { seed, adversary: None, held_out_of_clients: false, ..inputs.world.clone() };
    let crowd = Crowd::deal(&world, inputs.source(), false);
    let crowd =
        crowd.map_err(|source| CannotAttack::Simulate { label: "held-out examples".to_owned(), source })?;
    crowd.held_out.ok_or(CannotAttack::NoHeldOut)
}

fn collect(
    inputs: &Inputs,
    settings: &PoisoningSettings,
    held_out: &[Examples],
    all: &[Runs],
    left_out: Vec<String>,
) -> Result<Poisoning, CannotAttack> {
    let comparison = Comparison {
        title: inputs.description.name.clone(),
        metric: held_out_metric(&inputs.description).into(),
        target: inputs.description.stop.target,
        seeds: settings.seeds.clone(),
        variants: all
            .iter()
            .map(|runs| Variant { name: runs.name.clone(), settings: Vec::new(), runs: runs.runs.clone() })
            .collect(),
        baseline: 0,
        left_out: Vec::new(),
    };
    let mut attacks = Vec::new();
    for (runs, summary) in all.iter().zip(comparison.summaries()) {
        let goals = goals(settings, held_out, runs)?;
        let success = success_of(inputs, goals.as_deref(), &runs.weights)?;
        let success_without = success_of(inputs, goals.as_deref(), &all[0].weights)?;
        attacks.push(PoisoningOutcome { attack: runs.attack.clone(), summary, success, success_without });
    }
    Ok(Poisoning {
        share: settings.share,
        seeds: settings.seeds.clone(),
        metric: comparison.metric.name.clone(),
        attacks,
        left_out,
        comparison,
    })
}

/// Returns the goals of an attack with each seed, as far as there are any; `None` for an attack that only does harm.
fn goals(
    settings: &PoisoningSettings,
    held_out: &[Examples],
    runs: &Runs,
) -> Result<Option<Vec<Option<Examples>>>, CannotAttack> {
    let Some(attack) = runs.attack.as_ref().filter(|attack| attack.is_on_data()) else { return Ok(None) };
    let goals =
        settings.seeds.iter().zip(held_out).map(|(seed, examples)| success::goals(attack, examples, *seed));
    goals.collect::<Result<_, _>>().map(Some)
}

/// Measures the share of the goals that the versions of each seed fulfil.
fn success_of(
    inputs: &Inputs,
    goals: Option<&[Option<Examples>]>,
    weights: &[Vec<f32>],
) -> Result<Option<Measure>, CannotAttack> {
    let Some(goals) = goals else { return Ok(None) };
    let (model, loss) = (inputs.trained_model()?, inputs.description.plan.loss);
    let mut values = Vec::new();
    for (goals, weights) in goals.iter().zip(weights) {
        let success = goals.as_ref().map(|goals| success::success(&model, loss, weights, goals));
        values.push(success.transpose()?);
    }
    Ok(Some(Measure::of(values.into_iter())))
}

fn fit(inputs: &Inputs) -> Fit {
    let classes: BTreeSet<u32> = inputs.classes().unwrap_or_default().iter().copied().collect();
    Fit {
        width: inputs.width(),
        high: inputs.training.examples.features().iter().copied().fold(f32::NEG_INFINITY, f32::max),
        classes: classes.into_iter().collect(),
    }
}
