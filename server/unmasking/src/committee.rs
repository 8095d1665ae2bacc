//! Asks the members of a committee for the sums of masks. Members that are missing are replaced by others, as long as enough
//! answer.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_coordinator::task::{Fault, TaskDescription};
use folkmoot_protocol::{
    AssignmentId,
    saturating::to_length,
    secure::{CommitteeKey, CommitteeQuestion, CommitteeRound, CommitteeTerms, EXTRAS, SealedClient},
    signing::verify_text,
};
use folkmoot_round_log::{RoundLog, RoundLogError};
use folkmoot_secure_aggregation::{
    Context, Dealing, Ring, Unpacker, agreement_text, packed_bytes, seal_bytes,
};
use futures::future::{BoxFuture, join_all};

use crate::{
    RingSums,
    sum::{add, read_seal},
};

/// The number of assignments that a message names.
const SHOWN_MAX: usize = 5;

/// The way to the members of committees.
pub trait Committee: Send + Sync {
    /// Returns whether this member can be reached at all.
    fn knows(&self, member: &CommitteeKey) -> bool;

    /// Asks which clients' seeds a member cannot read.
    fn check<'a>(
        &'a self,
        member: &'a CommitteeKey,
        round: &'a CommitteeRound,
    ) -> BoxFuture<'a, Result<Vec<AssignmentId>, AskError>>;

    /// Asks a member for its signature over the clients.
    fn agree<'a>(
        &'a self,
        member: &'a CommitteeKey,
        round: &'a CommitteeRound,
    ) -> BoxFuture<'a, Result<String, AskError>>;

    /// Asks a member for the packed sum of masks.
    fn sum<'a>(
        &'a self,
        member: &'a CommitteeKey,
        question: &'a CommitteeQuestion,
    ) -> BoxFuture<'a, Result<Vec<u8>, AskError>>;
}

/// A coordinator without a committee.
pub struct NoCommittee;

impl Committee for NoCommittee {
    fn knows(&self, _: &CommitteeKey) -> bool {
        false
    }

    fn check<'a>(
        &'a self,
        _: &'a CommitteeKey,
        _: &'a CommitteeRound,
    ) -> BoxFuture<'a, Result<Vec<AssignmentId>, AskError>> {
        Box::pin(async { Err(AskError::Unknown) })
    }

    fn agree<'a>(
        &'a self,
        _: &'a CommitteeKey,
        _: &'a CommitteeRound,
    ) -> BoxFuture<'a, Result<String, AskError>> {
        Box::pin(async { Err(AskError::Unknown) })
    }

    fn sum<'a>(
        &'a self,
        _: &'a CommitteeKey,
        _: &'a CommitteeQuestion,
    ) -> BoxFuture<'a, Result<Vec<u8>, AskError>> {
        Box::pin(async { Err(AskError::Unknown) })
    }
}

/// Why a member gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The coordinator's configuration does not say where the member is.
    #[error("the member is not in [committee] of the coordinator's configuration")]
    Unknown,
    /// The member cannot be reached.
    #[error("the member cannot be reached: {0}")]
    Unreachable(String),
    /// The member refuses.
    #[error("the member refuses ({code}): {detail}")]
    Refused {
        /// The code of the refusal.
        code: String,
        /// The reason.
        detail: String,
    },
    /// The answer does not fit the request.
    #[error("the member's answer is invalid: {0}")]
    Invalid(String),
}

impl AskError {
    /// Returns whether the member would refuse again.
    fn is_lasting(&self) -> bool {
        matches!(self, AskError::Refused { code, .. } if !matches!(code.as_str(), "token" | "internal"))
    }
}

/// Why the sum of the masks is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitteeSumError {
    /// Too few members answer. They may answer later.
    #[error("too few members of the committee answer for this round: {}", reasons(.0))]
    Missing(Vec<(u32, AskError)>),
    /// Too many members refuse for good.
    #[error("too many members of the committee refuse for this round: {}", reasons(.0))]
    Refused(Vec<(u32, AskError)>),
    /// More members than may collude cannot read what these clients encrypted for them.
    #[error("{} clients have encrypted their masks so that the committee cannot read them", .0.len())]
    Accused(Vec<AssignmentId>),
    /// The coordinator could not read the data for the committee.
    #[error("the updates for the committee cannot be read: {0}")]
    Inputs(String),
}

impl CommitteeSumError {
    /// Returns whether a later attempt may succeed.
    pub fn may_pass(&self) -> bool {
        !matches!(self, CommitteeSumError::Accused(_) | CommitteeSumError::Refused(_))
    }
}

fn reasons(missing: &[(u32, AskError)]) -> String {
    let one = |(member, error): &(u32, AskError)| format!("member {member}: {error}");
    missing.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Lists the members of a task's committee that the coordinator cannot ask.
pub fn committee_faults(committee: &dyn Committee, description: &TaskDescription) -> Vec<Fault> {
    let members = description.protection.committee().map_or(&[][..], |committee| &committee.members);
    let unknown = members.iter().filter(|member| !committee.knows(member));
    let fault = |member: &CommitteeKey| {
        let message = format!("the coordinator has no address for the member {}", String::from(*member));
        let remedy = "add it to [[committee.members]] of the coordinator's configuration";
        Fault::new("protection.committee.members", message, remedy)
    };
    unknown.map(fault).collect()
}

/// Returns the facts about a round that the committee of these terms needs. `plan` is the plan's text, and `accepted`
/// are the clients in the sum, by ascending assignment id.
///
/// # Errors
/// [`RoundLogError`] if an update cannot be read.
pub fn committee_round(
    log: &RoundLog,
    (context, terms, plan): (&Context, &CommitteeTerms, String),
    (ring, parameter_count): (Ring, u64),
    accepted: &[AssignmentId],
) -> Result<CommitteeRound, RoundLogError> {
    let bytes = seal_bytes(terms);
    let client = |assignment_id: &AssignmentId| {
        let seal = read_seal(log, context.round_id, *assignment_id, (ring, parameter_count), bytes)?;
        Ok(SealedClient { assignment_id: *assignment_id, seal })
    };
    Ok(CommitteeRound {
        task_id: context.task_id,
        round_id: context.round_id,
        plan,
        weights: context.weights,
        parameter_count,
        clients: accepted.iter().map(client).collect::<Result<_, RoundLogError>>()?,
    })
}

/// One round of a committee.
pub struct CommitteeSum<'a> {
    committee: &'a dyn Committee,
    terms: &'a CommitteeTerms,
    context: Context,
    ring: Ring,
    missing: BTreeMap<u32, AskError>,
}

impl<'a> CommitteeSum<'a> {
    /// Prepares to ask the committee of these terms.
    pub fn new(
        committee: &'a dyn Committee,
        terms: &'a CommitteeTerms,
        context: Context,
        ring: Ring,
    ) -> Self {
        Self { committee, terms, context, ring, missing: BTreeMap::new() }
    }

    /// Returns the sum of the masks of all clients in `round`. First, every member checks its messages; a member that
    /// cannot read all of them takes no part. If the coordinator may be malicious, the others then sign the list of
    /// clients. Each mask is summed by one of the members that hold it. If this member fails, another one sums the
    /// mask.
    ///
    /// # Errors
    /// [`CommitteeSumError`] if too few members answer, or clients have spoiled the round.
    pub async fn find(mut self, round: CommitteeRound) -> Result<RingSums, CommitteeSumError> {
        self.leave_out_who_cannot_read(&round).await?;
        let agreements = if self.terms.quorum() > 0 { self.agreements(&round).await? } else { Vec::new() };
        let dealing = Dealing::of(self.terms);
        let parameter_count = to_length(round.parameter_count);
        let mut sums = RingSums { values: vec![0; parameter_count], extras: [0; EXTRAS] };
        let mut open: BTreeSet<u32> = (0..dealing.masks()).collect();
        while !open.is_empty() {
            let wanted: Vec<u32> = open.iter().copied().collect();
            let Some(work) = dealing.split(&wanted, &self.present()) else { return Err(self.too_few()) };
            let questions: Vec<(u32, CommitteeQuestion)> = work
                .into_iter()
                .map(|(member, masks)| {
                    let agreements = agreements.clone();
                    (member, CommitteeQuestion { round: round.clone(), masks, agreements })
                })
                .collect();
            let asked = questions.iter().map(async |(member, question)| {
                self.committee.sum(&self.terms.members[*member as usize], question).await
            });
            let answers = join_all(asked).await;
            for ((member, question), answer) in questions.iter().zip(answers) {
                match answer.and_then(|bytes| self.unpacked(&bytes, parameter_count)) {
                    Ok((values, extras)) => {
                        add(&mut sums.values, &values);
                        add(&mut sums.extras, &extras);
                        question.masks.iter().for_each(|mask| {
                            open.remove(mask);
                        });
                    }
                    Err(error) => self.leave_out(*member, error),
                }
            }
        }
        Ok(sums)
    }

    fn present(&self) -> Vec<u32> {
        (0..self.terms.size()).filter(|member| !self.missing.contains_key(member)).collect()
    }

    fn leave_out(&mut self, member: u32, error: AskError) {
        tracing::warn!(member, %error, round = %self.context.round_id, "a member of the committee takes no part in a round");
        self.missing.insert(member, error);
    }

    fn too_few(&self) -> CommitteeSumError {
        let missing: Vec<(u32, AskError)> =
            self.missing.iter().map(|(member, error)| (*member, error.clone())).collect();
        let lasting = missing.iter().filter(|(_, error)| error.is_lasting()).count();
        match self.terms.members.len() - lasting < self.least() {
            true => CommitteeSumError::Refused(missing),
            false => CommitteeSumError::Missing(missing),
        }
    }

    /// Returns the number of members that must answer.
    fn least(&self) -> usize {
        (self.terms.colluders + 1).max(self.terms.quorum()) as usize
    }

    async fn leave_out_who_cannot_read(&mut self, round: &CommitteeRound) -> Result<(), CommitteeSumError> {
        let answers =
            join_all(self.terms.members.iter().map(|member| self.committee.check(member, round))).await;
        let mut accusers: BTreeMap<AssignmentId, u32> = BTreeMap::new();
        for (member, answer) in (0..).zip(answers) {
            match answer {
                Ok(unreadable) if unreadable.is_empty() => {}
                Ok(unreadable) => {
                    let shown: Vec<String> =
                        unreadable.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
                    let detail = format!(
                        "it cannot read what {} clients encrypted for it, such as {}",
                        unreadable.len(),
                        shown.join(", ")
                    );
                    self.leave_out(member, AskError::Refused { code: "unreadable".into(), detail });
                    let listed: BTreeSet<AssignmentId> = unreadable.into_iter().collect();
                    listed.into_iter().for_each(|client| *accusers.entry(client).or_default() += 1);
                }
                Err(error) => self.leave_out(member, error),
            }
        }
        let is_proved =
            |(client, count): (AssignmentId, u32)| (count > self.terms.colluders).then_some(client);
        let accused: Vec<AssignmentId> = accusers.into_iter().filter_map(is_proved).collect();
        let can_sum = self.present().len() >= self.least();
        if can_sum || accused.is_empty() { Ok(()) } else { Err(CommitteeSumError::Accused(accused)) }
    }

    async fn agreements(&mut self, round: &CommitteeRound) -> Result<Vec<(u32, String)>, CommitteeSumError> {
        let present = self.present();
        let asked =
            present.iter().map(|member| self.committee.agree(&self.terms.members[*member as usize], round));
        let answers = join_all(asked).await;
        let text = agreement_text(&self.context, &round.clients);
        let mut agreements = Vec::new();
        for (member, answer) in present.iter().zip(answers) {
            let identity = self.terms.members[*member as usize].identity();
            let checked = answer.and_then(|signature| match verify_text(&identity, &signature, &text) {
                Ok(()) => Ok(signature),
                Err(error) => Err(AskError::Invalid(error.to_string())),
            });
            match checked {
                Ok(signature) => agreements.push((*member, signature)),
                Err(error) => self.leave_out(*member, error),
            }
        }
        if agreements.len() < self.terms.quorum() as usize { Err(self.too_few()) } else { Ok(agreements) }
    }

    fn unpacked(&self, bytes: &[u8], parameter_count: usize) -> Result<(Vec<u64>, [u64; EXTRAS]), AskError> {
        let expected = packed_bytes(self.ring, parameter_count as u64) + 8 * EXTRAS as u64;
        if bytes.len() as u64 != expected {
            return Err(AskError::Invalid(format!("it has {} bytes instead of {expected}", bytes.len())));
        }
        let mut values = Vec::with_capacity(parameter_count);
        let rest = Unpacker::new(self.ring, parameter_count as u64).push(bytes, &mut values);
        let mut extras = [0; EXTRAS];
        extras
            .iter_mut()
            .zip(rest.as_chunks::<8>().0)
            .for_each(|(extra, word)| *extra = u64::from_le_bytes(*word));
        Ok((values, extras))
    }
}
