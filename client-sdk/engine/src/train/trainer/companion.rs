//! The client's own model, which is trained in the same steps as the shared model: pFedMe and APFL.

use std::ops::Range;
use std::slice;

use folkmoot_graph::step::{Executor, HostState, Observer, StepRequest, StepResult};
use folkmoot_protocol::{PersonalTraining, TrainingPlan};

use crate::processor::Processor;
use crate::step::{Parameters, Role, StepError};

/// The client's own model, and the rule by which it is trained.
pub(super) struct Companion {
    rule: Rule,
    /// The weights at which gradients are computed. pFedMe pulls them toward its starting weights. With APFL, the
    /// starting weights are the weights before the step.
    host: HostState,
    /// The ranges of the weights that gradients change.
    trained: Vec<Range<usize>>,
}

enum Rule {
    /// pFedMe (T Dinh et al. 2020, algorithm 1).
    Moreau {
        /// The learning rate of the model that travels, times lambda.
        pull: f32,
        steps: u64,
    },
    /// APFL (Deng et al. 2020, algorithm 1).
    Mixture {
        /// The own model v.
        own: Vec<f32>,
        alpha: f32,
        is_adaptive: bool,
    },
}

impl Companion {
    /// Returns the own model of a plan; `None` if the plan trains none in the same steps. It starts with the starting weights.
    pub(super) fn of(
        plan: &TrainingPlan,
        parameters: &Parameters,
        starting_weights: &[f32],
        state: &[f32],
    ) -> Option<Self> {
        let rule = match plan.personal_training? {
            PersonalTraining::FedRep { .. } | PersonalTraining::Ditto { .. } => return None,
            PersonalTraining::PFedMe { lambda, learning_rate, steps } => {
                Rule::Moreau { pull: learning_rate * lambda, steps: steps.into() }
            }
            PersonalTraining::Apfl { alpha, adaptive } => {
                Rule::Mixture { own: starting_weights.to_vec(), alpha, is_adaptive: adaptive }
            }
        };
        let host = HostState {
            weights: starting_weights.to_vec(),
            starting_weights: starting_weights.to_vec(),
            correction: None,
            optimizer_state: state.to_vec(),
        };
        let roles = parameters.roles.iter().zip(&parameters.ranges);
        let trained = roles.filter(|(role, _)| **role == Role::Trained).map(|(_, range)| range.clone());
        Some(Self { rule, host, trained: trained.collect() })
    }

    /// Begins with this own model v and its share, which were checked. pFedMe's own model always begins with the starting weights.
    pub(super) fn begin(&mut self, shared: &[f32], weights: Option<&[f32]>, share: Option<f32>) {
        if let Rule::Mixture { own, alpha, .. } = &mut self.rule {
            if let Some(weights) = weights {
                own.copy_from_slice(weights);
            }
            *alpha = share.unwrap_or(*alpha);
        }
        self.follow(shared);
    }

    /// Starts over, with the optimizer's initial state.
    pub(super) fn restart(&mut self, plan: &TrainingPlan, starting_weights: &[f32], state: &[f32]) {
        if let (Rule::Mixture { own, alpha, .. }, Some(PersonalTraining::Apfl { alpha: first, .. })) =
            (&mut self.rule, plan.personal_training)
        {
            own.copy_from_slice(starting_weights);
            *alpha = first;
        }
        self.host.weights.copy_from_slice(starting_weights);
        self.host.optimizer_state.copy_from_slice(state);
        self.follow(starting_weights);
    }

    /// Takes a step of the client's own model, and of the shared one.
    pub(super) async fn take(
        &mut self,
        processor: &mut Processor,
        request: &StepRequest<'_>,
        shared: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<Vec<StepResult>, StepError> {
        let request = slice::from_ref(request);
        let mut results = processor.take(request, &mut self.host, observe).await?;
        let Rule::Mixture { own, alpha, is_adaptive } = &mut self.rule else {
            if self.is_pulled_after(request[0].number + 1) {
                self.pull(&mut shared.weights);
                self.follow(&shared.weights);
            }
            return Ok(results);
        };
        let own_is_finite = results.iter().all(|result| result.is_finite && result.loss.is_finite());
        let share = *alpha;
        if *is_adaptive && request[0].number == 0 {
            *alpha = adapted(share, own, &self.host, &shared.weights, &self.trained);
        }
        let steps = self.host.starting_weights.iter().zip(&self.host.weights);
        // The gradient of the mixture's loss by v is alpha times that by the mixture.
        own.iter_mut().zip(steps).for_each(|(own, (before, after))| *own -= share * (before - after));
        results = processor.take(request, shared, observe).await?;
        results.iter_mut().for_each(|result| result.is_finite &= own_is_finite);
        self.follow(&shared.weights);
        Ok(results)
    }

    /// Returns the weights that travel as if training ended after `steps` steps; `None` if they equal the weights of
    /// the last step. pFedMe's subproblem of the last batch is then solved less exactly.
    pub(super) fn closed(&self, shared: &[f32], steps: u64) -> Option<Vec<f32>> {
        let is_open = matches!(self.rule, Rule::Moreau { .. }) && !self.is_pulled_after(steps);
        is_open.then(|| {
            let mut weights = shared.to_vec();
            self.pull(&mut weights);
            weights
        })
    }

    /// Returns the client's own model, and its share in the predictions with APFL.
    pub(super) fn own(&self) -> (Vec<f32>, Option<f32>) {
        match &self.rule {
            Rule::Moreau { .. } => (self.host.weights.clone(), None),
            Rule::Mixture { own, alpha, .. } => (own.clone(), Some(*alpha)),
        }
    }

    /// Returns the numbers of a checkpoint.
    pub(super) fn numbers(&self) -> Vec<f32> {
        let (weights, share) = self.own();
        weights.into_iter().chain(share).chain(self.host.optimizer_state.iter().copied()).collect()
    }

    /// Returns the number of [`Self::numbers`].
    pub(super) fn number_count(&self) -> usize {
        let share = usize::from(matches!(self.rule, Rule::Mixture { .. }));
        self.host.weights.len() + share + self.host.optimizer_state.len()
    }

    /// Continues from the numbers of a checkpoint, of which there are [`Self::number_count`].
    pub(super) fn restore(&mut self, numbers: &[f32], shared: &[f32]) {
        let (weights, rest) = numbers.split_at(self.host.weights.len());
        let state = match &mut self.rule {
            Rule::Moreau { .. } => {
                self.host.weights.copy_from_slice(weights);
                rest
            }
            Rule::Mixture { own, alpha, .. } => {
                own.copy_from_slice(weights);
                *alpha = rest[0];
                &rest[1..]
            }
        };
        self.host.optimizer_state.copy_from_slice(state);
        self.follow(shared);
    }

    /// Returns the memory that the own model takes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let own = if let Rule::Mixture { own, .. } = &self.rule { own.len() } else { 0 };
        self.host.memory_bytes() + own * size_of::<f32>()
    }

    fn is_pulled_after(&self, steps_done: u64) -> bool {
        matches!(self.rule, Rule::Moreau { steps, .. } if steps_done.is_multiple_of(steps))
    }

    /// Moves the weights that travel toward the own model: w ← w − η·λ·(w − θ).
    fn pull(&self, shared: &mut [f32]) {
        let Rule::Moreau { pull, .. } = self.rule else { return };
        shared.iter_mut().zip(&self.host.weights).for_each(|(shared, own)| *shared -= pull * (*shared - own));
    }

    /// Follows the weights that travel: pFedMe pulls its own model toward them, and APFL's mixture contains them.
    fn follow(&mut self, shared: &[f32]) {
        let HostState { weights, starting_weights, .. } = &mut self.host;
        if let Rule::Mixture { own, alpha, .. } = &self.rule {
            let pairs = own.iter().zip(shared);
            weights.iter_mut().zip(pairs).for_each(|(mixed, (own, shared))| {
                *mixed = shared + *alpha * (own - shared);
            });
            starting_weights.copy_from_slice(weights);
        } else {
            starting_weights.copy_from_slice(shared);
        }
    }
}

/// Returns the share after its step: α − η·⟨gradient, v − w⟩ (equation 11), where `host` has the mixture before and after a step
/// of η times the gradient.
fn adapted(alpha: f32, own: &[f32], host: &HostState, shared: &[f32], trained: &[Range<usize>]) -> f32 {
    let along = |index: usize| {
        let step = f64::from(host.starting_weights[index]) - f64::from(host.weights[index]);
        step * (f64::from(own[index]) - f64::from(shared[index]))
    };
    let slope: f64 = trained.iter().cloned().flatten().map(along).sum();
    // If the share is not finite, neither are the weights, and the training ends.
    (f64::from(alpha) - slope).clamp(0.0, 1.0) as f32
}
