//! The trainings of one thread.

use std::collections::{HashMap, hash_map::Entry};

use folkmoot_engine::{
    EvaluateError, Evaluator, Examples, Metrics, PersonalTraining, TrainError, Trainer, TrainingOutcome,
};
use folkmoot_protocol::{
    BlobDigest, UpdateDigest, Work,
    messages::AbortReason,
    update::{UpdateHeader, UpdateMetrics, sums::MetricSums},
};
use folkmoot_training::{
    OwnTensors, SystemChance, check_own_loss, constant, fine_tuned_weights, measured, sent, widest_fitting,
    width_of,
};
use folkmoot_update::{Compression, codec::wanted_products, make_update};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::{
    Canaries, Crowd,
    collusion::Collusion,
    training::{Lesson, Trained, TrainedUpdate, Training},
};

/// Returns the end of a training that no width of the model allows.
fn refused(error: TrainError) -> (AbortReason, String) {
    let reason = match error {
        TrainError::Memory { .. } => AbortReason::PlanUnsupported,
        _ => AbortReason::TrainingFailed,
    };
    (reason, error.to_string())
}

fn norm_of(delta: &[f32]) -> f64 {
    delta.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

/// The state that a thread reuses from one training to the next.
#[derive(Default)]
pub struct Bench {
    /// The trainers of each plan and width.
    trainers: HashMap<(BlobDigest, usize), Trainer>,
    /// The widest width that fits, for each plan, memory, number of examples in a batch and of their features.
    widest: HashMap<(BlobDigest, Option<u64>, [usize; 2]), usize>,
    /// The trainers for personal trainings.
    personal_trainers: HashMap<BlobDigest, Trainer>,
    evaluators: HashMap<BlobDigest, Evaluator>,
}

impl Bench {
    /// Carries out a training or an evaluation.
    pub fn work(&mut self, crowd: &Crowd, collusion: Option<&Collusion>, training: &Training) -> Trained {
        if let Some(canaries) = crowd.canaries() {
            return Self::canary(canaries, training);
        }
        let failed = |error: &dyn std::fmt::Display| (AbortReason::TrainingFailed, error.to_string());
        let lesson = &training.lesson;
        let examples = crowd.examples(training.client, lesson.plan.work).map_err(|error| failed(&error))?;
        let held = examples.len() as u64;
        let chosen = self.choose_cluster(training, &examples).map_err(|error| failed(&error))?;
        let training = chosen.as_ref().unwrap_or(training);
        let is_hostile = crowd.attack(training.client).is_some();
        let narrow = self.choose_width(training, &examples, is_hostile).map_err(refused)?;
        let training = narrow.as_ref().unwrap_or(training);
        let (mut after_header, mut own) = (Vec::new(), OwnTensors::default());
        let (mut delta, mut products, metrics) = match lesson.plan.work {
            Work::Evaluation => {
                let evaluated = self.evaluate(crowd, training, &examples).map_err(|error| failed(&error))?;
                after_header = evaluated.1;
                (Vec::new(), Vec::new(), evaluated.0)
            }
            Work::Training => {
                let outcome = self.train(training, &examples)?;
                let (part, correction) = (training.part(), training.correction.as_deref());
                own = OwnTensors::after(part, &lesson.plan, correction, &outcome)
                    .map_err(|error| failed(&error))?;
                own.cluster = training.cluster;
                (sent(&lesson.plan, outcome.delta), outcome.products, outcome.metrics)
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
        let norm = norm_of(&delta);
        if let Some(part) = training.cluster.or(training.width).filter(|_| !delta.is_empty()) {
            delta = lesson.travelling.update(delta, part);
        }
        check_own_loss(metrics, &lesson.plan.training).map_err(|error| failed(&error.detail))?;
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
        bytes.append(&mut after_header);
        Ok(TrainedUpdate { memory, own, digest: UpdateDigest::of(&bytes), norm, bytes })
    }

    /// Returns the training of the cluster whose model has the smallest loss on the examples; `None` without clusters.
    fn choose_cluster(
        &mut self,
        training: &Training,
        examples: &Examples,
    ) -> Result<Option<Training>, EvaluateError> {
        if training.lesson.travelling.cluster_count().is_none() || training.cluster.is_some() {
            return Ok(None);
        }
        let mut best: Option<(usize, f64)> = None;
        for (cluster, weights) in training.version.models.iter().enumerate() {
            let metrics = self.evaluator(&training.lesson).evaluate(weights, examples)?;
            let loss = metrics.mean_loss().filter(|loss| loss.is_finite()).unwrap_or(f64::INFINITY);
            if best.is_none_or(|(_, least)| loss < least) {
                best = Some((cluster, loss));
            }
        }
        Ok(best.map(|(cluster, _)| training.of_cluster(cluster)))
    }

    /// Returns the training of the width that fits the device; `None` without widths. Hostile clients train the whole model.
    fn choose_width(
        &mut self,
        training: &Training,
        examples: &Examples,
        is_hostile: bool,
    ) -> Result<Option<Training>, TrainError> {
        let lesson = &training.lesson;
        if lesson.travelling.width_count().is_none() || lesson.plan.work != Work::Training {
            return Ok(None);
        }
        if is_hostile {
            return Ok(Some(training.of_width(0)));
        }
        let mut plan = lesson.plan.training.clone();
        let limits = [plan.memory_bytes_max, training.memory_bytes_max];
        plan.memory_bytes_max = limits.into_iter().flatten().min();
        let batch = examples.len().min(plan.batch_size as usize);
        let key = (lesson.digest, plan.memory_bytes_max, [batch, examples.feature_shape().iter().product()]);
        let widest = match self.widest.get(&key) {
            Some(widest) => *widest,
            None => {
                let found = widest_fitting(&lesson.travelling, &plan, &training.weights, examples)?;
                *self.widest.entry(key).or_insert(found.unwrap_or_default())
            }
        };
        Ok(Some(training.of_width(width_of(&plan, widest, training.assignment_id))))
    }

    fn evaluator(&mut self, lesson: &Lesson) -> &mut Evaluator {
        let evaluator = self.evaluators.entry(lesson.digest);
        evaluator.or_insert_with(|| Evaluator::new(&lesson.model, lesson.plan.training.loss))
    }

    /// Evaluates a version as a client does. Returns its metrics, and the bytes after the header of the update.
    fn evaluate(
        &mut self,
        crowd: &Crowd,
        training: &Training,
        examples: &Examples,
    ) -> Result<(Metrics, Vec<u8>), Box<dyn std::error::Error>> {
        let Training { lesson, weights, client, .. } = training;
        let (mut bytes, plan) = (Vec::new(), &lesson.plan.training);
        let Some(tuning) = lesson.plan.fine_tuning else {
            let (metrics, sums) = self.measure(training, weights, examples)?;
            sums.iter().for_each(|sums| sums.append_to(&mut bytes));
            return Ok((metrics, bytes));
        };
        let [trained, held_out] = match tuning.divide(examples.len()) {
            // These examples are already the held-out ones.
            _ if crowd.measures_itself() => [crowd.examples(*client, Work::Training)?, examples.clone()],
            Some([trained, held_out]) => [examples.subset(&trained)?, examples.subset(&held_out)?],
            None => return Err("the plan fine-tunes, so a client needs at least 2 examples".into()),
        };
        let (before, sums_before) = self.measure(training, weights, &held_out)?;
        let (tuned, steps) = fine_tuned_weights(&lesson.model, &tuning, plan, weights, &trained)?;
        let (after, sums) = self.measure(training, &tuned, &held_out)?;
        measured(plan, after, steps, sums_before.zip(sums)).append_to(&mut bytes);
        Ok((before, bytes))
    }

    /// Measures weights on examples. Returns the sums of every metric, if the assignment asks for them.
    fn measure(
        &mut self,
        training: &Training,
        weights: &[f32],
        examples: &Examples,
    ) -> Result<(Metrics, Option<MetricSums>), EvaluateError> {
        let lesson = &training.lesson;
        let evaluator = self.evaluator(lesson);
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
            canaries.update(training.client, norm, &plan.grid, training.lesson.travelling.value_count());
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
        let Training { lesson, base_version, .. } = training;
        let examples = crowd.examples(client, Work::Training).map_err(|error| error.to_string())?;
        let seed = crowd.known_seed(client, *base_version);
        let trainer = self
            .trainer((lesson, None), training.shared(), &examples, seed)
            .map_err(|error| error.to_string())?;
        trainer.record_outer_products(&[]);
        trainer.advance(u64::MAX).map_err(|error| error.to_string())?;
        Ok(sent(&lesson.plan, trainer.outcome().delta))
    }

    /// Trains both phases.
    fn train(
        &mut self,
        training: &Training,
        examples: &Examples,
    ) -> Result<TrainingOutcome, (AbortReason, String)> {
        let failed = |error: &dyn std::fmt::Display| (AbortReason::TrainingFailed, error.to_string());
        let (lesson, seed) = (&training.lesson, training.assignment_id.seed());
        let (personal, steps_done) =
            self.train_personal(training, examples, seed).map_err(|error| failed(&error))?;
        let (comes_first, is_whole_model) = (
            lesson.plan.training.personal_training.is_some_and(|one| one.first_epochs().is_some()),
            lesson.plan.training.personal_training.is_some_and(PersonalTraining::is_whole_model),
        );
        let start = personal.as_ref().filter(|_| !is_whole_model).unwrap_or(&training.weights);
        let trainer =
            self.trainer((lesson, training.width), start, examples, seed).map_err(|error| failed(&error))?;
        if let Some(replica) = &training.replica {
            match lesson.plan.training.model_contrast {
                Some(_) => trainer.contrast_with(replica),
                None => trainer.begin_at(replica),
            }
            .map_err(|error| failed(&error))?;
        } else if !comes_first {
            let own = training.own_weights.as_ref().map(|own| own.as_slice());
            trainer.begin_own(own, training.own_share).map_err(|error| failed(&error))?;
        }
        if let Some(correction) = &training.correction {
            let part = lesson.travelling.part();
            let sum = constant(correction, part.parameter_count());
            let whole = part.spread(&sum).map_err(|error| failed(&error))?;
            trainer.set_gradient_correction(whole).map_err(|error| failed(&error))?;
        }
        let wanted = wanted_products(&lesson.plan, training.recipe.as_deref(), training.clipping_norm);
        trainer.record_outer_products(&wanted);
        let steps = training.steps_max.saturating_sub(steps_done).max(1);
        trainer.advance(steps).map_err(|error| failed(&error))?;
        let mut outcome = trainer.outcome();
        if let Some(personal) = personal.filter(|_| is_whole_model) {
            outcome.own_weights = personal;
        }
        Ok(outcome)
    }

    /// Runs the personal training, if the plan separates it. Returns all weights after it, and the number of its
    /// steps.
    fn train_personal(
        &mut self,
        training: &Training,
        examples: &Examples,
        seed: u64,
    ) -> Result<(Option<Vec<f32>>, u64), TrainError> {
        let Training { lesson, weights, own_weights, steps_max, .. } = training;
        let plan = &lesson.plan.training;
        if plan.personal_training.and_then(PersonalTraining::first_epochs).is_none() {
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
        (lesson, width): (&Lesson, Option<usize>),
        weights: &[f32],
        examples: &Examples,
        seed: u64,
    ) -> Result<&mut Trainer, TrainError> {
        let width = width.unwrap_or_default();
        match self.trainers.entry((lesson.digest, width)) {
            Entry::Occupied(entry) => {
                let trainer = entry.into_mut();
                trainer.restart(weights, examples, seed)?;
                Ok(trainer)
            }
            Entry::Vacant(entry) => {
                let plan = lesson.plan.training.clone();
                let is_private = plan.example_privacy.is_some();
                let narrow = lesson.travelling.narrow(width).map(|(model, _)| model);
                let model = narrow.unwrap_or(&lesson.model);
                let trainer = entry.insert(Trainer::new(model, weights, plan, examples, seed)?);
                if let (true, Ok(chance)) = (is_private, SystemChance::new()) {
                    trainer.set_secret_chance(Box::new(chance));
                }
                Ok(trainer)
            }
        }
    }
}
