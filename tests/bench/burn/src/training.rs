//! A training step: forward, backward and update.

use burn::tensor::{activation::log_softmax, Gradients, Int, Tensor};

/// A model, written by hand with burn's tensors.
pub trait Network {
    /// The type of the input: pixels or tokens.
    type Input;

    /// Returns a row of logits for each label.
    fn logits(&mut self, input: &Self::Input) -> Tensor<2>;

    /// Calls [`Update::apply`] for every trained tensor.
    fn update(&mut self, update: &mut Update);
}

/// Steps of plain SGD on one batch, with softmax cross-entropy.
pub struct Training<N: Network> {
    network: N,
    input: N::Input,
    /// One class per row.
    labels: Tensor<2, Int>,
}

impl<N: Network> Training<N> {
    /// Creates the training of a network on a batch.
    pub fn new(network: N, input: N::Input, labels: Tensor<2, Int>) -> Self {
        Self { network, input, labels }
    }
}

/// A training step that does not depend on the type of the model's input.
pub trait Train {
    /// Performs a step and returns the mean loss before the update. The device may still be computing it.
    fn step(&mut self, learning_rate: f32) -> Tensor<1>;
}

impl<N: Network> Train for Training<N> {
    fn step(&mut self, learning_rate: f32) -> Tensor<1> {
        let logarithms = log_softmax(self.network.logits(&self.input), 1);
        let loss = logarithms.gather(1, self.labels.clone()).mean().neg();
        let gradients = loss.backward();
        self.network.update(&mut Update { gradients, learning_rate });
        loss.inner()
    }
}

/// The gradients of a step, which are applied to the weights.
pub struct Update {
    gradients: Gradients,
    learning_rate: f32,
}

impl Update {
    /// Moves a tensor one step against its gradient, like burn's SGD.
    pub fn apply<const D: usize>(&mut self, weight: &mut Tensor<D>) {
        let gradient = weight.grad_remove(&mut self.gradients).expect("every weight has a gradient");
        let updated = weight.clone().inner() - gradient * self.learning_rate;
        *weight = updated.autodiff().require_grad();
    }
}
