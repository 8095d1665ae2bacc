//! Measures our executor, used as an app uses it.

use folkmoot_engine::{Examples, Labels, LocalOptimizer, Loss, Trainer, TrainingPlan};

use super::{
    executor::Executor,
    network::{BATCH_SIZE, FEATURES, LEARNING_RATE, Network, features, labels},
};
use crate::Failure;

/// The number of examples from which a step gathers its batch.
const ROWS: usize = 32 * BATCH_SIZE;

/// A training that does not end by itself.
pub struct Folkmoot {
    trainer: Trainer,
}

impl Folkmoot {
    /// Creates a training of our executor that does not end by itself.
    pub fn new(network: Network) -> Result<Self, Failure> {
        let model = network.model()?;
        let plan = TrainingPlan {
            epochs: u32::MAX,
            batch_size: BATCH_SIZE as u32,
            ..TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(LEARNING_RATE))
        };
        let examples = Examples::new(features(ROWS), vec![FEATURES], Labels::Classes(labels(ROWS)))?;
        let trainer = Trainer::new(&model, &model.initial_weights(), plan, &examples, 0)?;
        Ok(Self { trainer })
    }

    /// Returns the training.
    pub fn trainer(&mut self) -> &mut Trainer {
        &mut self.trainer
    }
}

impl Executor for Folkmoot {
    /// In contrast to the other executors, this step also gathers its batch from the examples, which are shuffled again
    /// in each epoch.
    fn step(&mut self) -> Result<f64, Failure> {
        Ok(self.trainer.step()?.loss)
    }

    fn step_on_first_batch(&mut self) -> Result<f64, Failure> {
        let rows: Vec<usize> = (0..BATCH_SIZE).collect();
        Ok(self.trainer.step_on(&rows)?.loss)
    }
}
