//! Trainings on threads. A thread begins a training when a virtual client starts to train. The loop waits for the
//! result when the client's virtual training time is over.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
};

use folkmoot_client::{SystemChance, parts::OwnTensors};
use folkmoot_engine::{
    EvaluateError, Evaluator, Metrics, PersonalTraining, TrainError, Trainer, TrainingOutcome,
};
use folkmoot_protocol::{
    BlobDigest, UpdateDigest, Work,
    messages::AbortReason,
    update::{UpdateHeader, UpdateMetrics, sums::MetricSums},
};
use folkmoot_update::{Compression, codec::wanted_products, make_update};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::{
    Canaries, Crowd,
    collusion::Collusion,
    kept::Kept,
    training::{Lesson, Trained, TrainedUpdate, Training},
};

/// A slot for the result of a training.
#[derive(Default)]
pub struct Slot {
    result: Mutex<Option<Trained>>,
    is_there: Condvar,
}

impl Slot {
    /// Waits for the result and takes it.
    pub fn take(&self) -> Trained {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(trained) = result.take() {
                return trained;
            }
            result = self.is_there.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, trained: Trained) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(trained);
        self.is_there.notify_all();
    }
}

/// The threads that train.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    crowd: Arc<Crowd>,
    collusion: Option<Collusion>,
    kept: Option<Kept>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// The trainings that no thread has begun.
#[derive(Default)]
struct Waiting {
    trainings: VecDeque<(Training, Arc<Slot>)>,
    is_over: bool,
}

impl Pool {
    /// Starts `threads` threads, at least one. With `kept`, updates that were saved there are read instead of trained.
    pub fn start(
        crowd: Arc<Crowd>,
        collusion: Option<Collusion>,
        threads: usize,
        kept: Option<Kept>,
    ) -> Self {
        let (waiting, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { crowd, collusion, kept, waiting, changed });
        let thread = |_| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.run())
        };
        let threads = (0..threads.max(1)).map(thread).collect();
        Self { shared, threads }
    }

    /// Queues a training. Its result appears in the returned slot.
    pub fn begin(&self, training: Training) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        self.shared.lock().trainings.push_back((training, slot.clone()));
        self.shared.changed.notify_one();
        slot
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut bench = Bench::default();
        loop {
            let mut waiting = self.lock();
            let (training, slot) = loop {
                if waiting.is_over {
                    return;
                }
                match waiting.trainings.pop_front() {
                    Some(next) => break next,
                    None => {
                        waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(waiting);
            // Only the update is saved, so a training that leaves more to the client is always repeated.
            let kept = self.kept.as_ref().filter(|_| !training.leaves_something());
            if let Some(update) = kept.and_then(|kept| kept.find(&training)) {
                slot.put(Ok(update));
                continue;
            }
            let work = std::panic::AssertUnwindSafe(|| {
                let trained = bench.work(&self.crowd, self.collusion.as_ref(), &training);
                if let (Some(kept), Ok(update)) = (kept, &trained) {
                    kept.keep(&training, update);
                }
                trained
            });
            let panicked = || Err((AbortReason::TrainingFailed, "the training panicked".to_owned()));
            slot.put(std::panic::catch_unwind(work).unwrap_or_else(|_| panicked()));
        }
    }
}

fn norm_of(delta: &[f32]) -> f64 {
    delta.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

/// The state that a thread reuses from one training to the next.
#[derive(Default)]
struct Bench {
    trainers: HashMap<BlobDigest, Trainer>,
    /// The trainers of what only clients keep.
    personal_trainers: HashMap<BlobDigest, Trainer>,
    evaluators: HashMap<BlobDigest, Evaluator>,
}

impl Bench {
    fn work(&mut self, crowd: &Crowd, collusion: Option<&Collusion>, training: &Training) -> Trained {
        if let Some(canaries) = crowd.canaries() {
            return Self::canary(canaries, training);
        }
        let failed = |error: &dyn std::fmt::Display| (AbortReason::TrainingFailed, error.to_string());
        let lesson = &training.lesson;
        let examples = crowd.examples(training.client, lesson.plan.work).map_err(|error| failed(&error))?;
        let held = examples.len() as u64;
        let (mut sums, mut own) = (None, OwnTensors::default());
        let (mut delta, mut products, metrics) = match lesson.plan.work {
            Work::Evaluation => {
                let evaluated = self.evaluate(training, &examples).map_err(|error| failed(&error))?;
                sums = evaluated.1;
                (Vec::new(), Vec::new(), evaluated.0)
            }
            Work::Training => {
                let outcome = self.train(training, &examples)?;
                own = OwnTensors::after(&lesson.part, &lesson.plan, training.correction.as_deref(), &outcome)
                    .map_err(|error| failed(&error))?;
                (outcome.delta, outcome.products, outcome.metrics)
            }
        };
        if let Some(attack) = crowd.attack(training.client).filter(|attack| !attack.is_on_data()) {
            attack.distort(&mut delta, training.assignment_id.seed());
            products.clear();
            if let Some(collusion) = collusion.filter(|_| lesson.plan.work == Work::Training) {
                let known = |client| self.honest(crowd, client, training);
                delta = collusion.update(training, known).map_err(|error| failed(&error))?;
            }
        }
        let grid = lesson.plan.grid;
        let header = UpdateHeader {
            assignment_id: training.assignment_id,
            schema_digest: lesson.plan.schema.digest(),
            base_version: training.base_version,
            // With example privacy, the number of drawn examples is not disclosed.
            weight: match lesson.plan.training.example_privacy {
                Some(_) => held,
                None => held.min(metrics.example_count),
            }
            .clamp(1, grid.weight_max),
            metrics: UpdateMetrics {
                example_count: metrics.example_count,
                // Because of rounding, the cosine loss of a perfect answer can be slightly below 0.
                loss_sum: if metrics.loss_sum < 0.0 { 0.0 } else { metrics.loss_sum },
                correct_count: metrics.correct_count,
                step_count: metrics.step_count,
            },
            element_count: delta.len() as u64,
            is_compressed: false,
        };
        // In a simulation this noise protects no one. It is not reproducible, because updates take their noise only
        // from the system's random number generator.
        let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(|error| failed(&error))?;
        let how = Compression {
            recipe: training.recipe.as_deref(),
            memory: training.memory.as_ref(),
            products: &products,
        };
        let made = make_update(header, &delta, &lesson.plan, how, training.clipping_norm, &mut rng)
            .map_err(|error| failed(&error))?;
        let (mut bytes, memory) = (made.bytes, made.memory);
        if let Some(sums) = sums {
            sums.append_to(&mut bytes);
        }
        let (digest, norm) = (UpdateDigest::of(&bytes), norm_of(&delta));
        Ok(TrainedUpdate { memory, own, digest, norm, bytes })
    }

    /// Measures the weights on a client's examples. Returns the sums of every metric, if the assignment asks for them.
    fn evaluate(
        &mut self,
        training: &Training,
        examples: &folkmoot_engine::Examples,
    ) -> Result<(Metrics, Option<MetricSums>), EvaluateError> {
        let Training { lesson, weights, .. } = training;
        let evaluator = self.evaluators.entry(lesson.digest);
        let evaluator = evaluator.or_insert_with(|| Evaluator::new(&lesson.model, lesson.plan.training.loss));
        if !training.metric_sums {
            return Ok((evaluator.evaluate(weights, examples)?, None));
        }
        let detail = evaluator.evaluate_in_detail(weights, examples)?;
        Ok((detail.metrics, detail.sums()))
    }

    /// Builds the update of a canary. For canaries that exceed the norm, it skips the clipping that honest software
    /// does.
    fn canary(canaries: &Canaries, training: &Training) -> Trained {
        let failed = |error: &dyn std::fmt::Display| (AbortReason::TrainingFailed, error.to_string());
        let plan = &training.lesson.plan;
        let norm = training.clipping_norm.unwrap_or_default();
        let delta =
            canaries.update(training.client, norm, &plan.grid, training.lesson.part.parameter_count());
        let header = UpdateHeader {
            assignment_id: training.assignment_id,
            schema_digest: plan.schema.digest(),
            base_version: training.base_version,
            weight: 1,
            metrics: UpdateMetrics::default(),
            element_count: delta.len() as u64,
            is_compressed: false,
        };
        let norm = training.clipping_norm.filter(|_| canaries.keeps(training.client));
        let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(|error| failed(&error))?;
        let made = make_update(header, &delta, plan, Compression::default(), norm, &mut rng);
        let bytes = made.map_err(|error| failed(&error))?.bytes;
        let (digest, norm) = (UpdateDigest::of(&bytes), norm_of(&delta));
        Ok(TrainedUpdate { memory: None, own: OwnTensors::default(), digest, norm, bytes })
    }

    /// Trains a hostile client honestly on the version of a training, and returns the update. It uses neither the client's personal
    /// tensors nor its gradient correction, so that the result depends on the version and the client only.
    fn honest(&mut self, crowd: &Crowd, client: usize, training: &Training) -> Result<Vec<f32>, String> {
        let Training { lesson, shared, base_version, .. } = training;
        let examples = crowd.examples(client, Work::Training).map_err(|error| error.to_string())?;
        let seed = crowd.known_seed(client, *base_version);
        let trainer = self.trainer(lesson, shared, &examples, seed).map_err(|error| error.to_string())?;
        trainer.record_outer_products(&[]);
        trainer.advance(u64::MAX).map_err(|error| error.to_string())?;
        Ok(trainer.outcome().delta)
    }

    /// Trains both phases.
    fn train(
        &mut self,
        training: &Training,
        examples: &folkmoot_engine::Examples,
    ) -> Result<TrainingOutcome, (AbortReason, String)> {
        let failed = |error: &dyn std::fmt::Display| (AbortReason::TrainingFailed, error.to_string());
        let (lesson, seed) = (&training.lesson, training.assignment_id.seed());
        let (personal, steps_done) =
            self.train_personal(training, examples, seed).map_err(|error| failed(&error))?;
        let is_whole_model =
            lesson.plan.training.personal_training.is_some_and(PersonalTraining::is_whole_model);
        let start = personal.as_ref().filter(|_| !is_whole_model).unwrap_or(&training.weights);
        let trainer = self.trainer(lesson, start, examples, seed).map_err(|error| failed(&error))?;
        if let Some(correction) = &training.correction {
            let whole = lesson.part.spread(correction).map_err(|error| failed(&error))?;
            trainer.set_gradient_correction(whole).map_err(|error| failed(&error))?;
        }
        let wanted = wanted_products(&lesson.plan, training.recipe.as_deref(), training.clipping_norm);
        trainer.record_outer_products(&wanted);
        let steps = training.steps_max.saturating_sub(steps_done).max(1);
        trainer.advance(steps).map_err(|error| failed(&error))?;
        let own_weights = personal.filter(|_| is_whole_model).unwrap_or_default();
        Ok(TrainingOutcome { own_weights, ..trainer.outcome() })
    }

    /// Trains what only the client keeps, if the plan trains that apart. Returns all weights after it, and the number of its
    /// steps.
    fn train_personal(
        &mut self,
        training: &Training,
        examples: &folkmoot_engine::Examples,
        seed: u64,
    ) -> Result<(Option<Vec<f32>>, u64), TrainError> {
        let Training { lesson, weights, own_weights, steps_max, .. } = training;
        let plan = &lesson.plan.training;
        if plan.personal_training.is_none() {
            return Ok((None, 0));
        }
        let own = own_weights.as_ref().map(|own| own.as_slice());
        let trainer = match self.personal_trainers.entry(lesson.digest) {
            Entry::Occupied(entry) => {
                let trainer = entry.into_mut();
                trainer.restart_personal(weights, own, examples, seed)?;
                trainer
            }
            Entry::Vacant(entry) => entry.insert(Trainer::new_personal(
                &lesson.model,
                weights,
                own,
                plan.clone(),
                examples,
                seed,
            )?),
        };
        let steps = trainer.advance(*steps_max)?.step;
        Ok((Some(trainer.weights().to_vec()), steps))
    }

    /// Returns a trainer at its first step.
    fn trainer(
        &mut self,
        lesson: &Lesson,
        weights: &[f32],
        examples: &folkmoot_engine::Examples,
        seed: u64,
    ) -> Result<&mut Trainer, TrainError> {
        match self.trainers.entry(lesson.digest) {
            Entry::Occupied(entry) => {
                let trainer = entry.into_mut();
                trainer.restart(weights, examples, seed)?;
                Ok(trainer)
            }
            Entry::Vacant(entry) => {
                let plan = lesson.plan.training.clone();
                let is_private = plan.example_privacy.is_some();
                let trainer = entry.insert(Trainer::new(&lesson.model, weights, plan, examples, seed)?);
                if let (true, Ok(chance)) = (is_private, SystemChance::new()) {
                    trainer.set_secret_chance(Box::new(chance));
                }
                Ok(trainer)
            }
        }
    }
}
