//! An operator's part of a load test: a population, a token and a task that exist only for the test.

use folkmoot_api::{AdminClient, client::TaskVerb, tokens::CreateTokenRequest};
use folkmoot_engine::onnx::build::single_tensor;
use folkmoot_protocol::{PopulationName, TaskId};
use serde_json::json;

use super::{LoadError, args::Settings, devices::Target};

/// The population whose clients are the devices of load tests.
const POPULATION: &str = "load-test";
/// The number of rounds of the task: more than a test can run.
const ROUNDS: u64 = 1_000_000_000;
/// The deadline of a round, so that slow uploads do not hold it up.
const ROUND_SECONDS: u64 = 60;

/// Everything that was created for the test.
pub struct Rehearsal {
    admin: AdminClient,
    token_id: String,
    /// The enrolment token, as ID.SECRET.
    pub token: String,
    task: Option<TaskId>,
}

impl Rehearsal {
    /// Creates a token for [`POPULATION`] that is as long as the test needs, and a task if devices upload.
    ///
    /// # Errors
    /// [`LoadError::Admin`] if the coordinator refuses, for example because of the key's role.
    pub async fn begin(target: &Target, api_key: &str, settings: &Settings) -> Result<Self, LoadError> {
        let admin = AdminClient::new(target.url(), api_key, target.certificate_pem().map(<[u8]>::to_vec))?;
        let population: PopulationName = POPULATION.parse().expect("a constant name is valid");
        let request = CreateTokenRequest {
            uses_max: Some(settings.devices.into()),
            ..CreateTokenRequest::of(population.clone())
        };
        let created = admin.create_token_from(&request).await?;
        let mut rehearsal = Self { admin, token_id: created.record.id, token: created.token, task: None };
        if let Some(parameters) = settings.parameters
            && let Err(error) = rehearsal.create_task(population, parameters as usize, settings).await
        {
            // The first error says more than an error of the clean-up.
            let _ = rehearsal.end().await;
            return Err(error);
        }
        Ok(rehearsal)
    }

    async fn create_task(
        &mut self,
        population: PopulationName,
        parameters: usize,
        settings: &Settings,
    ) -> Result<(), LoadError> {
        let model = self.admin.create_model(single_tensor(parameters)).await?;
        // Half of the devices that usually wait, so that a round closes although some drop out.
        let waiting = if settings.connected() > 0 { settings.connected() } else { settings.storming() };
        let description = serde_json::from_value(json!({
            "name": POPULATION,
            "population": population,
            "plan": {
                "loss": "mean_squared_error", "optimizer": { "sgd": { "learning_rate": 0.1 } },
                "epochs": 1, "batch_size": 1,
            },
            "scheduling": {
                "kind": "synchronous",
                "report_goal": waiting.div_ceil(2),
                "over_selection_factor": 1.0,
                "reporting_deadline_seconds": ROUND_SECONDS,
            },
            "stop": { "rounds": ROUNDS },
        }))?;
        self.task = Some(self.admin.create_task(description, model.model, true).await?.id);
        Ok(())
    }

    /// Cancels the task, and revokes the token and its devices.
    ///
    /// # Errors
    /// [`LoadError::Admin`] if the coordinator refuses or cannot be reached.
    pub async fn end(self) -> Result<(), LoadError> {
        let cancelled = match self.task {
            Some(task) => self.admin.change_task(task, TaskVerb::Cancel).await.map(drop),
            None => Ok(()),
        };
        self.admin.revoke_token_and_clients(&self.token_id).await?;
        Ok(cancelled?)
    }
}
