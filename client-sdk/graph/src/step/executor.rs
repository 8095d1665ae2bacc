//! The interface between a trainer and the device that it trains on.

use std::borrow::Cow;

use super::HostState;

/// Runs training steps, on the CPU or on a GPU adapter.
///
/// An executor owns the examples and the rule that turns gradients into new weights. Each request names the examples
/// and the learning rate of a step. The same requests on the same device give bit-identical results.
#[allow(async_fn_in_trait, reason = "callers that train in a thread move the trainer there, not its futures")]
pub trait Executor {
    /// The error of an executor of this kind.
    type Error;

    /// Returns the maximum number of steps in one call of [`Executor::take`]: 1 or more.
    fn steps_max(&self) -> usize;

    /// Runs these steps in order, including their weight updates, and returns the measurements of each step. A device
    /// that runs operators one by one calls `observe` after each.
    ///
    /// # Errors
    /// Returns an error if a step fails. The steps of this call may then be lost, but `host` holds the state after some
    /// complete step.
    async fn take(
        &mut self,
        requests: &[StepRequest<'_>],
        host: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<Vec<StepResult>, Self::Error>;

    /// Copies weights and optimizer state to `host`, if they are not there already.
    ///
    /// # Errors
    /// Returns an error if the device fails; `host` is then unchanged.
    async fn fetch(&mut self, host: &mut HostState) -> Result<(), Self::Error>;
}

/// A callback that runs after each operator of a step, with its name and its floating-point operations.
pub type Observer<'a> = &'a mut dyn FnMut(&'static str, u64);

/// A request for one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRequest<'a> {
    /// The indexes of the examples, all in range. There is at least one, except with example privacy.
    pub rows: Cow<'a, [usize]>,
    /// The number of the step, counted from 0.
    pub number: u64,
    /// The seed of the step's random numbers.
    pub seed: u64,
    /// The learning rate of this step, with the schedule applied.
    pub learning_rate: f32,
}

/// The measurements of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// The mean loss, before the weight update.
    pub loss: f64,
    /// The number of correct predictions.
    pub correct_count: u64,
    /// The number of examples in the step.
    pub example_count: u64,
    /// True if all weights are finite after the update.
    pub is_finite: bool,
    /// True if a gradient overflowed, so that the weights stayed unchanged. Only with mixed precision.
    pub is_left_out: bool,
}

/// Blocks until a device's future completes, such as [`Executor::take`] or a measurement. With native drivers the
/// future completes at once. Do not call this in a browser: there, the future cannot complete while this function
/// blocks.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}
