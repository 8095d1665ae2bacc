//! Names the members that spoil a round. Only proved faults have consequences.

use std::sync::PoisonError;

use folkmoot_protocol::{AssignmentId, ClientId};
use folkmoot_secure_aggregation::Transcript;
use folkmoot_storage::{RoundRecord, SecureRepository, Storage};

use crate::{UnmaskError, transcripts::Known};

/// A proved fault of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The member has opened a share that does not match its commitment.
    WrongOpening,
    /// The member has sent shares that its neighbours cannot read. More neighbours accuse it than may collude.
    UnreadableShares,
    /// The member has shared a secret that it had not committed to.
    FalseSecret,
    /// The client has encrypted the seeds of its masks so that a committee cannot read them.
    UnreadableSeal,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::WrongOpening => "wrong_opening",
            Fault::UnreadableShares => "unreadable_shares",
            Fault::FalseSecret => "false_secret",
            Fault::UnreadableSeal => "unreadable_seal",
        }
    }
}

/// Records that these clients have encrypted their masks so that a committee cannot read them.
///
/// # Errors
/// [`UnmaskError`] if the database fails.
pub async fn blame_for_seals(
    storage: &Storage,
    record: &RoundRecord,
    assignments: &[AssignmentId],
) -> Result<(), UnmaskError> {
    for assignment in assignments {
        let client = storage.blame(*assignment, record.round.phase.since()).await?;
        told(record, *assignment, client, Fault::UnreadableSeal);
    }
    Ok(())
}

fn told(record: &RoundRecord, assignment: AssignmentId, client: ClientId, fault: Fault) {
    tracing::warn!(
        task = %record.round.task_id, round = record.round.number, %client, %assignment, fault = fault.name(),
        "a client has broken the protocol of secure aggregation, and is not selected for a day"
    );
    metrics::counter!("folkmoot_secure_faults_total", "fault" => fault.name()).increment(1);
}

/// The round whose members are blamed.
pub(crate) struct Blame<'a> {
    pub storage: &'a Storage,
    pub known: &'a Known,
    pub record: &'a RoundRecord,
}

impl Blame<'_> {
    /// Records a proved fault in the history of the member's client, so that the task does not select it for a while. Logs and
    /// counts it once for each process.
    pub async fn blame(&self, transcript: &Transcript, member: u32, fault: Fault) -> Result<(), UnmaskError> {
        let is_known = self.known.blamed.lock().unwrap_or_else(PoisonError::into_inner).contains(&member);
        let one = transcript.roster().members.get(member as usize).filter(|_| !is_known);
        let Some(one) = one else { return Ok(()) };
        // The beginning of the phase is precise enough, and the same in all processes.
        let at = self.record.round.phase.since();
        let client = self.storage.blame(one.assignment_id, at).await?;
        self.known.blamed.lock().unwrap_or_else(PoisonError::into_inner).insert(member);
        told(self.record, one.assignment_id, client, fault);
        Ok(())
    }

    /// Logs the members that are accused, when a round is lost. An accusation alone proves nothing.
    pub fn explain(&self, transcript: &Transcript, accused: &[(u32, u32)]) {
        for (member, accusers) in accused {
            let one = transcript.roster().members.get(*member as usize);
            tracing::warn!(
                task = %self.record.round.task_id, round = self.record.round.number, member, accusers,
                assignment = one.map(|one| one.assignment_id.to_string()),
                "the round is lost, and clients say that they cannot read this client's shares"
            );
        }
    }
}
