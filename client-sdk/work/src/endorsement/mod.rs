//! Decides whether an assignment is one that the app's operator has signed.

mod not_endorsed;
mod seen;

use folkmoot_protocol::{
    TaskId, Timestamp,
    endorsement::{EndorsedPlan, Endorsement, TaskStatement},
    messages::{AbortReason, Artifact, Assignment, Rollout},
    signing::check_public_key,
};

pub use not_endorsed::NotEndorsed;
pub use seen::SeenEndorsements;

use crate::WorkError;

/// The maximum number of pinned keys.
const KEYS_MAX: usize = 8;

/// The public keys whose endorsements an app accepts. Without keys, the app accepts every assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndorsementKeys {
    keys: Vec<String>,
    coordinator: String,
}

impl EndorsementKeys {
    /// Pins these Ed25519 public keys (base64 of 32 bytes). `coordinator` is the origin of the client's coordinator, such
    /// as `https://coordinator.example:8443`.
    ///
    /// # Errors
    /// A message that names the first key that cannot be used.
    pub fn new(keys: Vec<String>, coordinator: impl Into<String>) -> Result<Self, String> {
        if keys.len() > KEYS_MAX {
            return Err(format!("endorsement_keys has more than {KEYS_MAX} keys; remove some"));
        }
        for key in &keys {
            check_public_key(key).map_err(|_| {
                format!("endorsement_keys: `{key}` is not a public key; use what `folkmoot endorsement key` prints")
            })?;
        }
        Ok(Self { keys, coordinator: coordinator.into() })
    }

    /// Checks an assignment before anything of it is fetched, and returns the number of its endorsement. Without pinned keys
    /// there is nothing to check.
    ///
    /// # Errors
    /// The first reason to refuse the assignment.
    pub fn check(
        &self,
        assignment: &Assignment,
        seen: &SeenEndorsements,
        now: Timestamp,
    ) -> Result<Option<u64>, NotEndorsed> {
        let covers = |statement: &TaskStatement| covers(statement, assignment);
        self.verify(assignment.endorsement.as_deref(), covers, seen, now)
    }

    /// Checks a model that is rolled out to this device before anything of it is fetched, and returns the number of its task's
    /// endorsement. Without pinned keys there is nothing to check.
    ///
    /// # Errors
    /// The first reason to refuse the model.
    pub fn check_rollout(
        &self,
        rollout: &Rollout,
        seen: &SeenEndorsements,
        now: Timestamp,
    ) -> Result<Option<u64>, NotEndorsed> {
        let covers = |statement: &TaskStatement| {
            covered_plan(statement, rollout.task_id, rollout.model, rollout.plan).map(drop)
        };
        self.verify(rollout.endorsement.as_deref(), covers, seen, now)
    }

    fn verify(
        &self,
        endorsement: Option<&str>,
        covers: impl FnOnce(&TaskStatement) -> Result<(), NotEndorsed>,
        seen: &SeenEndorsements,
        now: Timestamp,
    ) -> Result<Option<u64>, NotEndorsed> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let endorsement = endorsement.ok_or(NotEndorsed::Missing)?;
        let endorsement = Endorsement::parse(endorsement)?;
        if !self.keys.contains(&endorsement.public_key) {
            return Err(NotEndorsed::UnknownKey);
        }
        let statement = endorsement.verify()?;
        covers(&statement)?;
        if !statement.coordinators.contains(&self.coordinator) {
            return Err(NotEndorsed::OtherCoordinator(self.coordinator.clone()));
        }
        if now < statement.not_before {
            return Err(NotEndorsed::NotYetValid);
        }
        if now >= statement.expires_at {
            return Err(NotEndorsed::Expired);
        }
        let newest = seen.newest(statement.task_id);
        if statement.sequence < newest {
            return Err(NotEndorsed::Older { sequence: statement.sequence, newest });
        }
        Ok(Some(statement.sequence))
    }
}

/// Checks that the statement is about this assignment.
fn covers(statement: &TaskStatement, assignment: &Assignment) -> Result<(), NotEndorsed> {
    let plan = covered_plan(statement, assignment.task_id, assignment.model, assignment.plan)?;
    let told = assignment.cohort_min.unwrap_or(0);
    if told < plan.cohort_min {
        return Err(NotEndorsed::Cohort { told, signed: plan.cohort_min });
    }
    let told = assignment.protection_level.unwrap_or_default();
    if told < plan.protection_level {
        return Err(NotEndorsed::Protection { told, signed: plan.protection_level });
    }
    Ok(())
}

/// Returns the statement's plan, if the statement is about this task, model and plan.
fn covered_plan(
    statement: &TaskStatement,
    task_id: TaskId,
    model: Artifact,
    plan: Artifact,
) -> Result<&EndorsedPlan, NotEndorsed> {
    if statement.task_id != task_id {
        return Err(NotEndorsed::OtherTask);
    }
    if statement.model != model.digest {
        return Err(NotEndorsed::OtherModel);
    }
    statement.plans.iter().find(|one| one.digest == plan.digest).ok_or(NotEndorsed::OtherPlan)
}

impl From<NotEndorsed> for WorkError {
    /// Converts the refusal to an abort with its text. The text reveals nothing about the device, and the operator
    /// needs it.
    fn from(refused: NotEndorsed) -> Self {
        Self::new(AbortReason::PlanUnsupported, refused)
    }
}

#[cfg(test)]
mod tests;
