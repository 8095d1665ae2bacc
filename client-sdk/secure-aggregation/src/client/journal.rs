use folkmoot_protocol::{
    AssignmentId,
    secure::{IncomingShare, Roster, SecureMessage, SecureTerms, Survivors, Threat},
};
use serde::{Deserialize, Serialize};

use super::{Advertising, Agreed, Draft, Masking, Policy, Refusal, Sharing};
use crate::{Context, Root, secrets::SealedRoot};

/// The state of one client's secure aggregation, to be stored before each message is sent. It has no secret in the clear.
#[derive(Clone, Serialize, Deserialize)]
pub struct Journal {
    root: SealedRoot,
    roster: Option<Roster>,
    shares: Option<Vec<IncomingShare>>,
    answered: Option<Vec<u32>>,
}

/// The fixed properties of one client's secure aggregation.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The work that the secrets belong to.
    pub context: Context,
    /// The terms of the plan.
    pub terms: SecureTerms,
    /// The client's assignment.
    pub assignment_id: AssignmentId,
    /// The demands of the app.
    pub policy: Policy,
}

/// A journal that cannot be used, or a message of the coordinator that the client refuses.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JournalError {
    /// The secret cannot be decrypted with this device's key.
    #[error("the stored secret of this assignment belongs to another device key")]
    OtherKey,
    /// An earlier step was not taken.
    #[error("an earlier step of secure aggregation is missing")]
    Missing,
    /// The coordinator has sent another roster, or other shares, than before. With the same secrets, two rosters could reveal
    /// a single update.
    #[error("the coordinator has sent another roster, or other shares, than before")]
    Changed,
    /// The coordinator's message is refused.
    #[error("secure aggregation was refused ({code}): {0}", code = .0.code())]
    Refused(#[from] Refusal),
}

impl Journal {
    /// Begins with random bytes from the operating system. `device_key` is a secret of the device, under which they are
    /// stored.
    pub fn new(random: [u8; 32], device_key: &[u8; 32], assignment_id: AssignmentId) -> Self {
        let root = Root::new(random).seal(device_key, assignment_id);
        Self { root, roster: None, shares: None, answered: None }
    }

    /// Returns the client's message with its public keys.
    ///
    /// # Errors
    /// [`JournalError::OtherKey`].
    pub fn keys(&self, setting: &Setting, device_key: &[u8; 32]) -> Result<Draft, JournalError> {
        Ok(self.advertising(setting, device_key)?.keys())
    }

    /// Checks the roster and keeps it.
    ///
    /// # Errors
    /// [`JournalError`] if the roster is refused.
    pub fn take_roster(
        &mut self,
        setting: &Setting,
        device_key: &[u8; 32],
        roster: Roster,
    ) -> Result<(), JournalError> {
        if self.roster.as_ref().is_some_and(|before| *before != roster) {
            return Err(JournalError::Changed);
        }
        self.advertising(setting, device_key)?.join(roster.clone(), setting.policy)?;
        self.roster = Some(roster);
        Ok(())
    }

    /// Returns the client's message with the shares for its neighbours.
    ///
    /// # Errors
    /// [`JournalError`] if there is no roster.
    pub fn shares(&self, setting: &Setting, device_key: &[u8; 32]) -> Result<SecureMessage, JournalError> {
        Ok(SecureMessage::Shares { shares: self.sharing(setting, device_key)?.shares() })
    }

    /// Checks the neighbours' shares and keeps them.
    ///
    /// # Errors
    /// [`JournalError`] if the shares are refused.
    pub fn take_shares(
        &mut self,
        setting: &Setting,
        device_key: &[u8; 32],
        shares: Vec<IncomingShare>,
    ) -> Result<(), JournalError> {
        if self.shares.as_ref().is_some_and(|before| *before != shares) {
            return Err(JournalError::Changed);
        }
        self.sharing(setting, device_key)?.receive(&shares)?;
        self.shares = Some(shares);
        Ok(())
    }

    /// Returns the masks for the update.
    ///
    /// # Errors
    /// [`JournalError`] if the roster or the shares are missing.
    pub fn masking(&self, setting: &Setting, device_key: &[u8; 32]) -> Result<Masking, JournalError> {
        let shares = self.shares.as_deref().ok_or(JournalError::Missing)?;
        Ok(self.sharing(setting, device_key)?.receive(shares)?)
    }

    /// Checks the survivors and returns the message to send: the agreement to them if the coordinator may be malicious and
    /// they are not signed yet, and otherwise the opened shares. Store the journal before you sign or send the message.
    ///
    /// # Errors
    /// [`JournalError`] if the survivors are refused.
    pub fn take_survivors(
        &mut self,
        setting: &Setting,
        device_key: &[u8; 32],
        survivors: &Survivors,
    ) -> Result<Draft, JournalError> {
        let masking = self.masking(setting, device_key)?;
        let before = self.answered.clone().map(Agreed);
        if setting.terms.threat == Threat::Malicious && survivors.agreements.is_empty() {
            let text = masking.agreement(survivors, before.as_ref())?;
            self.answered = Some(survivors.members.clone());
            return Ok(Draft::agreement(text));
        }
        let (opening, answered) = masking.open(survivors, before.as_ref())?;
        self.answered = Some(answered.0);
        Ok(Draft::Ready(SecureMessage::Opening { opening }))
    }

    fn sharing(&self, setting: &Setting, device_key: &[u8; 32]) -> Result<Sharing, JournalError> {
        let roster = self.roster.clone().ok_or(JournalError::Missing)?;
        Ok(self.advertising(setting, device_key)?.join(roster, setting.policy)?)
    }

    fn advertising(&self, setting: &Setting, device_key: &[u8; 32]) -> Result<Advertising, JournalError> {
        let Setting { context, terms, assignment_id, policy: _ } = *setting;
        let root = self.root.open(device_key, assignment_id).ok_or(JournalError::OtherKey)?;
        Ok(Advertising { context, terms, assignment_id, root })
    }
}
