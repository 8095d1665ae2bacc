//! Performs each effect of the session.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_protocol::{
    AssignmentId,
    messages::{AbortReason, Artifact, Assignment},
};
use folkmoot_session::{Answer, ArtifactKind, Effect, Failure, RequestId};
use folkmoot_work::{WorkError, wait_for_day};
use futures::FutureExt;
use tokio::task::spawn_blocking;

use super::{
    Client, ClientError, ClientEvent,
    declining::Declining,
    exchange::Exchanger,
    fetch::{fetch, prefetch},
    runner::Runner,
    tasks::{Outcome, work_failed},
};
use crate::{
    TransportError, UpdateSource,
    training::{LocalWork, Screening, WorkNews, prepare, prepare_masked, screen, work},
};

impl Runner<'_> {
    /// Performs an effect that needs no answer. Starts an effect that needs one; the answer comes as a later event.
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<(), ClientError> {
        let transport = self.client.transport.clone();
        let Some(request_id) = effect.request_id() else { return self.perform_at_once(effect).await };
        match effect {
            Effect::CheckIn { request, wait_seconds, .. } => {
                let (traffic, care) = (&self.client.traffic, &self.client.care);
                if let Some(until) = traffic.spent_until().max(care.spent_until()) {
                    let wait = wait_for_day(until, self.client.host.now());
                    self.spawn(request_id, async move { (Answer::CheckIn(Ok(wait)), None) });
                    return Ok(());
                }
                let reasons = care.reasons();
                self.spawn(request_id, async move {
                    reasons.until_allowed().await;
                    outcome(transport.check_in(&request, wait_seconds).await, Answer::CheckIn)
                });
            }
            Effect::Fetch { kind, artifact, .. } => self.fetch(request_id, kind, artifact),
            Effect::Train { assignment, .. } => self.work(request_id, assignment),
            Effect::Listen { assignment_id, wait_seconds, .. } => self.spawn(request_id, async move {
                outcome(transport.listen(assignment_id, wait_seconds).await, Answer::Ask)
            }),
            Effect::Exchange { assignment, step, .. } => {
                let exchanger = Exchanger::new(self.client);
                self.spawn(request_id, exchanger.take(assignment, step));
            }
            Effect::Prepare { assignment, .. } => self.prepare(request_id, assignment.assignment_id),
            Effect::QueryUpload { assignment_id, .. } => self.spawn(request_id, async move {
                outcome(transport.upload_status(assignment_id).await, Answer::Upload)
            }),
            Effect::Upload { assignment_id, offset, length, digest, .. } => {
                if !self.client.work.has_update(assignment_id, length) {
                    self.spawn(request_id, async { (Answer::UpdateLost, None) });
                    return Ok(());
                }
                let source = self.update_source(assignment_id, length);
                self.spawn(request_id, async move {
                    let result = transport.upload(assignment_id, &source, offset, length, digest).await;
                    outcome(result, Answer::Upload)
                });
            }
            Effect::SendReport { assignment_id, report, .. } => {
                self.spawn(request_id, async move {
                    outcome(transport.report(assignment_id, &report).await, Answer::Report)
                });
            }
            Effect::SendAbort { assignment_id, abort, .. } => self.spawn(request_id, async move {
                outcome(transport.abort(assignment_id, &abort).await, Answer::Abort)
            }),
            Effect::Persist
            | Effect::WakeAt(_)
            | Effect::Prefetch { .. }
            | Effect::FinishEarly { .. }
            | Effect::Cancel { .. }
            | Effect::Forget { .. } => {}
        }
        Ok(())
    }

    async fn perform_at_once(&mut self, effect: Effect) -> Result<(), ClientError> {
        match effect {
            Effect::Persist => self.client.state.save_session(&self.session).await?,
            Effect::WakeAt(at) => self.alarm = Some(at),
            Effect::Prefetch { artifact } => self.prefetch(artifact),
            Effect::FinishEarly { request_id } => {
                if let Some((_, asked)) = self.asked.as_ref().filter(|(training, _)| *training == request_id)
                {
                    asked.store(true, Ordering::Relaxed);
                }
            }
            Effect::Cancel { request_id } => self.tasks.cancel(request_id),
            Effect::Forget { assignment_id, was_accepted } => {
                let Client { work, models, .. } = self.client;
                match was_accepted {
                    Some(true) => work.keep_memory(assignment_id)?,
                    Some(false) => {}
                    None => work.forget_memory(assignment_id)?,
                }
                let is_accepted = was_accepted == Some(true);
                if was_accepted != Some(false) && work.keep_own(assignment_id, is_accepted)? {
                    models.reload();
                }
                work.forget(assignment_id)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn spawn(&mut self, request_id: RequestId, request: impl Future<Output = Outcome> + Send + 'static) {
        self.tasks.spawn(request_id, Arc::default(), request);
    }

    fn update_source(&self, assignment_id: AssignmentId, total: u64) -> UpdateSource {
        let on_event = Arc::clone(&self.client.on_event);
        let on_sent = Arc::new(move |sent| on_event(ClientEvent::Uploading { assignment_id, sent, total }));
        UpdateSource::File { path: self.client.work.update_path(assignment_id), on_sent }
    }

    fn declining(&self, assignment: &Assignment) -> Declining {
        Declining {
            task_id: assignment.task_id,
            round_number: assignment.round_number,
            work: self.client.work.clone(),
            log: self.client.transparency_log.clone(),
        }
    }

    /// Fetches offered weights in the background, if there is room for them.
    fn prefetch(&mut self, artifact: Artifact) {
        let Client { transport, blobs, host, transparency_log: log, traffic, budget, .. } = self.client;
        if !traffic.may_prefetch(artifact, budget) {
            return;
        }
        self.prefetch.forget_ended(|handle| handle.now_or_never().is_some());
        self.prefetch.begin(artifact.digest, || {
            let (transport, blobs, host, log) = (transport.clone(), blobs.clone(), host.clone(), log.clone());
            let (task, handle) = prefetch(transport, blobs, host, log, artifact).remote_handle();
            tokio::spawn(task);
            handle
        });
    }

    /// Fetches a blob. A plan is screened before anything else is fetched.
    fn fetch(&mut self, request_id: RequestId, kind: ArtifactKind, artifact: Artifact) {
        let assignment = self.session.state().work().map(|work| work.assignment.clone());
        // A prefetch of other weights would compete with the assignment's download.
        let weights = assignment.as_ref().and_then(|assignment| assignment.weights_to_fetch().next());
        self.prefetch.end_unless(weights.map(|weights| weights.digest));
        let prefetched = self.prefetch.take(artifact.digest);
        let Client { transport, blobs, host, consent, care, traffic, budget, endorsements, .. } = self.client;
        let (transport, blobs, budget) = (transport.clone(), blobs.clone(), budget.clone());
        let (host, consent, traffic) = (host.clone(), consent.clone(), Arc::clone(traffic));
        let care = care.clone();
        let examples = self.client.trainer.is_none().then(|| Arc::clone(&self.client.examples));
        let declining = assignment.as_ref().map(|assignment| self.declining(assignment));
        if let (ArtifactKind::Plan, Some(assignment), Some(declining)) = (kind, &assignment, &declining) {
            let allowed = budget.allows_plan_of(artifact.bytes).map_err(WorkError::from);
            if let Err(error) = allowed.and_then(|()| endorsements.check(assignment, host.now())) {
                let failed = declining.failed(error);
                self.spawn(request_id, async move { failed });
                return;
            }
        }
        self.spawn(request_id, async move {
            if let Some(prefetched) = prefetched {
                prefetched.await;
            }
            let fetched = fetch(transport, blobs.clone(), host.clone(), artifact).await;
            let plan_of = assignment.zip(declining).filter(|_| kind == ArtifactKind::Plan);
            let (Some((assignment, declining)), (Answer::Fetch(Ok(_)), _)) = (plan_of, &fetched) else {
                return fetched;
            };
            let screened = move || {
                let (conditions, now) = (care.conditions(), host.now());
                let device = Screening {
                    blobs: &blobs,
                    budget: &budget,
                    consent: &consent,
                    conditions: &conditions,
                    traffic: &traffic,
                    examples: examples.as_deref(),
                };
                screen(&assignment, &device, now)
            };
            match spawn_blocking(screened).await {
                Ok(Ok(())) => fetched,
                Ok(Err(error)) => declining.failed(error),
                // A panic in the app's callback is treated as a refusal. Its text is dropped, because it may reveal
                // private attributes.
                Err(_) => declining.failed(WorkError::declined()),
            }
        });
    }

    fn work(&mut self, request_id: RequestId, assignment: Assignment) {
        let [stop, asked] = [Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false))];
        self.asked = Some((request_id, Arc::clone(&asked)));
        let assignment_id = assignment.assignment_id;
        let declining = self.declining(&assignment);
        // The endorsement was valid when the plan arrived, but the app may have restarted with other keys since.
        if let Err(error) = self.client.endorsements.check(&assignment, self.client.host.now()) {
            let failed = declining.failed(error);
            self.spawn(request_id, async move { failed });
            return;
        }
        let local = LocalWork {
            assignment,
            examples: Arc::clone(&self.client.examples),
            trainer: self.client.trainer.clone(),
            consent: self.client.consent.clone(),
            care: self.client.care.clone(),
            blobs: self.client.blobs.clone(),
            models: self.client.models.clone(),
            work: self.client.work.clone(),
            devices: self.client.devices.clone(),
            budget: self.client.budget.clone(),
            host: self.client.host.clone(),
            stop: Arc::clone(&stop),
            asked,
        };
        let on_event = Arc::clone(&self.client.on_event);
        let on_news = move |news: WorkNews| on_event(news.event(assignment_id));
        let finished = Arc::clone(&self.finished);
        let slots = self.client.training_slots.clone();
        self.tasks.spawn(request_id, stop, async move {
            let _slot = match slots {
                Some(slots) => slots.acquire_owned().await.ok(),
                None => None,
            };
            let done = move || {
                let done = work(&local, on_news);
                local.care.save();
                done
            };
            match spawn_blocking(done).await {
                Ok(Ok(Some(work))) => {
                    *finished.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
                    (Answer::Trained, None)
                }
                // The work was cancelled: nobody waits for this answer.
                Ok(Ok(None)) => work_failed(WorkError::new(AbortReason::Stopped, "")),
                Ok(Err(error)) => declining.failed(error),
                Err(error) => work_failed(WorkError::new(AbortReason::TrainingFailed, error)),
            }
        });
    }

    fn prepare(&mut self, request_id: RequestId, assignment_id: AssignmentId) {
        let (finished, store) = (Arc::clone(&self.finished), self.client.work.clone());
        let (device_key, budget) = (self.client.transport.key().storage_key(), self.client.budget.clone());
        self.spawn(request_id, async move {
            let work = finished.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(work) = work.filter(|work| work.assignment.assignment_id == assignment_id) else {
                return work_failed(WorkError::new(
                    AbortReason::StateLost,
                    "the result of the training or evaluation was lost",
                ));
            };
            let prepared = move || match work.assignment.is_masked {
                true => prepare_masked(&work, &store, &budget, &device_key),
                false => prepare(&work, &store),
            };
            match spawn_blocking(prepared).await {
                Ok(Ok(update)) => (Answer::Prepared { digest: update.digest, length: update.length }, None),
                Ok(Err(error)) => work_failed(error),
                Err(error) => work_failed(WorkError::new(AbortReason::TrainingFailed, error)),
            }
        });
    }
}

fn outcome<T>(
    result: Result<T, TransportError>,
    answer: impl FnOnce(Result<T, Failure>) -> Answer,
) -> Outcome {
    match result {
        Ok(value) => (answer(Ok(value)), None),
        Err(error) => (answer(Err(Failure::from(&error))), Some(error.to_string())),
    }
}
