//! The simulated host of each session: starts and closes the app, sets alarms, and trains.

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::{
    BlobDigest, PersonalTraining, Plan, TrainingPlan, Work, messages::Assignment, update::HEADER_BYTES,
};
use folkmoot_session::{Answer, Effect, Event as SessionEvent, RequestId, Session};
use folkmoot_training::{WorkError, parse_parts, parse_weights, travelling, with_output};
use folkmoot_update::codec::Memory;

use super::{
    SimulateError,
    client::{EarlyEnd, VirtualWork, offer},
    contributions::floats,
    events::Event,
    training::{Lesson, Training, VersionModels},
    world::World,
};
use crate::device::Fate;

/// The number of versions whose models are cached. The newest versions are kept.
const VERSIONS_MAX: usize = 64;
/// The number of milliseconds for which a client that vanished stays away after its deadline.
const AWAY_MILLISECONDS: u64 = 60_000;

impl World {
    pub async fn start_client(&mut self, index: usize) -> Result<(), SimulateError> {
        let now = self.device_now();
        let Some(at) = self.clients[index].device.next_available(now) else { return Ok(()) };
        if at > now {
            self.queue.push(at.0, Event::ClientStarts { client: index });
            return Ok(());
        }
        if self.clients[index].session.is_some() {
            return Ok(());
        }
        let example_count = self.crowd.example_count(index);
        let offer = offer(example_count, self.attributes(index));
        let client = &mut self.clients[index];
        client.session = Some(client.stored.take().unwrap_or_else(|| Box::new(Session::new(offer))));
        self.step_client(index, SessionEvent::Started).await
    }

    /// Returns the attributes that a client reports, which is its network class.
    pub fn attributes(&self, index: usize) -> BTreeMap<String, String> {
        let class = self.clients[index].device.network_class();
        let name = class.and_then(|class| self.settings.devices.network.classes.get(class));
        name.map(|class| ("network".to_owned(), class.name.clone())).into_iter().collect()
    }

    pub async fn ring(&mut self, index: usize, alarm: u32) -> Result<(), SimulateError> {
        let now = self.device_now();
        let client = &self.clients[index];
        if client.alarm != alarm || client.session.is_none() {
            return Ok(());
        }
        match client.device.next_available(now) {
            Some(at) if at > now => self.queue.push(at.0, Event::AlarmRings { client: index, alarm }),
            Some(_) => return Box::pin(self.step_client(index, SessionEvent::Wake)).await,
            None => {}
        }
        Ok(())
    }

    pub async fn step_client(&mut self, index: usize, event: SessionEvent) -> Result<(), SimulateError> {
        let now = self.server_now();
        let client = &mut self.clients[index];
        let Some(session) = client.session.take() else { return Ok(()) };
        let stepped = session.step(event, now, &mut client.chance);
        let (session, effects) = stepped.map_err(|error| SimulateError::Client(error.to_string()))?;
        let is_stopped = session.is_stopped();
        client.session = Some(Box::new(session));
        for effect in effects {
            self.perform(index, effect).await?;
        }
        if is_stopped {
            // The client stopped because its conditions no longer hold. It starts again when they do.
            self.close_client(index);
            let at = self.clients[index].device.next_available(self.device_now());
            if let Some(at) = at {
                self.queue.push(at.0.max(self.now + 1000), Event::ClientStarts { client: index });
            }
        }
        Ok(())
    }

    /// Closes a client's app. Work in progress is lost; the session is kept.
    fn close_client(&mut self, index: usize) {
        let client = &mut self.clients[index];
        client.incarnation += 1;
        client.alarm += 1;
        client.stored = client.session.take();
    }

    async fn perform(&mut self, index: usize, effect: Effect) -> Result<(), SimulateError> {
        match effect {
            // Tasks are simulated without masks.
            Effect::Persist | Effect::Cancel { .. } | Effect::Exchange { .. } => {}
            Effect::WakeAt(at) => {
                let client = &mut self.clients[index];
                client.alarm += 1;
                let (alarm, milliseconds) = (client.alarm, at.milliseconds_since(self.server_now()));
                self.after(milliseconds, Event::AlarmRings { client: index, alarm });
            }
            Effect::CheckIn { request_id, request, wait_seconds } => {
                self.check_in(index, request_id, request, wait_seconds).await?;
            }
            Effect::Fetch { request_id, artifact, .. } => self.fetch(index, request_id, artifact).await?,
            Effect::Prefetch { artifact } => {
                if !self.clients[index].has(artifact.digest) {
                    self.recorder.down(artifact.bytes);
                    self.clients[index].keep(artifact.digest);
                }
            }
            Effect::Train { request_id, assignment } => self.train(index, request_id, assignment).await?,
            Effect::Listen { request_id, assignment_id, wait_seconds } => {
                self.listen_for_ask(index, request_id, assignment_id, wait_seconds).await?;
            }
            Effect::FinishEarly { request_id } => self.finish_early(index, request_id),
            Effect::Prepare { request_id, assignment } => self.prepare(index, request_id, &assignment),
            Effect::QueryUpload { request_id, assignment_id } => {
                self.query_upload(index, request_id, assignment_id).await?;
            }
            Effect::Upload { request_id, assignment_id, offset, .. } => {
                self.begin_upload(index, request_id, assignment_id, offset);
            }
            Effect::SendReport { request_id, assignment_id, report } => {
                self.report(index, request_id, assignment_id, report).await?;
            }
            Effect::SendAbort { request_id, assignment_id, abort } => {
                self.abort(index, request_id, assignment_id, abort).await?;
            }
            Effect::Forget { assignment_id, was_accepted } => {
                let client = &mut self.clients[index];
                let work = client.work.take_if(|work| work.assignment.assignment_id == assignment_id);
                let Some(update) = work.and_then(|work| work.update) else { return Ok(()) };
                match (update.memory, was_accepted) {
                    (Some(memory), Some(true)) => client.memory = Some(memory.accepted()),
                    (Some(_), None) => client.memory = None,
                    _ => {}
                }
                // A real client keeps a control variate only of an update that counts.
                let is_kept = was_accepted != Some(false) && update.own.control.is_empty();
                if (is_kept || was_accepted == Some(true)) && !update.own.is_empty() {
                    client.own = update.own;
                }
            }
        }
        Ok(())
    }

    async fn train(
        &mut self,
        index: usize,
        request_id: RequestId,
        assignment: Assignment,
    ) -> Result<(), SimulateError> {
        let lesson = self.lesson(assignment.plan.digest, assignment.model.digest).await?;
        let version = self.models_for(&assignment, &lesson).await?;
        let control = self.control_variate(&assignment).await?;
        let own = &self.clients[index].own;
        let (weights, own_weights) = lesson.starting_weights(&version, own);
        let replica = own.replica_from(lesson.travelling.part(), &weights).map(Arc::new);
        let cluster = own.cluster.filter(|_| lesson.plan.work == Work::Evaluation);
        let correction = lesson.plan.drift_correction.and_then(|drift| own.correction(drift, control));
        self.totals.client_rounds += 1;
        self.recorder.started(lesson.plan.work);
        let seed = assignment.assignment_id.seed();
        let (now, client) = (self.device_now(), &self.clients[index]);
        let amount = Amount::of(&lesson.plan, self.crowd.example_count(index));
        let whole = client.device.training_seconds(now, amount.examples, seed);
        let limit = lesson.plan.training.time_limit_seconds.map_or(f64::INFINITY, f64::from);
        let (seconds, share) = if whole > limit { (limit, limit / whole) } else { (whole, 1.0) };
        let memory = Memory::with_recipe(
            assignment.recipe.as_deref(),
            self.clients[index].memory.clone(),
            assignment.task_id,
            &lesson.plan.schema,
            assignment.base_version,
        );
        let training = Training {
            lesson,
            weights,
            own_weights,
            own_share: client.own.share,
            replica,
            version,
            cluster,
            width: None,
            memory_bytes_max: client.device.memory_bytes_max(),
            client: index,
            assignment_id: assignment.assignment_id,
            base_version: assignment.base_version,
            steps_max: ((amount.steps as f64 * share) as u64).max(1),
            clipping_norm: assignment.clipping_norm,
            correction,
            recipe: assignment.recipe.clone(),
            memory,
            metric_sums: assignment.metric_sums,
        };
        let (milliseconds, incarnation) = ((seconds * 1000.0).ceil().max(1.0) as u64, client.incarnation);
        let (fate, done) = (client.device.fate(seed), client.device.done_share(seed));
        let leaves = client.device.available_until(now).map(|at| at.0.saturating_sub(self.now));
        let (deadline, partly) = (assignment.deadline_in_milliseconds, (milliseconds as f64 * done) as u64);
        match fate {
            Fate::Completes if leaves.is_none_or(|leaves| leaves > milliseconds) => {
                let early = assignment.may_be_asked.then(|| EarlyEnd {
                    request_id,
                    training: training.clone(),
                    begun: self.now,
                    milliseconds,
                });
                let slot = self.pool.begin(training);
                let work = VirtualWork { assignment, slot, update: None, early };
                self.clients[index].work = Some(Box::new(work));
                self.answer(index, request_id, milliseconds, Answer::Trained);
            }
            Fate::Vanishes => {
                // The client sends nothing until long after its deadline.
                self.recorder.dropped();
                self.close_client(index);
                self.after(deadline.saturating_add(AWAY_MILLISECONDS), Event::ClientStarts { client: index });
            }
            Fate::Completes | Fate::Aborts => {
                let until = leaves.filter(|_| fate == Fate::Completes).unwrap_or(partly);
                let event = Box::new(SessionEvent::ConditionsEnded);
                self.after(until, Event::ClientMeets { client: index, incarnation, event });
            }
        }
        Ok(())
    }

    /// Ends a training after the step in progress. If the device will give up the assignment, the training still ends
    /// in that way.
    fn finish_early(&mut self, index: usize, request_id: RequestId) {
        let now = self.now;
        let Some(work) = self.clients[index].work.as_mut() else { return };
        let early = work.early.take_if(|early| early.request_id == request_id);
        let Some((training, milliseconds)) = early.and_then(|early| early.at(now)) else { return };
        work.slot = self.pool.begin(training);
        self.answer(index, request_id, milliseconds, Answer::Trained);
    }

    fn prepare(&mut self, index: usize, request_id: RequestId, assignment: &Assignment) {
        let client = &mut self.clients[index];
        let work = client.work.as_mut();
        let work = work.filter(|work| work.assignment.assignment_id == assignment.assignment_id);
        let answer = match work {
            Some(work) => match work.slot.take() {
                Ok(update) => {
                    let (digest, length) = (update.digest, update.bytes.len() as u64);
                    if length > HEADER_BYTES as u64 {
                        self.recorder.trained(update.norm);
                    }
                    work.update = Some(update);
                    Answer::Prepared { digest, length }
                }
                Err((reason, detail)) => Answer::WorkFailed { reason, detail },
            },
            None => Answer::WorkFailed {
                reason: folkmoot_protocol::messages::AbortReason::StateLost,
                detail: String::new(),
            },
        };
        self.answer(index, request_id, 1, answer);
    }

    /// Reads a plan and its model, and caches them.
    pub async fn lesson(
        &mut self,
        plan: BlobDigest,
        model: BlobDigest,
    ) -> Result<Arc<Lesson>, SimulateError> {
        if let Some(lesson) = self.lessons.get(&plan) {
            return Ok(lesson.clone());
        }
        let failed = |error: &dyn std::fmt::Display| SimulateError::Client(error.to_string());
        let plan_bytes = self.blobs.get(plan).await.map_err(|error| failed(&error))?;
        let onnx = self.blobs.get(model).await.map_err(|error| failed(&error))?;
        let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
        let model = Model::from_onnx(&onnx, &limits).map_err(|error| failed(&error))?;
        let read: Plan = serde_json::from_slice(&plan_bytes).map_err(|error| failed(&error))?;
        let model = with_output(&read, &model).map_err(|error| failed(&error.detail))?;
        let travelling = travelling(&read, &model).map_err(|error| failed(&error.detail))?;
        let lesson = Arc::new(Lesson { digest: plan, plan: read, model: Arc::new(model), travelling });
        self.lessons.insert(plan, lesson.clone());
        Ok(lesson)
    }

    /// Returns the version from which a client starts.
    async fn models_for(
        &mut self,
        assignment: &Assignment,
        lesson: &Lesson,
    ) -> Result<Arc<VersionModels>, SimulateError> {
        if assignment.weights_parts.is_empty() {
            return self.models_of(lesson, assignment.weights.digest).await;
        }
        // The last part alone does not identify the weights, because two versions may have the same delta.
        let digests: Vec<String> =
            assignment.weights_parts.iter().map(|part| part.digest.to_string()).collect();
        let name = BlobDigest::of(digests.concat().as_bytes());
        if let Some((_, models)) = self.versions.iter().find(|(kept, _)| *kept == name) {
            return Ok(models.clone());
        }
        let failed = |error: String| SimulateError::Client(error);
        let mut parts = Vec::new();
        for part in &assignment.weights_parts {
            parts.push(self.blobs.get(part.digest).await.map_err(|error| failed(error.to_string()))?);
        }
        let values = parse_parts(parts.iter().map(|part| part.as_ref()), &lesson.travelling);
        self.keep_models(name, lesson, values)
    }

    /// Returns the control variate of the assignment's version, if it has one.
    async fn control_variate(&self, assignment: &Assignment) -> Result<Option<Vec<f32>>, SimulateError> {
        let Some(artifact) = assignment.control_variate else { return Ok(None) };
        let read = self.blobs.get(artifact.digest).await;
        read.map(|bytes| Some(floats(&bytes))).map_err(|error| SimulateError::Client(error.to_string()))
    }

    fn keep_models(
        &mut self,
        name: BlobDigest,
        lesson: &Lesson,
        values: Result<Vec<f32>, WorkError>,
    ) -> Result<Arc<VersionModels>, SimulateError> {
        let values = values.map_err(|error| SimulateError::Client(error.detail))?;
        let models = VersionModels::of_values(&lesson.travelling, values);
        let models = Arc::new(models.map_err(|error| SimulateError::Client(error.to_string()))?);
        if self.versions.len() == VERSIONS_MAX {
            self.versions.remove(0);
        }
        self.versions.push((name, models.clone()));
        Ok(models)
    }

    /// Returns the models of a version. Those of the newest versions are cached.
    pub async fn models_of(
        &mut self,
        lesson: &Lesson,
        digest: BlobDigest,
    ) -> Result<Arc<VersionModels>, SimulateError> {
        if let Some((_, models)) = self.versions.iter().find(|(kept, _)| *kept == digest) {
            return Ok(models.clone());
        }
        let bytes = self.blobs.get(digest).await;
        let bytes = bytes.map_err(|error| SimulateError::Client(error.to_string()))?;
        self.keep_models(digest, lesson, parse_weights(&bytes, &lesson.travelling))
    }
}

/// A client's amount of work for an assignment.
struct Amount {
    /// The number of examples. An example that is used several times is counted several times.
    examples: u64,
    /// The number of local steps.
    steps: u64,
}

impl Amount {
    fn of(plan: &Plan, held: u64) -> Self {
        if plan.work == Work::Evaluation {
            // A pass without gradients takes about a third of the time of a pass with gradients.
            let measured = Self { examples: held.div_ceil(3), steps: 1 };
            let tuned = plan.fine_tuning.map_or(0, |tuning| held.saturating_mul(tuning.epochs.into()));
            return Self { examples: measured.examples.saturating_add(tuned), ..measured };
        }
        let personal = plan.training.personal_training;
        let first = personal.and_then(PersonalTraining::first_epochs);
        let first = first.map(|epochs| Self::of_phase(&plan.training, epochs, held));
        let (steps, gradients) =
            personal.map_or((1, 1), |one| (one.steps_per_batch().into(), one.gradients_per_step().into()));
        let shared = Self::of_phase(&plan.training, plan.training.epochs, held).times(steps, gradients);
        let shared = Self { examples: plan.training.gradients_for(shared.examples), ..shared };
        first.into_iter().fold(shared, |sum, phase| Self {
            examples: sum.examples + phase.examples,
            steps: sum.steps + phase.steps,
        })
    }

    /// Returns the amount with this many steps for each batch, and gradients for each step.
    fn times(self, steps: u64, gradients: u64) -> Self {
        Self {
            examples: self.examples.saturating_mul(steps * gradients),
            steps: self.steps.saturating_mul(steps),
        }
    }

    fn of_phase(plan: &TrainingPlan, epochs: u32, held: u64) -> Self {
        let TrainingPlan { steps_max, batch_size, accumulation_steps, .. } = *plan;
        let of_step = u64::from(batch_size) * u64::from(accumulation_steps);
        let whole = u64::from(epochs) * held.div_ceil(of_step.max(1));
        let steps = steps_max.map_or(whole, |most| whole.min(u64::from(most)));
        let examples = (u64::from(epochs) * held).min(steps.saturating_mul(of_step));
        Self { examples, steps }
    }
}
