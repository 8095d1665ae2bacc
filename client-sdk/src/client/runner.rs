use std::{
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use folkmoot_protocol::{Timestamp, Work};
use folkmoot_session::{Answer, Event, RequestId, Session, State, StopCause};
use folkmoot_training::FinishedWork;
use folkmoot_work::{Pause, Phase, Prefetch, event_of, note_before, note_of, note_of_step};
use futures::future::{BoxFuture, RemoteHandle};
use rand_chacha::ChaCha20Rng;
use tokio::time::{sleep, timeout};

use super::{Client, ClientError, ClientEvent, is_done, pauses::Pauses, tasks::Tasks};

/// The maximum time, in seconds, for which a stopping client waits for the coordinator to answer its last messages.
const SHUTDOWN_SECONDS_MAX: u64 = 5;
/// The maximum time, in seconds, for which the client sleeps. The wall clock may jump during a longer sleep.
const SLEEP_SECONDS_MAX: u64 = 60;

/// The outcome of a session.
pub(super) struct End {
    pub cause: StopCause,
    pub detail: String,
    pub accepted_rounds: u64,
}

/// Performs the effects of one session and feeds it events.
pub(super) struct Runner<'a> {
    pub(super) client: &'a Client,
    pub(super) session: Session,
    rng: ChaCha20Rng,
    pub(super) tasks: Tasks,
    pub(super) prefetch: Prefetch<RemoteHandle<()>>,
    pauses: &'a mut Pauses,
    pub(super) alarm: Option<Timestamp>,
    /// The last training that was started, and the flag that asks it to end early.
    pub(super) asked: Option<(RequestId, Arc<AtomicBool>)>,
    /// Finished work whose update is not built and stored yet. It is only in memory, so after a crash the client
    /// repeats the steps since the last checkpoint.
    pub(super) finished: Arc<Mutex<Option<FinishedWork>>>,
    detail: String,
    accepted_rounds: u64,
    rounds: Option<u64>,
}

impl<'a> Runner<'a> {
    pub fn new(client: &'a Client, session: Session, pauses: &'a mut Pauses, rounds: Option<u64>) -> Self {
        Self {
            client,
            session,
            rng: client.host.fork_rng(),
            tasks: Tasks::default(),
            prefetch: Prefetch::default(),
            pauses,
            alarm: None,
            asked: None,
            finished: Arc::default(),
            detail: String::new(),
            accepted_rounds: 0,
            rounds,
        }
    }

    /// Runs until the session stops, `shutdown` completes, or a pause of the device is too long. In the last two cases,
    /// ends the session and notifies the coordinator.
    pub async fn run(&mut self, shutdown: &mut BoxFuture<'_, ()>) -> Result<End, ClientError> {
        if self.rounds == Some(0) {
            return Ok(self.end(StopCause::Requested));
        }
        self.step(Event::Started).await?;
        loop {
            if let State::Stopped { cause } = *self.session.state() {
                return Ok(self.end(cause));
            }
            let phase = Phase::of(self.session.state());
            tokio::select! {
                biased;
                () = shutdown.as_mut() => {
                    return self.shut_down(Event::StopRequested, StopCause::Requested).await;
                }
                pause = self.pauses.next(phase) => {
                    self.prefetch.end_unless(None);
                    if pause == Pause::Lasts {
                        return self.shut_down(Event::ConditionsEnded, StopCause::ConditionsEnded).await;
                    }
                }
                event = next_event(&mut self.tasks, self.alarm, self.client, &mut self.detail) => {
                    self.step(event).await?;
                }
            }
        }
    }

    /// Ends the session and notifies the coordinator. Waits at most [`SHUTDOWN_SECONDS_MAX`] for its answer. Without
    /// the notice, the assignment ends at its deadline.
    async fn shut_down(&mut self, event: Event, cause: StopCause) -> Result<End, ClientError> {
        self.prefetch.end_unless(None);
        self.step(event).await?;
        let stopping = async {
            while !self.session.is_stopped() {
                let event = next_event(&mut self.tasks, self.alarm, self.client, &mut self.detail).await;
                self.step(event).await?;
            }
            Ok(())
        };
        let limit = Duration::from_secs(SHUTDOWN_SECONDS_MAX);
        timeout(limit, stopping).await.unwrap_or(Ok::<(), ClientError>(()))?;
        Ok(self.end(cause))
    }

    fn end(&self, cause: StopCause) -> End {
        self.client.care.save();
        End { cause, detail: self.detail.clone(), accepted_rounds: self.accepted_rounds }
    }

    async fn step(&mut self, event: Event) -> Result<(), ClientError> {
        if matches!(event, Event::Wake) {
            // The alarm fires once: a state that needs it again sets it again.
            self.alarm = None;
        }
        let before = self.session.state().clone();
        // The goal is reached once the report of the last round has been sent.
        let is_last = self.rounds.is_some_and(|rounds| self.accepted_rounds >= rounds);
        let is_over = is_done(&before) && is_last && matches!(event, Event::Answered { .. });
        let event = if is_over { Event::StopRequested } else { event };
        tracing::debug!(state = before.name(), event = event.name(), "step");
        if let Some(note) = note_of(&event, &before, self.finished_by(&event)) {
            self.client.transparency_log.write(note);
        }
        let (session, effects) = self.session.clone().step(event, self.client.host.now(), &mut self.rng)?;
        self.session = session;
        if let Some(note) = note_of_step(&before, self.session.state()) {
            self.client.transparency_log.write(note);
        }
        if let Some(event) = event_of(&before, self.session.state(), &self.detail) {
            self.accepted_rounds += u64::from(matches!(event, ClientEvent::Accepted { .. }));
            (self.client.on_event)(event);
        }
        for effect in effects {
            if let Some(note) = note_before(&effect, self.session.state()) {
                self.client.transparency_log.write(note);
            }
            self.perform(effect).await?;
        }
        Ok(())
    }

    /// Returns the kind and the number of examples of the work that this event ends.
    fn finished_by(&self, event: &Event) -> Option<(Work, u64)> {
        let Event::Answered { answer: Answer::Trained, .. } = event else { return None };
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.as_ref().map(|finished| (finished.plan.work, finished.outcome.metrics.example_count))
    }
}

/// Waits for the next answer or the alarm. It borrows only parts of the runner, so that it can be dropped at any time.
async fn next_event(
    tasks: &mut Tasks,
    alarm: Option<Timestamp>,
    client: &Client,
    detail: &mut String,
) -> Event {
    let milliseconds = alarm.map_or(u64::MAX, |alarm| alarm.milliseconds_since(client.host.now()));
    let pause = Duration::from_millis(milliseconds.min(SLEEP_SECONDS_MAX * 1000));
    tokio::select! {
        biased;
        (request_id, (answer, failed)) = tasks.next() => {
            if let Some(failed) = failed {
                tracing::info!(failed, "a request failed");
                *detail = failed;
            }
            Event::answered(request_id, answer)
        }
        () = sleep(pause) => Event::Wake,
    }
}
