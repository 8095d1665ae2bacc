//! The client: a session, and a host that performs its effects.

mod builder;
mod enrol;
mod error;
mod fetch;
mod perform;
mod prefetch;
mod runner;
mod tasks;

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_engine::Examples;
use folkmoot_protocol::{ErrorCode, messages::CheckInRequest};
use folkmoot_session::{Offer, Session, State, StopCause};
use tokio::sync::Semaphore;

pub use builder::ClientBuilder;
pub use error::ClientError;
pub use event::ClientEvent;

use crate::{
    Consent, Devices, Host, Transport, event,
    storage::{BlobCache, StateStore, WorkStore},
};
use runner::Runner;

/// Hears what a client does.
pub(crate) type OnEvent = Arc<dyn Fn(ClientEvent) + Send + Sync>;

/// One enrolled install: it checks in, trains and uploads until it is stopped.
pub struct Client {
    transport: Transport,
    token: Option<String>,
    state: StateStore,
    blobs: BlobCache,
    work: WorkStore,
    examples: Examples,
    attributes: BTreeMap<String, String>,
    consent: Consent,
    wait_seconds: u32,
    devices: Devices,
    training_slots: Option<Arc<Semaphore>>,
    host: Host,
    on_event: OnEvent,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The updates that were accepted in this run.
    pub accepted_rounds: u64,
}

impl Client {
    /// Begins to describe a client of this coordinator, for example `https://coordinator.example:8443`.
    pub fn builder(coordinator: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(coordinator.into())
    }

    /// Returns the transport, with the client's key and id.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns the devices on which the client trains, and what it has learnt of them.
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Replaces the examples, for the next run.
    pub fn set_examples(&mut self, examples: Examples) {
        self.examples = examples;
    }

    /// Takes part in rounds until `shutdown` is ready; an assignment under way is then given up.
    ///
    /// It enrols first if it has to. A run that is dropped or killed is gone on with by the next one.
    ///
    /// # Errors
    /// [`ClientError`] if the coordinator says to give up, or the state directory cannot be used.
    pub async fn run(&mut self, shutdown: impl Future<Output = ()>) -> Result<RunSummary, ClientError> {
        self.run_for(None, shutdown).await
    }

    /// As [`Client::run`], but ends when so many updates have been accepted.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub async fn run_rounds(
        &mut self,
        rounds: u64,
        shutdown: impl Future<Output = ()>,
    ) -> Result<RunSummary, ClientError> {
        self.run_for(Some(rounds), shutdown).await
    }

    async fn run_for(
        &mut self,
        rounds: Option<u64>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<RunSummary, ClientError> {
        let mut shutdown = Box::pin(shutdown);
        let mut accepted_rounds = 0;
        if !self.ensure_enrolled(&mut shutdown).await? {
            return Ok(RunSummary { accepted_rounds });
        }
        let mut may_enrol_again = self.token.is_some();
        loop {
            let mut runner =
                Runner::new(self, self.load_session()?, rounds.map(|goal| goal - accepted_rounds));
            let end = Box::pin(runner.run(&mut shutdown)).await?;
            accepted_rounds += end.accepted_rounds;
            match end.cause {
                StopCause::Requested | StopCause::ConditionsEnded => {
                    return Ok(RunSummary { accepted_rounds });
                }
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

    /// Reads the session of the last run, or begins one, and cleans up what belongs to no assignment of it.
    fn load_session(&self) -> Result<Session, ClientError> {
        let request = CheckInRequest {
            sdk_version: env!("CARGO_PKG_VERSION").into(),
            example_count: self.examples.len() as u64,
            attributes: self.attributes.clone(),
            codecs: folkmoot_protocol::codec::names(),
        };
        let offer = Offer { request, wait_seconds: self.wait_seconds };
        let session = match self.state.load_session()? {
            Some(session) => session.with_offer(offer),
            None => Session::new(offer),
        };
        self.work.forget_all_but(session.state().assignment_id())?;
        self.work.memories().forget_old(self.host.now())?;
        Ok(session)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// Says whether the session stands where only an accepted update brings it.
fn is_done(state: &State) -> bool {
    matches!(state, State::Done { .. })
}
