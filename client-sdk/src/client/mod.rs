//! The client: a session and the host that performs its effects.

mod builder;
mod declining;
mod enrol;
mod error;
mod exchange;
mod fetch;
mod pauses;
mod perform;
mod rollouts;
mod runner;
mod tasks;

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_engine::Examples;
use folkmoot_protocol::{ChannelName, ErrorCode, messages::CheckInRequest};
use folkmoot_session::{Offer, Session, State, StopCause};
use folkmoot_work::{ClientEvent, Consent};
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

pub use builder::ClientBuilder;
pub use error::ClientError;
pub use rollouts::{RolledOutModel, Rollouts};

use crate::{
    Budget, DeviceCare, Devices, ExampleSource, Host, LocalTrainer, ModelStore, SecretStorage, StorageError,
    TransparencyLog, Transport,
    endorsements::Endorsements,
    storage::{BlobCache, StateStore, WorkStore},
    traffic::Traffic,
};
use pauses::Pauses;
use runner::Runner;

/// A callback that receives the client's events.
pub(crate) type OnEvent = Arc<dyn Fn(ClientEvent) + Send + Sync>;

/// One enrolled install: it checks in, trains and uploads until it is stopped.
pub struct Client {
    transport: Transport,
    token: Option<String>,
    state: StateStore,
    blobs: BlobCache,
    models: ModelStore,
    channel: ChannelName,
    work: WorkStore,
    examples: Arc<dyn ExampleSource>,
    trainer: Option<Arc<dyn LocalTrainer>>,
    attributes: BTreeMap<String, String>,
    consent: Consent,
    endorsements: Endorsements,
    care: DeviceCare,
    transparency_log: TransparencyLog,
    secrets: Option<Arc<dyn SecretStorage>>,
    wait_seconds: u32,
    devices: Devices,
    budget: Budget,
    training_slots: Option<Arc<Semaphore>>,
    traffic: Arc<Traffic>,
    host: Host,
    on_event: OnEvent,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The number of updates that were accepted in this run.
    pub accepted_rounds: u64,
}

impl Client {
    /// Starts to configure a client of this coordinator, for example `https://coordinator.example:8443`.
    pub fn builder(coordinator: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(coordinator.into())
    }

    /// Returns the transport, with the client's key and id.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns the handle that receives the device's conditions. You can clone it and use it while the client runs.
    pub fn care(&self) -> &DeviceCare {
        &self.care
    }

    /// Returns the devices on which the client can train, and what it has learnt about them.
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Returns the handle that fetches the models which the operator rolls out to this device. You can clone it and use it
    /// while the client runs.
    pub fn rollouts(&self) -> Rollouts {
        Rollouts::of(self)
    }

    /// Fetches the model that the operator has rolled out to this device, as [`Rollouts::update`] does. Enrols first if
    /// necessary: a device can use models without ever training.
    ///
    /// # Errors
    /// [`ClientError`] if the client cannot enrol, or as [`Rollouts::update`].
    pub async fn update_model(&self) -> Result<Option<RolledOutModel>, ClientError> {
        self.enrol_if_needed().await?;
        self.rollouts().update().await
    }

    /// Returns the store of the newest model on this device. You can clone it and use it while the client runs.
    pub fn models(&self) -> &ModelStore {
        &self.models
    }

    /// Returns the log of how the user's data was used. You can clone it and use it while the client runs.
    pub fn transparency_log(&self) -> &TransparencyLog {
        &self.transparency_log
    }

    /// Deletes the key, enrolment, session, models and all other files of the client in the state directory.
    ///
    /// The coordinator is not notified. Accepted updates stay accepted, and a later client in this directory is a new
    /// one.
    ///
    /// # Errors
    /// [`StorageError`] if a file cannot be deleted. All other files are deleted anyway.
    pub fn forget(self) -> Result<(), StorageError> {
        let Self { state, models, transparency_log, secrets, .. } = self;
        models.clear();
        transparency_log.close();
        let deleted = secrets.map_or(Ok(()), |secrets| secrets.delete().map_err(StorageError::Secrets));
        state.forget().and(deleted)
    }

    /// Replaces the examples for the next run.
    pub fn set_examples(&mut self, examples: Examples) {
        self.examples = Arc::new(examples);
    }

    /// Takes part in rounds until `shutdown` completes, and then gives up the current assignment.
    ///
    /// While the device must not train, training pauses between two steps. After
    /// [`give_up_after_seconds`](crate::DevicePolicy::give_up_after_seconds), the client gives up the assignment. It
    /// asks for no other until the device may train again.
    ///
    /// The client enrols first if necessary. If a run is dropped or killed, the next one continues where it stopped.
    ///
    /// # Errors
    /// [`ClientError`] if the client is not enrolled and has no token, if the coordinator refuses the enrolment or
    /// tells the client to give up, or if the state directory cannot be used.
    pub fn run<'a>(
        &'a mut self,
        shutdown: impl Future<Output = ()> + Send + 'a,
    ) -> BoxFuture<'a, Result<RunSummary, ClientError>> {
        self.run_for(None, Box::pin(shutdown))
    }

    /// Like [`Client::run`], but ends once this many updates have been accepted.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn run_rounds<'a>(
        &'a mut self,
        rounds: u64,
        shutdown: impl Future<Output = ()> + Send + 'a,
    ) -> BoxFuture<'a, Result<RunSummary, ClientError>> {
        self.run_for(Some(rounds), Box::pin(shutdown))
    }

    /// The future is boxed and the function is not generic, so that its code is compiled once, in this crate, and not
    /// again in every program that runs a client.
    fn run_for<'a>(
        &'a mut self,
        rounds: Option<u64>,
        shutdown: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<RunSummary, ClientError>> {
        Box::pin(self.take_part(rounds, shutdown))
    }

    async fn take_part(
        &mut self,
        rounds: Option<u64>,
        mut shutdown: BoxFuture<'_, ()>,
    ) -> Result<RunSummary, ClientError> {
        let mut accepted_rounds = 0;
        if !self.ensure_enrolled(&mut shutdown).await? {
            return Ok(RunSummary { accepted_rounds });
        }
        let mut may_enrol_again = self.token.is_some();
        let mut pauses = Pauses::of(self);
        loop {
            tokio::select! {
                biased;
                () = shutdown.as_mut() => return Ok(RunSummary { accepted_rounds }),
                () = pauses.over() => {}
            }
            let left = rounds.map(|goal| goal - accepted_rounds);
            let mut runner = Runner::new(self, self.load_session().await?, &mut pauses, left);
            let end = Box::pin(runner.run(&mut shutdown)).await?;
            accepted_rounds += end.accepted_rounds;
            match end.cause {
                StopCause::Requested => return Ok(RunSummary { accepted_rounds }),
                // Continue when the conditions hold again.
                StopCause::ConditionsEnded => {}
                StopCause::Refused(Some(ErrorCode::ClientUnknown)) if may_enrol_again => {
                    may_enrol_again = false;
                    if !self.enrol(&mut shutdown).await? {
                        return Ok(RunSummary { accepted_rounds });
                    }
                }
                StopCause::Refused(code) => return Err(ClientError::refused(code, end.detail)),
            }
        }
    }

    /// Loads the session of the last run or begins a new one, and deletes files of other assignments.
    async fn load_session(&self) -> Result<Session, ClientError> {
        let request = CheckInRequest {
            sdk_version: env!("CARGO_PKG_VERSION").into(),
            example_count: match &self.trainer {
                Some(trainer) => trainer.example_count(),
                None => self.examples.example_count(),
            },
            attributes: self.attributes.clone(),
            codecs: folkmoot_protocol::codec::names(),
        };
        let offer = Offer { request, wait_seconds: self.wait_seconds };
        let session = match self.state.load_session().await? {
            Some(session) => session.with_offer(offer),
            None => Session::new(offer),
        };
        self.work.forget_all_but(session.state().assignment_id())?;
        self.work.forget_old(self.host.now())?;
        Ok(session)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// Returns whether the session is in a state that it reaches only after an accepted update.
fn is_done(state: &State) -> bool {
    matches!(state, State::Done { .. })
}
