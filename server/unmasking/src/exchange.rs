use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use folkmoot_coordinator::round::{Phase, SecureStep};
use folkmoot_protocol::{
    AssignmentId, BlobDigest,
    secure::{
        Advertisement, Member, Roster, SecureAnswered, SecureMessage, SecureProgress, SecureTerms, StepKey,
        Survivors,
    },
};
use folkmoot_secure_aggregation::{
    Context, Masks, MessageFault, RecoverError, Transcript, Unmasking, check_advertisement,
};
use folkmoot_storage::{AssignmentRepository, RoundRecord, SecureRepository, Storage, TaskRecord};

use crate::{
    Transcripts, UnmaskError,
    blame::{Blame, Fault},
    transcripts::Known,
};

/// The secure aggregation of one round.
pub struct Exchange<'a> {
    storage: &'a Storage,
    transcripts: &'a Transcripts,
    known: Arc<Known>,
    record: &'a RoundRecord,
    context: Context,
    terms: SecureTerms,
}

impl<'a> Exchange<'a> {
    /// Returns the exchange of a round. `weights` is the digest of the weights from which its clients train.
    ///
    /// # Errors
    /// [`UnmaskError::NotSecure`] if the task does not use secure aggregation.
    pub fn new(
        storage: &'a Storage,
        transcripts: &'a Transcripts,
        task: &TaskRecord,
        record: &'a RoundRecord,
        weights: BlobDigest,
    ) -> Result<Self, UnmaskError> {
        let terms = task.description.secure_terms().ok_or(UnmaskError::NotSecure)?;
        let context = Context { task_id: task.id, round_id: record.round.id, plan: task.plan, weights };
        let known = transcripts.of(record.round.id);
        Ok(Self { storage, transcripts, known, record, context, terms })
    }

    /// Checks a client's message before it is stored. `public_key` is the client's enrolment key. Returns the message's step.
    ///
    /// # Errors
    /// [`UnmaskError`] if the message is invalid or too early.
    pub async fn check(
        &self,
        id: AssignmentId,
        public_key: &str,
        message: &SecureMessage,
    ) -> Result<SecureStep, UnmaskError> {
        let step = step_of(message);
        // Storage decides whether a message is a repetition or too late.
        if !step.is_open_in(&self.record.round.phase) {
            return Ok(step);
        }
        match message {
            SecureMessage::Keys { advertisement } => {
                let identity = advertisement.identity.as_ref();
                if identity.is_some_and(|identity| identity.public_key != public_key) {
                    return Err(MessageFault::Signature.into());
                }
                check_advertisement(&self.context, &self.terms, id, advertisement)
                    .map_err(UnmaskError::Advertisement)?;
            }
            SecureMessage::Shares { shares } => {
                let (transcript, member) = self.transcript_with(id, SecureStep::Keys).await?;
                transcript.check_shares(member, shares)?;
            }
            SecureMessage::Agreement { signature } => {
                let (transcript, member) = self.transcript_with(id, SecureStep::Shares).await?;
                transcript.check_agreement(member, self.survivors(&transcript).await?, signature)?;
            }
            SecureMessage::Opening { opening } => {
                let (transcript, member) = self.transcript_with(id, SecureStep::Shares).await?;
                let survivors = self.survivors(&transcript).await?;
                if let Err(fault) = transcript.check_opening(survivors, member, opening) {
                    if fault.is_proof() {
                        self.blame().blame(&transcript, member, Fault::WrongOpening).await?;
                    }
                    return Err(fault.into());
                }
            }
        }
        Ok(step)
    }

    /// Returns the answer to the step that a client has completed.
    ///
    /// # Errors
    /// [`UnmaskError`] if the database fails, or the client is not in the roster.
    pub async fn progress(
        &self,
        id: AssignmentId,
        after: SecureAnswered,
    ) -> Result<SecureProgress, UnmaskError> {
        let phase = &self.record.round.phase;
        if phase.is_final() || matches!(phase, Phase::Aggregating { .. }) {
            if phase.is_final() {
                self.transcripts.forget(self.record.round.id);
            }
            return Ok(SecureProgress::Done);
        }
        let closed = match after {
            SecureAnswered::Keys => SecureStep::Keys,
            _ => SecureStep::Shares,
        };
        if !self.has_closed(closed) {
            return Ok(SecureProgress::Wait);
        }
        let (transcript, member) = self.transcript_with(id, closed).await?;
        match after {
            SecureAnswered::Keys => Ok(SecureProgress::Roster { roster: transcript.roster().clone() }),
            SecureAnswered::Shares => Ok(SecureProgress::Shares { shares: transcript.inbox(member) }),
            _ if !matches!(phase, Phase::Unmasking { .. }) => Ok(SecureProgress::Wait),
            SecureAnswered::Update => {
                let members = self.survivors(&transcript).await?.to_vec();
                Ok(SecureProgress::Survivors { survivors: Survivors { members, agreements: Vec::new() } })
            }
            SecureAnswered::Agreement => self.agreed(&transcript, member).await,
        }
    }

    async fn agreed(&self, transcript: &Transcript, member: u32) -> Result<SecureProgress, UnmaskError> {
        let mut heard = self.known.agreements.lock().await;
        for (id, message) in self.new_messages(SecureStep::Agreement, &heard.from).await? {
            heard.from.insert(id);
            if let (Some(index), SecureMessage::Agreement { signature }) = (transcript.index_of(id), message)
            {
                heard.content.insert(index, signature);
            }
        }
        let agreements = transcript.agreements_for(member, &heard.content);
        drop(heard);
        if agreements.len() < transcript.parameters().threshold as usize {
            return Ok(SecureProgress::Wait);
        }
        let members = self.survivors(transcript).await?.to_vec();
        Ok(SecureProgress::Survivors { survivors: Survivors { members, agreements } })
    }

    /// Returns whether clients have opened enough shares to remove the masks from the sum. Blames the members whose shares
    /// were unreadable.
    ///
    /// # Errors
    /// [`UnmaskError`] if the database fails, a stored message is invalid, or all clients have answered and the shares are too
    /// few.
    pub async fn is_open(&self) -> Result<bool, UnmaskError> {
        let look = |unmasking: &Unmasking<'_>| {
            let proved: Vec<u32> = unmasking.proved().collect();
            let accused: Vec<(u32, u32)> = unmasking.accused().collect();
            (unmasking.missing(), unmasking.is_hopeless(), proved, accused)
        };
        let (missing, is_hopeless, proved, accused) = self.opened(look).await?;
        let transcript = self.transcript(SecureStep::Shares).await?;
        for member in proved {
            self.blame().blame(&transcript, member, Fault::UnreadableShares).await?;
        }
        let Some((owner, found)) = missing else { return Ok(true) };
        if is_hopeless {
            self.blame().explain(&transcript, &accused);
            let least = transcript.parameters().threshold;
            return Err(RecoverError::TooFewShares { owner, found, least }.into());
        }
        Ok(false)
    }

    /// Returns the masks that remain on the sum of the accepted updates.
    ///
    /// # Errors
    /// [`UnmaskError`] if the database fails, too few shares are open, or a client has cheated so that the masks cannot be
    /// recovered. That client is blamed.
    pub async fn masks(&self) -> Result<Masks, UnmaskError> {
        let recovered = self.opened(|unmasking| unmasking.recover()).await?;
        if let Err(RecoverError::FalseShares { owner }) = &recovered {
            let transcript = self.transcript(SecureStep::Shares).await?;
            self.blame().blame(&transcript, *owner, Fault::FalseSecret).await?;
        }
        Ok(recovered?)
    }

    /// Reads the openings that have arrived since the last look, and looks at all of them.
    async fn opened<T>(&self, look: impl FnOnce(&Unmasking<'_>) -> T) -> Result<T, UnmaskError> {
        let transcript = self.transcript(SecureStep::Shares).await?;
        let survivors = self.survivors(&transcript).await?;
        let mut heard = self.known.openings.lock().await;
        let messages = self.new_messages(SecureStep::Opening, &heard.from).await?;
        let mut unmasking = transcript.resume(survivors, std::mem::take(&mut heard.content));
        let added = messages.iter().try_for_each(|(id, message)| match (transcript.index_of(*id), message) {
            (Some(member), SecureMessage::Opening { opening }) => unmasking.add(member, opening),
            _ => Ok(()),
        });
        let seen = look(&unmasking);
        heard.content = unmasking.into_open();
        added?;
        heard.from.extend(messages.iter().map(|(id, _)| *id));
        Ok(seen)
    }

    /// Reads the messages of an open step from assignments other than these.
    async fn new_messages(
        &self,
        step: SecureStep,
        known: &BTreeSet<AssignmentId>,
    ) -> Result<Vec<(AssignmentId, SecureMessage)>, UnmaskError> {
        let mut senders = self.storage.secure_senders(self.record.round.id, step).await?;
        senders.retain(|id| !known.contains(id));
        if senders.is_empty() {
            return Ok(Vec::new());
        }
        self.parsed(self.storage.secure_messages_of(&senders, step).await?)
    }

    fn blame(&self) -> Blame<'_> {
        Blame { storage: self.storage, known: &self.known, record: self.record }
    }

    fn has_closed(&self, step: SecureStep) -> bool {
        match (step, &self.record.round.phase) {
            (_, Phase::Selecting { .. } | Phase::AdvertisingKeys { .. }) => false,
            (SecureStep::Keys, _) => true,
            (_, phase) => !matches!(phase, Phase::SharingKeys { .. }),
        }
    }

    /// Returns the transcript, and the index of an assignment in its roster.
    async fn transcript_with(
        &self,
        id: AssignmentId,
        closed: SecureStep,
    ) -> Result<(Arc<Transcript>, u32), UnmaskError> {
        let transcript = self.transcript(closed).await?;
        let member = transcript.index_of(id).ok_or(UnmaskError::OtherStep)?;
        Ok((transcript, member))
    }

    /// Reads the roster and, once the step of the shares is closed, the shares.
    async fn transcript(&self, closed: SecureStep) -> Result<Arc<Transcript>, UnmaskError> {
        let keys = self.known.keys.get_or_try_init(|| self.read_roster()).await?;
        match closed {
            SecureStep::Keys => Ok(keys.clone()),
            _ => Ok(self.known.shares.get_or_try_init(|| self.read_shares(keys)).await?.clone()),
        }
    }

    async fn read_roster(&self) -> Result<Arc<Transcript>, UnmaskError> {
        let member = |(assignment_id, advertisement)| Member { assignment_id, advertisement };
        let keys = without_repeated(self.advertisements().await?);
        let roster = Roster { members: keys.into_iter().map(member).collect() };
        Ok(Arc::new(Transcript::new(self.context, &self.terms, roster)?))
    }

    async fn read_shares(&self, keys: &Transcript) -> Result<Arc<Transcript>, UnmaskError> {
        let mut transcript = keys.clone();
        for (id, message) in self.messages(SecureStep::Shares).await? {
            if let (Some(member), SecureMessage::Shares { shares }) = (transcript.index_of(id), message) {
                transcript.add_shares(member, shares)?;
            }
        }
        Ok(Arc::new(transcript))
    }

    async fn advertisements(&self) -> Result<Vec<(AssignmentId, Advertisement)>, UnmaskError> {
        let messages = self.messages(SecureStep::Keys).await?;
        let keys = messages.into_iter().filter_map(|(id, message)| match message {
            SecureMessage::Keys { advertisement } => Some((id, advertisement)),
            _ => None,
        });
        Ok(keys.collect())
    }

    /// Returns the members whose updates were accepted, by ascending index. Call it when the round accepts no more updates.
    async fn survivors(&self, transcript: &Transcript) -> Result<&[u32], UnmaskError> {
        let read = async || {
            let accepted = self.storage.accepted_updates(self.record.round.id).await?;
            let members = accepted.iter().filter_map(|update| transcript.index_of(update.assignment_id));
            Ok::<_, UnmaskError>(members.collect())
        };
        Ok(self.known.survivors.get_or_try_init(read).await?)
    }

    async fn messages(&self, step: SecureStep) -> Result<Vec<(AssignmentId, SecureMessage)>, UnmaskError> {
        self.parsed(self.storage.secure_messages(self.record.round.id, step).await?)
    }

    fn parsed(
        &self,
        stored: Vec<(AssignmentId, String)>,
    ) -> Result<Vec<(AssignmentId, SecureMessage)>, UnmaskError> {
        self.transcripts.count_read(stored.len());
        stored.into_iter().map(|(id, text)| Ok((id, serde_json::from_str(&text)?))).collect()
    }
}

fn step_of(message: &SecureMessage) -> SecureStep {
    match message {
        SecureMessage::Keys { .. } => SecureStep::Keys,
        SecureMessage::Shares { .. } => SecureStep::Shares,
        SecureMessage::Agreement { .. } => SecureStep::Agreement,
        SecureMessage::Opening { .. } => SecureStep::Opening,
    }
}

/// Leaves out all clients that advertise a key of another one, because clients refuse a roster with repeated keys.
fn without_repeated(keys: Vec<(AssignmentId, Advertisement)>) -> Vec<(AssignmentId, Advertisement)> {
    let mut counts: BTreeMap<StepKey, u32> = BTreeMap::new();
    for (_, Advertisement { channel_key, mask_key, .. }) in &keys {
        *counts.entry(*channel_key).or_default() += 1;
        *counts.entry(*mask_key).or_default() += 1;
    }
    let is_own = |key: &StepKey| counts.get(key) == Some(&1);
    keys.into_iter().filter(|(_, keys)| is_own(&keys.channel_key) && is_own(&keys.mask_key)).collect()
}
