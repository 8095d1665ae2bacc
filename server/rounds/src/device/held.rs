//! Updates that edge aggregators hold: they check and keep them, and send their sum when the round has closed.

use std::sync::Arc;

use folkmoot_coordinator::round::Purpose;
use folkmoot_protocol::{
    AssignmentId, ErrorCode, OrganisationId, RoundId, Timestamp, UpdateDigest, messages::UploadStatus,
    saturating::to_length, update::UpdateMetrics,
};
use folkmoot_storage::{
    AcceptOutcome, AcceptedUpdate, ApiKeyId, AssignmentRecord, AssignmentRepository, AssignmentStatus,
    ClientRecord, ClientRepository, HeldUpdate, PartialSumAnswer, PartialSumRecord, SqlStorage, TaskRecord,
};

use super::{
    not_of_client,
    upload::{answered, check_budget, check_outstanding, if_accepted, norm_max, not_stored, record_refusal},
};
use crate::{
    combine::{PartialSum, SumQuestion, SumSize},
    coordinator::Coordinator,
    in_place::in_place,
    ingest::ExpectedUpdate,
    refusal::Refusal,
    signals::Signal,
};

/// An edge aggregator, known by its API key.
#[derive(Clone, Debug)]
pub struct Aggregator {
    /// The organisation of the key. Tasks of other organisations are unknown to it.
    pub organisation_id: OrganisationId,
    /// The key.
    pub key: ApiKeyId,
}

/// The state of an assignment whose client sends its update to an aggregator.
pub enum Admitted {
    /// The update was accepted before.
    Accepted(UploadStatus),
    /// The update is awaited.
    Awaited {
        /// The largest allowed L2 norm, in steps of the task's grid; `None` if updates are not clipped.
        norm_max: Option<u64>,
    },
}

/// An assignment of an aggregator's organisation.
pub struct OfAssignment {
    /// The assignment.
    pub assignment: AssignmentRecord,
    /// Its task.
    pub task: Arc<TaskRecord>,
    /// False if the aggregator must pass the update on, because the coordinator needs it alone.
    pub is_held: bool,
}

/// Finds an assignment and its task.
///
/// # Errors
/// Fails if the organisation has no such assignment, or the storage fails.
pub async fn of_assignment(
    coordinator: &Coordinator,
    aggregator: &Aggregator,
    id: AssignmentId,
) -> Result<OfAssignment, Refusal> {
    let assignment = coordinator.storage.assignment(id).await?;
    let assignment = assignment.filter(|one| one.organisation_id == aggregator.organisation_id);
    let assignment = assignment.ok_or_else(|| {
        Refusal::new(ErrorCode::AssignmentUnknown, format!("this organisation has no assignment {id}"))
    })?;
    let task = coordinator.catalog.task(&coordinator.storage, assignment.task_id).await?;
    let is_held = assignment.purpose == Purpose::Training
        && task.description.sums_at_the_edge()
        && coordinator.storage.database().is_ok();
    Ok(OfAssignment { assignment, task, is_held })
}

/// An assignment whose update an aggregator keeps.
pub struct Held {
    assignment: AssignmentRecord,
    task: Arc<TaskRecord>,
}

impl Held {
    /// Finds the assignment.
    ///
    /// # Errors
    /// Fails if the organisation has no such assignment, or the aggregator must pass its update on.
    pub async fn of(
        coordinator: &Coordinator,
        aggregator: &Aggregator,
        id: AssignmentId,
    ) -> Result<Self, Refusal> {
        let OfAssignment { assignment, task, is_held } = of_assignment(coordinator, aggregator, id).await?;
        if is_held {
            return Ok(Self { assignment, task });
        }
        let detail = format!(
            "the coordinator needs the update of assignment {id} alone; pass the client's requests on"
        );
        Err(Refusal::new(ErrorCode::MalformedRequest, detail))
    }

    /// Returns the client that sends the update.
    ///
    /// # Errors
    /// Fails if the client was revoked.
    pub async fn client(&self, coordinator: &Coordinator) -> Result<ClientRecord, Refusal> {
        let client = coordinator.storage.client(self.assignment.client_id).await?;
        client.filter(|client| client.revoked_at.is_none()).ok_or_else(|| {
            Refusal::new(ErrorCode::ClientRevoked, "the client's key was revoked; forget its update")
        })
    }

    /// Checks that the update of `client` is awaited. `digest` is the update's; `None` for a question about the state of the
    /// upload.
    ///
    /// # Errors
    /// Fails as [`begin_upload`](super::begin_upload) does.
    pub async fn admit(
        &self,
        coordinator: &Coordinator,
        client: &ClientRecord,
        digest: Option<UpdateDigest>,
        now: Timestamp,
    ) -> Result<Admitted, Refusal> {
        let Self { assignment, task } = self;
        if assignment.client_id != client.id {
            return Err(not_of_client(assignment.id));
        }
        let known = digest.or(match assignment.status {
            AssignmentStatus::Accepted { digest, .. } => Some(digest),
            _ => None,
        });
        if let Some(digest) = known
            && let Some(status) = if_accepted(assignment, digest)?
        {
            return Ok(Admitted::Accepted(status));
        }
        check_outstanding(assignment, now)?;
        check_budget(coordinator, task, assignment, now).await?;
        Ok(Admitted::Awaited { norm_max: norm_max(coordinator, task, assignment).await? })
    }

    /// Accepts the update, which the aggregator has checked and made durable. The caller has verified that the client has
    /// signed a request for it.
    ///
    /// # Errors
    /// Fails if it is not an update of this assignment, or the round has closed.
    pub async fn accept(
        &self,
        coordinator: &Coordinator,
        sent: HeldFacts,
        now: Timestamp,
    ) -> Result<UploadStatus, Refusal> {
        let HeldFacts { digest, bytes, codec, mut weight, mut metrics, held } = sent;
        let (assignment, extent) = (&self.assignment, held.extent);
        let expected = ExpectedUpdate::of(&self.task, assignment);
        match expected.ring {
            // They are inside the masks.
            Some(_) => (weight, metrics) = (1, UpdateMetrics::default()),
            None => expected.check_facts(weight, &metrics)?,
        }
        let is_size = |size: f64| size.is_finite() && size >= 0.0;
        if !expected.may_have(bytes)
            || !expected.may_have_codec(&codec)
            || !is_size(extent.square)
            || !is_size(extent.peak)
        {
            let detail =
                "the length, codec or size is not one of an update of this task; send what was measured";
            return Err(Refusal::new(ErrorCode::MalformedRequest, detail));
        }
        let tally = expected.tally(&codec, bytes);
        let update = AcceptedUpdate {
            assignment_id: assignment.id,
            round_id: assignment.round_id,
            base_version: assignment.base_version,
            digest,
            bytes,
            codec,
            weight,
            metrics,
            accepted_at: now,
            place: None,
            held: Some(held),
        };
        let turn = coordinator.tenants.turn(assignment.organisation_id).await;
        let outcome = coordinator.storage.accept_update(&update).await?;
        drop(turn);
        if outcome == AcceptOutcome::Accepted {
            if let Some(tally) = tally {
                tally.count();
            }
            coordinator.tenants.updated(assignment.organisation_id, now);
        }
        answered(coordinator, outcome, bytes)
    }

    /// Drops the assignment if its client cannot repeat the update that the aggregator has refused.
    pub async fn refuse(&self, coordinator: &Coordinator, code: ErrorCode, now: Timestamp) {
        let AssignmentRecord { organisation_id, id, .. } = self.assignment;
        let refusal = Refusal::new(code, "an edge aggregator has refused the update");
        record_refusal(coordinator, organisation_id, id, refusal, now).await;
    }
}

/// The facts about an update that an aggregator reports.
pub struct HeldFacts {
    /// The digest of the update's bytes.
    pub digest: UpdateDigest,
    /// The length in bytes.
    pub bytes: u64,
    /// The codec's name.
    pub codec: String,
    /// The weight in the mean.
    pub weight: u64,
    /// The metrics of the training.
    pub metrics: UpdateMetrics,
    /// The aggregator that holds it, and its size.
    pub held: HeldUpdate,
}

/// Lists the sums that are wanted of an aggregator, with their questions.
///
/// # Errors
/// Fails if the storage fails, or a question cannot be read.
pub async fn wanted_sums(
    coordinator: &Coordinator,
    aggregator: &Aggregator,
) -> Result<Vec<(RoundId, SumQuestion)>, Refusal> {
    let sums = database(coordinator)?.awaited_sums(aggregator.organisation_id, &aggregator.key).await?;
    sums.iter().map(|asked| Ok((asked.round_id, question_of(asked)?))).collect()
}

/// Returns those of `rounds` that have ended. An aggregator deletes their updates. Rounds that the organisation does not have
/// are left out: the aggregator may belong to another coordinator.
///
/// # Errors
/// Fails if the storage fails.
pub async fn rounds_that_ended(
    coordinator: &Coordinator,
    aggregator: &Aggregator,
    rounds: &[RoundId],
) -> Result<Vec<RoundId>, Refusal> {
    Ok(database(coordinator)?.ended_rounds(aggregator.organisation_id, rounds).await?)
}

/// A sum that is wanted of an aggregator.
pub struct WantedSum {
    asked: PartialSumRecord,
    question: SumQuestion,
    task: Arc<TaskRecord>,
    /// The largest L2 norm of an update, in steps of the grid; `None` if updates are not clipped.
    norm_max: Option<u64>,
}

impl WantedSum {
    /// Finds the question for the aggregator's sum of a round. Returns `None` if it was answered.
    ///
    /// # Errors
    /// Fails if no sum of this round is wanted, or the storage fails.
    pub async fn of(
        coordinator: &Coordinator,
        aggregator: &Aggregator,
        round: RoundId,
    ) -> Result<Option<Self>, Refusal> {
        let unwanted = || {
            let detail = "no sum of this round is wanted; ask for the wanted ones again";
            Refusal::new(ErrorCode::RoundClosed, detail)
        };
        let own = |sum: &PartialSumRecord| {
            sum.aggregator == aggregator.key && sum.organisation_id == aggregator.organisation_id
        };
        let asked = database(coordinator)?.partial_sums(round).await?.into_iter().find(own);
        let asked = asked.ok_or_else(unwanted)?;
        if asked.answer.is_some() {
            return Ok(None);
        }
        let question = question_of(&asked)?;
        let task = coordinator.catalog.task(&coordinator.storage, question.task_id).await?;
        let first = question.updates.first().map(|update| update.assignment_id);
        let norm_max = match first {
            Some(id) => {
                let assignment = coordinator.storage.assignment(id).await?.ok_or_else(unwanted)?;
                norm_max(coordinator, &task, &assignment).await?
            }
            None => None,
        };
        Ok(Some(Self { asked, question, task, norm_max }))
    }

    fn shape(&self) -> (usize, bool) {
        let is_masked = self.task.description.protection.is_masked();
        (to_length(self.task.schema.parameter_count()), is_masked)
    }

    /// Returns the length of the sum in bytes.
    pub fn bytes(&self) -> usize {
        let (values, is_masked) = self.shape();
        PartialSum::bytes(values, is_masked)
    }

    /// Makes the sum durable, and stores where it is. If the question was answered meanwhile, that answer counts. Do not cancel
    /// it: bytes would be stored without anybody knowing.
    ///
    /// # Errors
    /// Fails if the bytes are not such a sum, or the storage or the round log fails.
    pub async fn take(self, coordinator: &Coordinator, bytes: &[u8]) -> Result<(), Refusal> {
        let (round, segment) = (self.asked.round_id, self.asked.segment);
        let digest = in_place(|| {
            self.check(bytes)?;
            let mut log = coordinator.ingest.log().open(round, segment)?;
            // An attempt that was interrupted may have left bytes.
            log.truncate(0)?;
            log.append(bytes)?;
            log.sync()?;
            Ok::<_, Refusal>(UpdateDigest::of(bytes))
        })?;
        let place = coordinator.ingest.keep_segment((round, segment), digest, digest).await;
        let answer = PartialSumAnswer { digest, place: place.map_err(not_stored)? };
        let database = database(coordinator)?;
        if !database.answer_with_sum(round, &self.asked.aggregator, &answer).await?
            && database.partial_sums(round).await?.is_empty()
        {
            // The round has ended, and its log is deleted.
            coordinator.ingest.forget_assignment(round, segment)?;
        }
        coordinator.signal(Signal::Fact);
        Ok(())
    }

    /// Refuses bytes that cannot be the sum of the asked updates. Whether they are cannot be checked.
    fn check(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let (values, is_masked) = self.shape();
        let malformed = |detail: String| Refusal::new(ErrorCode::UpdateMalformed, detail);
        let size = SumSize::of(bytes, values, is_masked).map_err(|error| malformed(error.to_string()))?;
        let grid = &self.task.description.grid;
        let largest = f64::from(grid.value_max) * f64::from(grid.fraction_bits).exp2();
        let factors = || self.question.updates.iter().map(|one| one.factor().abs());
        // Each value of an update is rounded once, by at most half a step.
        let peak_max: f64 = factors().map(|factor| factor * largest + 1.0).sum();
        let rounding = (values as f64).sqrt();
        let norm_max =
            self.norm_max.map(|norm| factors().map(|factor| factor * norm as f64 + rounding).sum::<f64>());
        let is_within = size.peak <= peak_max && norm_max.is_none_or(|norm_max| size.norm <= norm_max);
        if is_within {
            return Ok(());
        }
        Err(malformed(format!(
            "the sum has a value of {} and an L2 norm of {}, but {} updates have at most {peak_max} and {}; send the sum of the \
             asked updates",
            size.peak,
            size.norm,
            self.question.updates.len(),
            norm_max.unwrap_or(f64::INFINITY)
        )))
    }
}

fn question_of(asked: &PartialSumRecord) -> Result<SumQuestion, Refusal> {
    serde_json::from_str(&asked.question).map_err(|error| Refusal::internal(&error))
}

fn database(coordinator: &Coordinator) -> Result<&SqlStorage, Refusal> {
    Ok(coordinator.storage.database()?)
}
