use folkmoot_aggregation::finalizer::{Commit, Finalizer};
use folkmoot_protocol::saturating::to_float32;
use folkmoot_strategy::{Finalization, FinalizationCommit, Functions, StrategyError};

use crate::{
    Made, MakeError,
    parts::{PartMeans, RunStep},
    rows::floats,
};

/// The step of a commit.
pub(super) enum Step<'a> {
    /// The step of a built-in finalizer.
    BuiltIn(&'a dyn Finalizer),
    /// The step of the task's own component.
    Own(Box<Finalization>),
    /// The step of a function, which gets the whole aggregate at the end.
    Functions { functions: &'a dyn Functions, commit: FinalizationCommit, aggregate: Vec<f64> },
}

impl Step<'_> {
    /// Returns the number of values that are kept for each parameter between commits.
    fn slots(&self) -> usize {
        match self {
            Step::BuiltIn(finalizer) => finalizer.state_count(),
            Step::Own(component) => component.slots(),
            Step::Functions { .. } => 0,
        }
    }

    fn initial(&self, slot: usize) -> f32 {
        match self {
            Step::BuiltIn(finalizer) => finalizer.initial_state(slot),
            Step::Own(_) | Step::Functions { .. } => 0.0,
        }
    }

    /// Removes the number of slots from a component's stored state. Built-in finalizers have a fixed number, and store none.
    fn checked<'s>(&self, stored: &'s [u8]) -> Result<&'s [u8], StrategyError> {
        match (self, stored.split_first()) {
            (Step::Own(component), Some((&slots, rest))) => match usize::from(slots) == component.slots() {
                true => Ok(rest),
                false => Err(StrategyError::Wrong {
                    function: "begin",
                    found: format!("{} kept values for each parameter", component.slots()),
                    expected: format!("{slots}, as for the last version"),
                }),
            },
            _ => Ok(stored),
        }
    }

    /// Returns the bytes before the stored state.
    fn head(&self) -> Option<u8> {
        match self {
            Step::BuiltIn(_) | Step::Functions { .. } => None,
            Step::Own(component) => u8::try_from(component.slots()).ok(),
        }
    }
}

/// The next version while it is computed, tile by tile. It holds the newest weights and the finalizer's state, and a
/// new copy of each.
pub(super) struct Next<'a> {
    step: Step<'a>,
    commit: &'a Commit,
    newest: &'a [u8],
    parameter_count: usize,
    done: usize,
    weights: Vec<u8>,
    state: Vec<Vec<f32>>,
    /// The state that the component which combines updates has kept with the newest version.
    pub own_state: Vec<u8>,
    /// The task's clusters or widths; `None` if it has neither.
    pub parts: Option<PartMeans<'a>>,
    /// The aggregate so far, if the finalizer needs all parameters together.
    gathered: Vec<f64>,
    change_squares: f64,
}

impl<'a> Next<'a> {
    /// Begins a version. `stored` is the finalizer's state after the newest version. If the task `has_own_aggregator`,
    /// the state of the component that combines updates follows it.
    ///
    /// # Errors
    /// If the number of values that a component keeps has changed since the newest version.
    pub fn new(
        step: Step<'a>,
        commit: &'a Commit,
        newest: &'a [u8],
        stored: &[u8],
        has_own_aggregator: bool,
    ) -> Result<Self, StrategyError> {
        let parameter_count = newest.len() / size_of::<f32>();
        let slots = step.slots();
        let stored = step.checked(stored)?;
        let slot_bytes = parameter_count * size_of::<f32>();
        let split = stored.split_at_checked(slots * slot_bytes);
        let split = split.filter(|(_, rest)| rest.is_empty() || has_own_aggregator);
        let (kept, own_state) = split.unwrap_or_default();
        let state = match kept.is_empty() {
            true => (0..slots).map(|slot| vec![step.initial(slot); parameter_count]).collect(),
            false => kept.chunks(slot_bytes).map(|slot| floats(slot).collect()).collect(),
        };
        Ok(Self {
            step,
            commit,
            newest,
            parameter_count,
            done: 0,
            weights: Vec::with_capacity(newest.len()),
            state,
            own_state: own_state.to_vec(),
            parts: None,
            gathered: Vec::new(),
            change_squares: 0.0,
        })
    }

    /// Advances the next tile by its mean delta.
    pub fn take(&mut self, mean_delta: &[f64]) {
        let (begin, end) = (self.done, (self.done + mean_delta.len()).min(self.parameter_count));
        self.done = end;
        if let Step::Functions { aggregate, .. } = &mut self.step {
            aggregate.extend_from_slice(&mean_delta[..end - begin]);
            return;
        }
        if matches!(self.step, Step::BuiltIn(finalizer) if finalizer.needs_all_parameters()) {
            self.gathered.extend_from_slice(&mean_delta[..end - begin]);
            if end == self.parameter_count {
                let gathered = std::mem::take(&mut self.gathered);
                self.advance(0, end, &gathered);
            }
            return;
        }
        self.advance(begin, end, mean_delta);
    }

    fn advance(&mut self, begin: usize, end: usize, mean_delta: &[f64]) {
        let newest = &self.newest[begin * size_of::<f32>()..end * size_of::<f32>()];
        let before: Vec<f32> = floats(newest).collect();
        let mut weights = before.clone();
        let mut state: Vec<&mut [f32]> = self.state.iter_mut().map(|slot| &mut slot[begin..end]).collect();
        match (&mut self.step, &mut self.parts) {
            (Step::BuiltIn(finalizer), None) => {
                finalizer.advance(self.commit, &mut weights, mean_delta, &mut state);
            }
            (Step::BuiltIn(finalizer), Some(parts)) => {
                parts.for_each_run(begin, mean_delta, |run, step| match step {
                    RunStep::Set => set_shares(&mut weights[run.clone()], &mean_delta[run]),
                    RunStep::Scaled { factor, most } => {
                        let mean: Vec<f64> = mean_delta[run.clone()]
                            .iter()
                            .map(|mean| (mean * factor).clamp(-most, *most))
                            .collect();
                        let mut state: Vec<&mut [f32]> =
                            state.iter_mut().map(|slot| &mut slot[run.clone()]).collect();
                        finalizer.advance(self.commit, &mut weights[run], &mean, &mut state);
                    }
                    RunStep::Keep => {}
                });
            }
            (Step::Own(component), _) => component.advance(begin, &mut weights, mean_delta, &mut state),
            (Step::Functions { .. }, _) => unreachable!("a function gets the whole aggregate at the end"),
        }
        self.append(&weights, before.into_iter());
    }

    fn append(&mut self, weights: &[f32], before: impl Iterator<Item = f32>) {
        for (weight, before) in weights.iter().zip(before) {
            self.weights.extend_from_slice(&weight.to_le_bytes());
            self.change_squares += (f64::from(*weight) - f64::from(before)).powi(2);
        }
    }

    /// Ends the step. `own_state` is the new state of the component that combines updates.
    ///
    /// # Errors
    /// If the component or function that changes the model has failed.
    pub fn made(mut self, own_state: Vec<u8>) -> Result<Made, MakeError> {
        if let Step::Functions { functions, commit, aggregate } = &self.step {
            let weights = functions.finalize(commit, self.newest, aggregate)?;
            self.append(&weights, floats(self.newest));
        }
        let head = self.step.head();
        if let Step::Own(component) = self.step {
            component.finish()?;
        }
        let kept = self.state.iter().flatten().flat_map(|number| number.to_le_bytes());
        Ok(Made {
            weights: self.weights,
            finalizer_state: head.into_iter().chain(kept).chain(own_state).collect(),
            change_norm: self.change_squares.sqrt(),
            clipping_norm: None,
            noise_state: Vec::new(),
            metrics: None,
            scores: None,
        })
    }
}

/// Keeps the shares of this commit. Under masks, nobody has checked them.
fn set_shares(weights: &mut [f32], shares: &[f64]) {
    weights.iter_mut().zip(shares).for_each(|(weight, share)| *weight = to_float32(share.clamp(0.0, 1.0)));
}
