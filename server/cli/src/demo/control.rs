//! The operator's part, over the administrative API: brings the model, describes the task, hands out the token,
//! and looks at what came of it.

use folkmoot_api::{AdminClient, Page, TaskVerb};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{TaskId, Timestamp};

use super::error::DemoError;

/// An operator of the demo's coordinator.
pub struct Control {
    api: AdminClient,
}

/// A released model version, and the round that made it.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The round's number in its task.
    pub round_number: u64,
    /// The clients that were drawn.
    pub cohort: u64,
    /// The updates that it combines.
    pub reports: u64,
    /// The mean loss that its clients saw.
    pub loss: Option<f64>,
    /// Seconds from the round's opening to its commit.
    pub seconds: f64,
    /// When it was committed.
    pub at: Timestamp,
    /// The version as ONNX.
    pub onnx: Vec<u8>,
}

impl Control {
    /// Becomes the operator whose API this is.
    pub fn new(api: AdminClient) -> Self {
        Self { api }
    }

    /// Makes a token with which `uses` clients can enrol in the task's population.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator refuses.
    pub async fn create_token(&self, description: &TaskDescription, uses: u32) -> Result<String, DemoError> {
        let population = description.population.clone();
        Ok(self.api.create_token(population, Some(u64::from(uses)), None).await?.token)
    }

    /// Brings the model and describes the task, which is a draft then.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator refuses.
    pub async fn create_task(&self, onnx: &[u8], description: TaskDescription) -> Result<TaskId, DemoError> {
        let model = self.api.create_model(onnx.to_vec()).await?.model;
        Ok(self.api.create_task(description, model, false).await?.id)
    }

    /// Lets the task's rounds begin.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator refuses.
    pub async fn activate(&self, task: TaskId) -> Result<(), DemoError> {
        self.api.change_task(task, TaskVerb::Activate).await?;
        Ok(())
    }

    /// Returns version `number` of the task's model, from 1, or `None` if it is not released yet.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator refuses.
    pub async fn committed(&self, task: TaskId, number: u64) -> Result<Option<Committed>, DemoError> {
        let page = Page { limit: 1, before: Some(number + 1) };
        let newest = self.api.versions(task, page).await?.pop();
        let Some(version) = newest.filter(|version| version.number == number) else { return Ok(None) };
        let Some(round_id) = version.round_id else { return Ok(None) };
        let round = self.api.round(round_id).await?.round;
        let onnx = self.api.download_model(task, Some(number)).await?.onnx;
        Ok(Some(Committed {
            round_number: round.number,
            cohort: round.cohort.unwrap_or_default(),
            reports: round.accepted.unwrap_or_default(),
            loss: version.mean_loss,
            seconds: version.created_at.milliseconds_since(round.created_at) as f64 / 1000.0,
            at: version.created_at,
            onnx,
        }))
    }
}
