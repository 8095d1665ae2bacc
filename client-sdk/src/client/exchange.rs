//! Secure aggregation: performs what [`folkmoot_work::Exchange`] decides.

use folkmoot_protocol::{
    Timestamp,
    messages::{AbortReason, Assignment},
};
use folkmoot_session::{Answer, ExchangeStep, Exchanged, Failure};
use folkmoot_work::{Exchange, ExchangeNext, Note, WorkError, secure_setting};

use super::{
    Client,
    tasks::{Outcome, work_failed},
};
use crate::{
    Budget, ClientKey, TransparencyLog, Transport, TransportError,
    storage::{BlobCache, StorageError, WorkStore},
    training::load_plan,
};

/// The seconds for which the coordinator may hold a request until it has an answer.
const WAIT_SECONDS: u32 = 30;

/// The parts of a client that an exchange needs.
pub(super) struct Exchanger {
    transport: Transport,
    work: WorkStore,
    blobs: BlobCache,
    key: ClientKey,
    budget: Budget,
    log: TransparencyLog,
    random: [u8; 32],
    now: Timestamp,
}

/// Why a step failed.
enum ExchangeError {
    Transport(TransportError),
    Work(WorkError),
}

impl From<TransportError> for ExchangeError {
    fn from(error: TransportError) -> Self {
        ExchangeError::Transport(error)
    }
}

impl From<WorkError> for ExchangeError {
    fn from(error: WorkError) -> Self {
        ExchangeError::Work(error)
    }
}

impl From<StorageError> for ExchangeError {
    fn from(error: StorageError) -> Self {
        ExchangeError::Work(WorkError::new(AbortReason::StateLost, error))
    }
}

impl Exchanger {
    pub fn new(client: &Client) -> Self {
        Self {
            transport: client.transport.clone(),
            work: client.work.clone(),
            blobs: client.blobs.clone(),
            key: client.transport.key().clone(),
            budget: client.budget.clone(),
            log: client.transparency_log.clone(),
            random: client.host.random_bytes(),
            now: client.host.now(),
        }
    }

    /// Takes one step.
    pub async fn take(self, assignment: Assignment, step: ExchangeStep) -> Outcome {
        match self.exchanged(&assignment, step).await {
            Ok(exchanged) => (Answer::Exchanged(Ok(exchanged)), None),
            Err(ExchangeError::Transport(error)) => {
                (Answer::Exchanged(Err(Failure::from(&error))), Some(error.to_string()))
            }
            Err(ExchangeError::Work(error)) => work_failed(error),
        }
    }

    async fn exchanged(
        &self,
        assignment: &Assignment,
        step: ExchangeStep,
    ) -> Result<Exchanged, ExchangeError> {
        let id = assignment.assignment_id;
        let plan = load_plan(assignment, &self.blobs, self.now)?;
        let setting = secure_setting(assignment, &plan, &self.budget)?;
        let stored = self.work.load_journal(id)?;
        let (mut exchange, mut order) =
            Exchange::begin(step, setting, self.key.storage_key(), stored, self.random)?;
        loop {
            if order.stores {
                self.work.save_journal(id, exchange.journal())?;
            }
            if let Some(message) = &order.sends {
                self.log.write(Note::secure_message(message, assignment));
                self.transport.send_secure(id, message).await?;
            }
            order = match order.next {
                ExchangeNext::Sign(text) => exchange.signed(self.key.identity(&text))?,
                ExchangeNext::Ask(after) => {
                    exchange.answered(self.transport.secure_progress(id, after, WAIT_SECONDS).await?)?
                }
                ExchangeNext::End(exchanged) => return Ok(exchanged),
            };
        }
    }
}
