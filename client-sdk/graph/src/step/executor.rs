//! What a trainer asks of the device on which it trains.

use std::borrow::Cow;

use super::HostState;

/// Takes the steps of a training: on the processor, or on a graphics adapter.
///
/// It knows the examples, and how a gradient becomes new weights; which examples a step sees, and with which learning rate, it
/// is told with each. The same requests on the same device give the same bits.
#[allow(async_fn_in_trait, reason = "who trains in a thread moves the trainer there, not its futures")]
pub trait Executor {
    /// Why it could take no step.
    type Error;

    /// Steps that it takes in one call, at most: 1 or more.
    fn steps_max(&self) -> usize;

    /// Takes these steps in their order, each with its update of the weights, and says what each measured. A device that
    /// runs operations one by one tells `observe` of each.
    ///
    /// # Errors
    /// Returns an error if a step cannot be taken. The steps of this call may then be lost, but `host` holds the state
    /// after some whole step.
    async fn take(
        &mut self,
        requests: &[StepRequest<'_>],
        host: &mut HostState,
        observe: Observer<'_>,
    ) -> Result<Vec<StepResult>, Self::Error>;

    /// Brings weights and optimizer state to `host`, if they are not there.
    ///
    /// # Errors
    /// Returns an error if the device fails; `host` is then as it was.
    async fn fetch(&mut self, host: &mut HostState) -> Result<(), Self::Error>;
}

/// Is told of each operation of a step, after it has run: its name, and its floating-point operations.
pub type Observer<'a> = &'a mut dyn FnMut(&'static str, u64);

/// One step that is to be taken.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRequest<'a> {
    /// The examples, all of which exist. There is one or more, except with example privacy.
    pub rows: Cow<'a, [usize]>,
    /// The step, counted from 0.
    pub number: u64,
    /// Decides the random numbers.
    pub seed: u64,
    /// Of this step: the schedule has been applied.
    pub learning_rate: f32,
}

/// What a step measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// The mean loss, before the update.
    pub loss: f64,
    /// Right answers.
    pub correct_count: u64,
    /// The examples of the step.
    pub example_count: u64,
    /// Whether all weights are finite after the update.
    pub is_finite: bool,
    /// Whether a gradient overflowed, so that weights stayed as they were: only with mixed precision.
    pub is_left_out: bool,
}

/// Waits for a future of a device, such as that of [`Executor::take`] or of a measurement. With the drivers of operating systems it is ready at
/// once; a browser's never is while this waits.
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
