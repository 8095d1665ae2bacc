//! The operator's part of the demo, through the administrative API: uploads the model, creates the task and the
//! token, and reads the results.

use folkmoot_api::{AdminClient, Page, TaskVerb};
use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{TaskId, Timestamp};

use super::error::DemoError;

/// The operator of the demo's coordinator.
pub struct Control {
    api: AdminClient,
}

/// A committed model version and its round.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The number of the round in its task.
    pub round_number: u64,
    /// The number of selected clients.
    pub cohort: u64,
    /// The number of combined updates.
    pub reports: u64,
    /// The mean training loss of the round's clients.
    pub loss: Option<f64>,
    /// The seconds from the opening of the round to its commit.
    pub seconds: f64,
    /// When the version was committed.
    pub at: Timestamp,
    /// The version as ONNX.
    pub onnx: Vec<u8>,
}

impl Control {
    /// Creates an operator that uses this API client.
    pub fn new(api: AdminClient) -> Self {
        Self { api }
    }

    /// Creates a token that lets `uses` clients enrol in the task's population.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_token(&self, description: &TaskDescription, uses: u32) -> Result<String, DemoError> {
        let population = description.population.clone();
        Ok(self.api.create_token(population, Some(u64::from(uses)), None).await?.token)
    }

    /// Uploads the model and creates the task as a draft.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_task(&self, onnx: &[u8], description: TaskDescription) -> Result<TaskId, DemoError> {
        let model = self.api.create_model(onnx.to_vec()).await?.model;
        Ok(self.api.create_task(description, model, false).await?.id)
    }

    /// Activates the task.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator cannot be reached or refuses the request.
    pub async fn activate(&self, task: TaskId) -> Result<(), DemoError> {
        self.api.change_task(task, TaskVerb::Activate).await?;
        Ok(())
    }

    /// Returns version `number` of the task's model, counted from 1, or `None` if it has not been committed yet.
    ///
    /// # Errors
    /// [`DemoError::Admin`] if the coordinator cannot be reached or refuses the request.
    pub async fn committed(&self, task: TaskId, number: u64) -> Result<Option<Committed>, DemoError> {
        let page = Page { limit: 1, before: Some(number + 1) };
        let newest = self.api.versions(task, page).await?.pop();
        let Some(version) = newest.filter(|version| version.number == number) else { return Ok(None) };
        let Some(round_id) = version.round_id else { return Ok(None) };
        let round = self.api.round(round_id).await?.round;
        let onnx = self.api.download_model(task, Some(number), None).await?.onnx;
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
