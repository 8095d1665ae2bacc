//! One step of secure aggregation: orders the host to store, send and ask, in this order.

mod order;
#[cfg(test)]
mod tests;

use folkmoot_protocol::{
    Plan, Work,
    messages::{AbortReason, Assignment},
    secure::{Identity, SecureAnswered, SecureProgress, Survivors},
};
use folkmoot_secure_aggregation::{Context, Draft, Journal, JournalError, Policy, Setting, Unsigned};
use folkmoot_session::{ExchangeStep, Exchanged};

use crate::{Budget, WorkError};

pub use order::{ExchangeNext, ExchangeOrder};

/// A step of secure aggregation in progress. It does no I/O: each function returns an [`ExchangeOrder`], and the host
/// calls the function that the order names next.
pub struct Exchange {
    setting: Setting,
    device_key: DeviceKey,
    journal: Journal,
    phase: Phase,
}

/// A secret of the device, under which it stores the secrets of an assignment. It is erased from memory when it is dropped.
#[derive(Clone, zeroize::Zeroize, zeroize::ZeroizeOnDrop)]
pub struct DeviceKey(pub [u8; 32]);

enum Phase {
    /// The host signs a message.
    Signing(Unsigned),
    /// The host asks for the coordinator's answer to this step.
    Asking(SecureAnswered),
    /// The step is over.
    Over,
}

impl Exchange {
    /// Begins a step, for the first time or again. `stored` is the journal that the host stored last. Without one, the first
    /// step begins a journal with `random` bytes from the operating system.
    ///
    /// # Errors
    /// [`AbortReason::TrainingFailed`] if the journal is missing or does not allow this step.
    pub fn begin(
        step: ExchangeStep,
        setting: Setting,
        device_key: DeviceKey,
        stored: Option<Journal>,
        random: [u8; 32],
    ) -> Result<(Self, ExchangeOrder), WorkError> {
        let is_new = stored.is_none();
        let journal = match (stored, step) {
            (Some(journal), _) => journal,
            (None, ExchangeStep::Keys) => Journal::new(random, &device_key.0, setting.assignment_id),
            (None, ExchangeStep::Shares | ExchangeStep::Opening) => {
                return Err(failed(JournalError::Missing));
            }
        };
        let mut exchange = Self { setting, device_key, journal, phase: Phase::Over };
        let order = match step {
            ExchangeStep::Keys => {
                let keys = exchange.journal.keys(&exchange.setting, &exchange.device_key.0);
                exchange.send(is_new, keys.map_err(failed)?)
            }
            ExchangeStep::Shares => {
                let shares = exchange.journal.shares(&exchange.setting, &exchange.device_key.0);
                exchange.send(false, Draft::Ready(shares.map_err(failed)?))
            }
            ExchangeStep::Opening => exchange.ask(SecureAnswered::Update),
        };
        Ok((exchange, order))
    }

    /// Returns the journal to store.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Continues after [`ExchangeNext::Sign`], with the enrolment key and its signature.
    ///
    /// # Errors
    /// [`AbortReason::TrainingFailed`] if nothing was to be signed.
    pub fn signed(&mut self, identity: Identity) -> Result<ExchangeOrder, WorkError> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Signing(unsigned) => Ok(self.send(false, Draft::Ready(unsigned.signed(identity)))),
            Phase::Asking(_) | Phase::Over => Err(out_of_order()),
        }
    }

    /// Continues after [`ExchangeNext::Ask`], with the coordinator's answer.
    ///
    /// # Errors
    /// [`AbortReason::TrainingFailed`] if the client refuses the answer, and [`AbortReason::DeadlinePassed`] if the round has
    /// closed without this client.
    pub fn answered(&mut self, progress: SecureProgress) -> Result<ExchangeOrder, WorkError> {
        let after = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Asking(after) => after,
            Phase::Signing(_) | Phase::Over => return Err(out_of_order()),
        };
        let (setting, key) = (&self.setting, &self.device_key.0);
        let is_after_upload = matches!(after, SecureAnswered::Update | SecureAnswered::Agreement);
        match progress {
            SecureProgress::Wait => Ok(ExchangeOrder::end(false, Exchanged::Waiting)),
            SecureProgress::Roster { roster } if after == SecureAnswered::Keys => {
                self.journal.take_roster(setting, key, roster).map_err(failed)?;
                Ok(ExchangeOrder::end(true, Exchanged::Completed))
            }
            SecureProgress::Shares { shares } if after == SecureAnswered::Shares => {
                self.journal.take_shares(setting, key, shares).map_err(failed)?;
                Ok(ExchangeOrder::end(true, Exchanged::Completed))
            }
            SecureProgress::Survivors { survivors } if is_after_upload => self.survivors(after, &survivors),
            // The round has enough shares, or has ended.
            SecureProgress::Done if is_after_upload => Ok(ExchangeOrder::end(false, Exchanged::Completed)),
            _ => {
                let detail = "the round has closed without this client";
                Err(WorkError::new(AbortReason::DeadlinePassed, detail))
            }
        }
    }

    fn survivors(
        &mut self,
        after: SecureAnswered,
        survivors: &Survivors,
    ) -> Result<ExchangeOrder, WorkError> {
        if after == SecureAnswered::Agreement && survivors.agreements.is_empty() {
            return Ok(ExchangeOrder::end(false, Exchanged::Waiting));
        }
        let taken = self.journal.take_survivors(&self.setting, &self.device_key.0, survivors);
        // One answer for each round, ever: it is stored before it is sent.
        Ok(self.send(true, taken.map_err(failed)?))
    }

    /// Stores, then signs or sends, then asks for the answer, or ends the step if there is none.
    fn send(&mut self, stores: bool, draft: Draft) -> ExchangeOrder {
        let message = match draft {
            Draft::Ready(message) => message,
            Draft::Unsigned(unsigned) => {
                let next = ExchangeNext::Sign(unsigned.text().to_owned());
                self.phase = Phase::Signing(unsigned);
                return ExchangeOrder { stores, sends: None, next };
            }
        };
        let order = match message.answered() {
            Some(after) => self.ask(after),
            None => ExchangeOrder::end(stores, Exchanged::Completed),
        };
        ExchangeOrder { stores, sends: Some(message), ..order }
    }

    fn ask(&mut self, after: SecureAnswered) -> ExchangeOrder {
        self.phase = Phase::Asking(after);
        ExchangeOrder { stores: false, sends: None, next: ExchangeNext::Ask(after) }
    }
}

/// Returns the properties of an assignment's secure aggregation.
///
/// # Errors
/// [`AbortReason::PlanUnsupported`] if the plan has no terms.
pub fn secure_setting(assignment: &Assignment, plan: &Plan, budget: &Budget) -> Result<Setting, WorkError> {
    let terms = plan.protection.exchange().filter(|_| plan.work == Work::Training).copied();
    let terms = terms.ok_or_else(|| {
        WorkError::new(
            AbortReason::PlanUnsupported,
            "the plan does not ask for masked updates, but the assignment does",
        )
    })?;
    let context = Context::of(assignment);
    let policy = Policy { cohort_min: budget.cohort_min };
    Ok(Setting { context, terms, assignment_id: assignment.assignment_id, policy })
}

fn failed(error: JournalError) -> WorkError {
    let reason = match error {
        JournalError::Missing | JournalError::OtherKey => AbortReason::StateLost,
        JournalError::Changed | JournalError::Refused(_) => AbortReason::TrainingFailed,
    };
    WorkError::new(reason, error)
}

fn out_of_order() -> WorkError {
    WorkError::new(AbortReason::TrainingFailed, "a step of secure aggregation was continued out of order")
}
