//! The updates of clients, computed by the engine.

use folkmoot_engine::{Examples, Model, SecretChance, TrainError, Trainer, TrainingPlan};
use folkmoot_update::noise::DiscreteGaussian;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

/// Computes updates of one model version under one plan. The trainer is reused from one update to the next.
pub struct Client<'a> {
    model: &'a Model,
    weights: Vec<f32>,
    plan: TrainingPlan,
    seed: u64,
    trainer: Option<Trainer>,
}

impl<'a> Client<'a> {
    /// Creates a client that trains the model's first version. `seed` orders the examples. It is not secret: the
    /// coordinator knows the seed of every assignment.
    pub fn new(model: &'a Model, plan: TrainingPlan, seed: u64) -> Self {
        Self { model, weights: model.initial_weights(), plan, seed, trainer: None }
    }

    /// Trains on the examples and returns the update.
    ///
    /// # Errors
    /// If the examples do not match the model, or the training diverges.
    pub fn update(&mut self, examples: &Examples) -> Result<Vec<f32>, TrainError> {
        let trainer = match &mut self.trainer {
            Some(trainer) => {
                trainer.restart(&self.weights, examples, self.seed)?;
                trainer
            }
            None => {
                let plan = self.plan.clone();
                let mut trainer = Trainer::new(self.model, &self.weights, plan, examples, self.seed)?;
                trainer.set_secret_chance(Box::new(SeededChance(ChaCha20Rng::seed_from_u64(self.seed))));
                self.trainer.insert(trainer)
            }
        };
        while !trainer.advance(u64::MAX)?.finished {}
        Ok(trainer.outcome().delta)
    }
}

/// Random numbers of example privacy that anyone can repeat. They protect nobody, and are only for attacks on data that the
/// operator has anyway.
struct SeededChance(ChaCha20Rng);

impl SecretChance for SeededChance {
    fn add_noise(&mut self, sums: &mut [i64], scale: u64) {
        let noise = DiscreteGaussian::new(scale).expect("the engine asks for scales from 1 to 2^28");
        for sum in sums {
            *sum = sum.saturating_add(noise.sample(&mut self.0));
        }
    }

    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}
