//! The steps of one client. Each state has the data that the client knows after a step, and creates the next message.

mod draft;
mod journal;
mod masking;
mod refusal;
mod sharing;

use folkmoot_protocol::{
    AssignmentId,
    secure::{Advertisement, Roster, SecureTerms, Threat},
};

pub use draft::{Draft, Unsigned};
pub use journal::{Journal, JournalError, Setting};
pub use masking::{Agreed, Masking};
pub use refusal::Refusal;
pub use sharing::Sharing;

use crate::{
    Context, Root,
    roster::{CheckedRoster, advertisement_text},
    secrets::Secrets,
};

/// The demands of the app, beyond the terms of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The smallest number of updates in a sum.
    pub cohort_min: u64,
}

/// A client in its first step.
#[derive(Clone)]
pub struct Advertising {
    /// The work that the secrets belong to.
    pub context: Context,
    /// The terms of the plan.
    pub terms: SecureTerms,
    /// The client's assignment.
    pub assignment_id: AssignmentId,
    /// The client's secret for this assignment.
    pub root: Root,
}

impl Advertising {
    /// Returns the client's message with its public keys. If the coordinator may be malicious, the enrolment key must sign it.
    pub fn keys(&self) -> Draft {
        let keys = self.secrets().advertisement(&self.context);
        let text = (self.terms.threat == Threat::Malicious)
            .then(|| advertisement_text(&self.context, self.assignment_id, &keys));
        Draft::keys(keys, text)
    }

    /// Accepts the roster.
    ///
    /// # Errors
    /// [`Refusal`] if the roster breaks the plan's terms or the app's policy, or does not list the keys of this client.
    pub fn join(self, roster: Roster, policy: Policy) -> Result<Sharing, Refusal> {
        let roster = CheckedRoster::new(&self.context, &self.terms, roster)?;
        let index = roster.index_of(self.assignment_id).ok_or(Refusal::NotListed)?;
        let secrets = self.secrets();
        let own = secrets.advertisement(&self.context);
        if (Advertisement { identity: None, ..roster.keys(index).clone() }) != own {
            return Err(Refusal::NotListed);
        }
        let least = self.terms.cohort_min.max(policy.cohort_min);
        if u64::from(roster.len()) < least {
            return Err(Refusal::CohortTooSmall { found: u64::from(roster.len()), least });
        }
        Ok(Sharing { advertising: self, secrets, roster, index, least })
    }

    fn secrets(&self) -> Secrets {
        Secrets::derive(&self.root, &self.context, self.assignment_id)
    }
}
