//! A typed client of the administrative API, for the command line, tests and whoever scripts a coordinator.

mod clients;
mod error;
mod look;
mod request;

use std::time::Duration;

pub use error::{AdminError, with_causes};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::task::{TaskDescription, TaskFilter};
use folkmoot_protocol::{BlobDigest, PopulationName, Role, RoundId, TaskId};
use reqwest::{Method, Url};

use crate::{
    api_keys::{ApiKeyView, CreatedApiKey},
    evaluation_data::EvaluationDataView,
    evaluations::EvaluationView,
    models::ModelView,
    populations::{PopulationView, SetPrivacyRequest},
    privacy::EntryView,
    rounds::{RoundFunnelView, RoundView},
    statement::Statement,
    stats::RoundStatsView,
    tasks::{CheckTaskRequest, CheckTaskView, CreateTaskRequest, RollBackRequest, TaskSummary, TaskView},
    tokens::{CreateTokenRequest, CreatedToken, TokenView},
    versions::VersionView,
};

/// How long the coordinator may take to answer a control message.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to one coordinator under one API key. Copies share it.
#[derive(Clone)]
pub struct AdminClient {
    http: reqwest::Client,
    base: Url,
    api_key: String,
}

/// What an operator may do to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskVerb {
    /// Start a draft.
    Activate,
    /// Hold it.
    Pause,
    /// Let it go on.
    Resume,
    /// End it for good.
    Cancel,
}

impl TaskVerb {
    fn as_str(self) -> &'static str {
        match self {
            TaskVerb::Activate => "activate",
            TaskVerb::Pause => "pause",
            TaskVerb::Resume => "resume",
            TaskVerb::Cancel => "cancel",
        }
    }
}

/// A model version as ONNX.
#[derive(Clone, Debug)]
pub struct DownloadedModel {
    /// The version's number.
    pub number: u64,
    /// The ONNX file.
    pub onnx: Vec<u8>,
}

/// A part of a list, newest first.
#[derive(Clone, Copy, Debug)]
pub struct Page<C> {
    /// How many, at most 100.
    pub limit: u32,
    /// Those before this one; none for the newest.
    pub before: Option<C>,
}

impl AdminClient {
    /// Makes a client. `ca_pem` is the only certificate that may vouch for the coordinator, if it is given.
    ///
    /// # Errors
    /// [`AdminError::Address`] or [`AdminError::Certificate`] if one of them cannot be used.
    pub fn new(url: &str, api_key: &str, ca_pem: Option<Vec<u8>>) -> Result<Self, AdminError> {
        let http = build_http(&HttpSettings { certificate_pem: ca_pem, http1_only: false })?;
        Ok(Self { http, base: request::parse_base(url)?, api_key: api_key.trim().to_owned() })
    }

    /// Brings an ONNX model.
    ///
    /// # Errors
    /// [`AdminError`], as all other methods here.
    pub async fn create_model(&self, onnx: Vec<u8>) -> Result<ModelView, AdminError> {
        self.send_bytes("models", onnx).await
    }

    /// Makes a task, and starts it if `activate` says so.
    ///
    /// # Errors
    /// [`AdminError`]; a description with faults is refused with all of them.
    pub async fn create_task(
        &self,
        description: TaskDescription,
        model: BlobDigest,
        activate: bool,
    ) -> Result<TaskView, AdminError> {
        let request =
            CreateTaskRequest { description, model, evaluation_data: None, warm_start: None, activate };
        self.create_task_from(&request).await
    }

    /// Makes a task with all that goes with it.
    ///
    /// # Errors
    /// As [`AdminClient::create_task`].
    pub async fn create_task_from(&self, request: &CreateTaskRequest) -> Result<TaskView, AdminError> {
        self.send("tasks", request).await
    }

    /// Brings examples on which the coordinator evaluates, in the form that a coordinator keeps.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn create_evaluation_data(&self, examples: Vec<u8>) -> Result<EvaluationDataView, AdminError> {
        self.send_bytes("evaluation-data", examples).await
    }

    /// Lists tasks, newest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn tasks(&self, page: Page<TaskId>) -> Result<Vec<TaskSummary>, AdminError> {
        self.get(&paged("tasks", page)).await
    }

    /// Lists the tasks that pass a filter, newest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn tasks_like(
        &self,
        filter: &TaskFilter,
        page: Page<TaskId>,
    ) -> Result<Vec<TaskSummary>, AdminError> {
        let population = filter.population.as_ref().map(ToString::to_string);
        let asked = [("state", &filter.state), ("population", &population), ("name", &filter.name)];
        let asked = asked.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let query: String = asked.map(|(key, value)| format!("&{key}={}", request::segment(value))).collect();
        self.get(&format!("{}{query}", paged("tasks", page))).await
    }

    /// Makes a new version with the weights of an earlier one.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn roll_back(&self, id: TaskId, version: u64) -> Result<TaskView, AdminError> {
        self.send(&format!("tasks/{id}/roll-back"), &RollBackRequest { version }).await
    }

    /// Lists every fault of a task that might be made.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn check_task(&self, request: &CheckTaskRequest) -> Result<CheckTaskView, AdminError> {
        self.send("tasks/check", request).await
    }

    /// Shows a task.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn task(&self, id: TaskId) -> Result<TaskView, AdminError> {
        self.get(&format!("tasks/{id}")).await
    }

    /// Starts, holds, resumes or ends a task.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn change_task(&self, id: TaskId, verb: TaskVerb) -> Result<TaskView, AdminError> {
        self.ask(Method::POST, &format!("tasks/{id}/{}", verb.as_str())).await
    }

    /// Lists a task's rounds, newest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn rounds(&self, task: TaskId, page: Page<u64>) -> Result<Vec<RoundView>, AdminError> {
        self.get(&paged(&format!("tasks/{task}/rounds"), page)).await
    }

    /// Lists what the updates of a task's rounds cost in bytes, newest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn stats(&self, task: TaskId, page: Page<u64>) -> Result<Vec<RoundStatsView>, AdminError> {
        self.get(&paged(&format!("tasks/{task}/stats"), page)).await
    }

    /// Shows a round with what became of its assignments.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn round(&self, id: RoundId) -> Result<RoundFunnelView, AdminError> {
        self.get(&format!("rounds/{id}")).await
    }

    /// Lists a task's model versions, newest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn versions(&self, task: TaskId, page: Page<u64>) -> Result<Vec<VersionView>, AdminError> {
        self.get(&paged(&format!("tasks/{task}/versions"), page)).await
    }

    /// Lists what was measured of a task's versions, the oldest first.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn evaluations(&self, task: TaskId) -> Result<Vec<EvaluationView>, AdminError> {
        self.get(&format!("tasks/{task}/evaluations")).await
    }

    /// Brings a model version as ONNX; the newest one without a number.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn download_model(
        &self,
        task: TaskId,
        number: Option<u64>,
    ) -> Result<DownloadedModel, AdminError> {
        let number = number.map_or_else(|| "latest".to_owned(), |number| number.to_string());
        self.get_model(&format!("tasks/{task}/versions/{number}/model")).await
    }

    /// Lists populations.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn populations(&self) -> Result<Vec<PopulationView>, AdminError> {
        self.get("populations").await
    }

    /// Says whom the promises in a population protect, and what all its tasks together may spend.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn set_population_privacy(
        &self,
        population: &PopulationName,
        request: &SetPrivacyRequest,
    ) -> Result<PopulationView, AdminError> {
        self.send(&format!("populations/{population}/privacy"), request).await
    }

    /// Says what a task promises its clients, and what it has spent.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn privacy(&self, task: TaskId) -> Result<Statement, AdminError> {
        self.get(&format!("tasks/{task}/privacy")).await
    }

    /// Lists the entries of a population's privacy ledger after a place, the oldest first, at most `limit`.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn ledger(
        &self,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> Result<Vec<EntryView>, AdminError> {
        self.get(&format!("populations/{population}/ledger?limit={limit}&after={after}")).await
    }

    /// Makes an enrolment token, for 1,000 clients and 30 days if nothing is said.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn create_token(
        &self,
        population: PopulationName,
        uses_max: Option<u64>,
        expires_in_seconds: Option<u64>,
    ) -> Result<CreatedToken, AdminError> {
        let request =
            CreateTokenRequest { uses_max, expires_in_seconds, ..CreateTokenRequest::of(population) };
        self.create_token_from(&request).await
    }

    /// Makes an enrolment token with all that it may say.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn create_token_from(&self, request: &CreateTokenRequest) -> Result<CreatedToken, AdminError> {
        self.send("tokens", request).await
    }

    /// Lists enrolment tokens.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn tokens(&self) -> Result<Vec<TokenView>, AdminError> {
        self.get("tokens").await
    }

    /// Revokes an enrolment token.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn revoke_token(&self, id: &str) -> Result<(), AdminError> {
        self.ask_nothing(Method::DELETE, &format!("tokens/{}", request::segment(id))).await
    }

    /// Makes an API key.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn create_api_key(&self, name: &str, role: Role) -> Result<CreatedApiKey, AdminError> {
        // As it was typed: which names there may be is the coordinator's to say.
        self.send("api-keys", &serde_json::json!({ "name": name, "role": role })).await
    }

    /// Lists API keys.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn api_keys(&self) -> Result<Vec<ApiKeyView>, AdminError> {
        self.get("api-keys").await
    }

    /// Revokes an API key.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn revoke_api_key(&self, id: &str) -> Result<(), AdminError> {
        self.ask_nothing(Method::DELETE, &format!("api-keys/{}", request::segment(id))).await
    }
}

fn paged<C: ToString>(path: &str, page: Page<C>) -> String {
    let before = page.before.map(|before| format!("&before={}", before.to_string())).unwrap_or_default();
    format!("{path}?limit={}{before}", page.limit)
}
