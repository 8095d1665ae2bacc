//! Finalizers: server optimizers, which change the model by the aggregate.

mod adaptive;
mod checks;
mod commit;
mod fed_adagrad;
mod fed_adam;
mod fed_avg;
mod fed_avg_m;
mod fed_cm;
mod fed_dc;
mod fed_dyn;
mod fed_exp;
mod fed_yogi;
mod l_bfgs;
#[cfg(test)]
mod laws;
mod plain_mean;
mod proximal;
mod scaffold;
mod schedule;

pub use commit::Commit;
pub use fed_adagrad::FedAdagrad;
pub use fed_adam::FedAdam;
pub use fed_avg::FedAvg;
pub use fed_avg_m::FedAvgM;
pub use fed_cm::FedCm;
pub use fed_dc::FedDc;
pub use fed_dyn::FedDyn;
pub use fed_exp::FedExp;
pub use fed_yogi::FedYogi;
use folkmoot_component::Component;
use folkmoot_protocol::{DriftCorrection, Fault};
pub use l_bfgs::LBfgs;
pub use plain_mean::PlainMean;
pub use proximal::Proximal;
pub use scaffold::Scaffold;
pub use schedule::CommitSchedule;
use serde::{Deserialize, Serialize};

use crate::{Combination, Spread};

/// A server optimizer. It computes the next weights and state from the weights, the mean delta and its state.
///
/// A finalizer treats every parameter independently, so a model can be advanced in tiles of any size, unless
/// [`Finalizer::needs_all_parameters`] is true.
pub trait Finalizer {
    /// Returns the number of values that the finalizer keeps for each parameter between commits.
    fn state_count(&self) -> usize;

    /// Returns the initial value of state slot `slot`, which is below [`Finalizer::state_count`].
    fn initial_state(&self, slot: usize) -> f32;

    /// Returns whether the only tile must be the whole model, because the step depends on all parameters together.
    fn needs_all_parameters(&self) -> bool {
        false
    }

    /// Advances one tile.
    ///
    /// `weights`, `mean_delta` and each slice of `state` have the same length. `state` has one slice per slot, in
    /// slot order. Arithmetic is in float64; stored values are rounded once.
    fn advance(&self, commit: &Commit, weights: &mut [f32], mean_delta: &[f64], state: &mut [&mut [f32]]);
}

/// The choice of a task's finalizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FinalizerChoice {
    /// w ← w + η·mean(Δ).
    FedAvg(FedAvg),
    /// Federated averaging with server momentum.
    FedAvgM(FedAvgM),
    /// FedAdagrad: steps scaled by the sum of all squares.
    FedAdagrad(FedAdagrad),
    /// FedAdam: steps scaled by the moving average of the squares.
    FedAdam(FedAdam),
    /// FedYogi: like FedAdam, with squares that change more slowly.
    FedYogi(FedYogi),
    /// FedExP: federated averaging with larger steps when the updates disagree.
    FedExp(FedExp),
    /// Federated averaging with a proximal step of the l1 norm, which makes the version sparse.
    Proximal(Proximal),
    /// L-BFGS: a quasi-Newton step for convex models, whose clients send full gradients.
    LBfgs(LBfgs),
    /// SCAFFOLD: federated averaging with control variates against the drift of clients.
    Scaffold(Scaffold),
    /// FedDyn: dynamic regularization against the drift of clients.
    FedDyn(FedDyn),
    /// FedDC: control variates and the drift of each client against the drift of clients.
    FedDc(FedDc),
    /// FedCM: federated averaging with the last version's direction as the clients' momentum.
    FedCm(FedCm),
    /// A server optimizer of the task's own: a WebAssembly component.
    Component(Box<Component>),
}

impl Default for FinalizerChoice {
    fn default() -> Self {
        FinalizerChoice::FedAvg(FedAvg::default())
    }
}

impl FinalizerChoice {
    /// Returns the chosen finalizer with its settings, or the component if the finalizer is the task's own.
    pub fn finalizer(&self) -> Result<&dyn Finalizer, &Component> {
        Ok(match self {
            FinalizerChoice::FedAvg(finalizer) => finalizer,
            FinalizerChoice::FedAvgM(finalizer) => finalizer,
            FinalizerChoice::FedAdagrad(finalizer) => finalizer,
            FinalizerChoice::FedAdam(finalizer) => finalizer,
            FinalizerChoice::FedYogi(finalizer) => finalizer,
            FinalizerChoice::FedExp(finalizer) => finalizer,
            FinalizerChoice::Proximal(finalizer) => finalizer,
            FinalizerChoice::LBfgs(finalizer) => finalizer,
            FinalizerChoice::Scaffold(finalizer) => finalizer,
            FinalizerChoice::FedDyn(finalizer) => finalizer,
            FinalizerChoice::FedDc(finalizer) => finalizer,
            FinalizerChoice::FedCm(finalizer) => finalizer,
            FinalizerChoice::Component(component) => return Err(component),
        })
    }

    /// Returns the correction of local gradients that belongs to the step; `None` if there is none.
    pub fn drift_correction(&self) -> Option<DriftCorrection> {
        match self {
            FinalizerChoice::Scaffold(_) => Some(DriftCorrection::Scaffold),
            FinalizerChoice::FedDyn(fed_dyn) => Some(DriftCorrection::FedDyn { alpha: fed_dyn.alpha }),
            FinalizerChoice::FedDc(fed_dc) => Some(DriftCorrection::FedDc { alpha: fed_dc.alpha }),
            FinalizerChoice::FedCm(fed_cm) => Some(DriftCorrection::FedCm { alpha: fed_cm.alpha }),
            _ => None,
        }
    }

    /// Returns whether the step depends on single updates, which are then read once more before a commit.
    pub fn extrapolates(&self) -> bool {
        matches!(self, FinalizerChoice::FedExp(_))
    }

    /// Multiplies a mean by the step of a choice that extrapolates. Other choices and other rules are left unchanged.
    ///
    /// `measure` adds all tiles to the spread that it gets, in the order of the parameters.
    ///
    /// # Errors
    /// Returns the error of `measure`.
    pub fn extrapolated<E>(
        &self,
        combination: Combination,
        measure: impl FnOnce(&mut Spread) -> Result<(), E>,
    ) -> Result<Combination, E> {
        let (FinalizerChoice::FedExp(fed_exp), Some(mut spread)) = (self, Spread::around(&combination))
        else {
            return Ok(combination);
        };
        measure(&mut spread)?;
        let step = fed_exp.step(&spread);
        Ok(match combination {
            Combination::Mean { factors, divisor } => Combination::Mean {
                factors: factors.into_iter().map(|factor| factor * step).collect(),
                divisor,
            },
            other => other,
        })
    }

    /// Lists the faults of the choice.
    pub fn validate(&self, faults: &mut Vec<Fault>) {
        match self {
            FinalizerChoice::FedAvg(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedAvgM(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedAdagrad(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedAdam(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedYogi(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedExp(finalizer) => finalizer.validate(faults),
            FinalizerChoice::Proximal(finalizer) => finalizer.validate(faults),
            FinalizerChoice::LBfgs(finalizer) => finalizer.validate(faults),
            FinalizerChoice::Scaffold(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedDyn(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedDc(finalizer) => finalizer.validate(faults),
            FinalizerChoice::FedCm(finalizer) => finalizer.validate(faults),
            FinalizerChoice::Component(component) => component.validate_in("finalizer", faults),
        }
    }
}
