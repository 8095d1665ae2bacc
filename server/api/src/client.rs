//! A typed client of the administrative API, for the command line, tests and scripts.

mod access;
mod aggregators;
mod clients;
mod endorsements;
mod error;
mod look;
mod request;
mod rollouts;
mod session;
mod sites;

use std::time::Duration;

pub use error::{AdminError, with_causes};
use folkmoot_client::{HttpSettings, build_http};
use folkmoot_coordinator::task::{TaskDescription, TaskFilter};
use folkmoot_protocol::{BlobDigest, PopulationName, RoundId, TaskId};
use reqwest::{Method, Url};

use crate::{
    audit::AuditPageView,
    components::ComponentView,
    evaluation_data::EvaluationDataView,
    evaluations::{ClassEvaluationView, EvaluationView},
    models::{ModelPartsView, ModelView},
    populations::{PopulationView, SetPrivacyRequest},
    privacy::EntryView,
    rounds::{RoundFunnelView, RoundView},
    statement::Statement,
    stats::RoundStatsView,
    tasks::{CheckTaskRequest, CheckTaskView, CreateTaskRequest, RollBackRequest, TaskSummary, TaskView},
    tokens::{CreateTokenRequest, CreatedToken, TokenView},
    versions::VersionView,
};

/// The timeout of a request. File uploads and model downloads have no timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to one coordinator with one API key or session. Clones share the connection pool.
#[derive(Clone)]
pub struct AdminClient {
    http: reqwest::Client,
    base: Url,
    api_key: String,
}

/// A change of a task's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskVerb {
    /// Start a draft task.
    Activate,
    /// Pause the task.
    Pause,
    /// Resume a paused task.
    Resume,
    /// Cancel the task. It cannot be resumed.
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

/// Selects a page of a list that is sorted from newest to oldest.
#[derive(Clone, Copy, Debug)]
pub struct Page<C> {
    /// The maximum number of items to return: 1 to 100.
    pub limit: u32,
    /// The last item of the previous page; `None` starts with the newest item.
    pub before: Option<C>,
}

impl AdminClient {
    /// Creates a client. `api_key` is a key or the session of a person, as `ID.SECRET`; if it is empty, only requests
    /// that need none succeed. If `ca_pem` is given, it is the only root certificate that the client trusts.
    ///
    /// # Errors
    /// [`AdminError::Address`] if `url` is invalid, [`AdminError::Certificate`] if `ca_pem` is invalid.
    pub fn new(url: &str, api_key: &str, ca_pem: Option<Vec<u8>>) -> Result<Self, AdminError> {
        let http = build_http(&HttpSettings { certificate_pem: ca_pem, ..HttpSettings::default() })?;
        Ok(Self { http, base: request::parse_base(url)?, api_key: api_key.trim().to_owned() })
    }

    /// Uploads an ONNX model.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_model(&self, onnx: Vec<u8>) -> Result<ModelView, AdminError> {
        self.send_bytes("models", onnx).await
    }

    /// Uploads an ONNX model with a display name, or renames it if the organisation has the same model.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_model_named(&self, onnx: Vec<u8>, name: &str) -> Result<ModelView, AdminError> {
        self.send_bytes(&format!("models?name={}", request::segment(name)), onnx).await
    }

    /// Returns instructions to join an ONNX file and its data files into one file. Stores nothing.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn model_parts(&self, onnx: Vec<u8>) -> Result<ModelPartsView, AdminError> {
        self.send_bytes("models/parts", onnx).await
    }

    /// Creates a task, and starts it if `activate` is true.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request. If the description is invalid, the
    /// error lists every fault.
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

    /// Creates a task, optionally with evaluation data or initial weights from another task.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request. If the description is invalid, the
    /// error lists every fault.
    pub async fn create_task_from(&self, request: &CreateTaskRequest) -> Result<TaskView, AdminError> {
        self.send("tasks", request).await
    }

    /// Uploads examples for central evaluation, in the coordinator's own file format.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_evaluation_data(&self, examples: Vec<u8>) -> Result<EvaluationDataView, AdminError> {
        self.send_bytes("evaluation-data", examples).await
    }

    /// Uploads a component.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_component(&self, component: Vec<u8>) -> Result<ComponentView, AdminError> {
        self.send_bytes("components", component).await
    }

    /// Lists tasks, newest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn tasks(&self, page: Page<TaskId>) -> Result<Vec<TaskSummary>, AdminError> {
        self.get(&paged("tasks", page)).await
    }

    /// Lists the tasks that match a filter, newest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn tasks_like(
        &self,
        filter: &TaskFilter,
        page: Page<TaskId>,
    ) -> Result<Vec<TaskSummary>, AdminError> {
        let population = filter.population.as_ref().map(ToString::to_string);
        let asked = [
            ("state", &filter.state),
            ("population", &population),
            ("name", &filter.name),
            ("called", &filter.called),
        ];
        let asked = asked.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let query: String = asked.map(|(key, value)| format!("&{key}={}", request::segment(value))).collect();
        self.get(&format!("{}{query}", paged("tasks", page))).await
    }

    /// Rolls a paused task back: creates a new version with the weights of the earlier version `version`.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn roll_back(&self, id: TaskId, version: u64) -> Result<TaskView, AdminError> {
        self.send(&format!("tasks/{id}/roll-back"), &RollBackRequest { version }).await
    }

    /// Validates a task without creating it, and lists every fault.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn check_task(&self, request: &CheckTaskRequest) -> Result<CheckTaskView, AdminError> {
        self.send("tasks/check", request).await
    }

    /// Returns a task with its description and progress.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn task(&self, id: TaskId) -> Result<TaskView, AdminError> {
        self.get(&format!("tasks/{id}")).await
    }

    /// Starts, pauses, resumes or cancels a task.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn change_task(&self, id: TaskId, verb: TaskVerb) -> Result<TaskView, AdminError> {
        self.ask(Method::POST, &format!("tasks/{id}/{}", verb.as_str())).await
    }

    /// Lists a task's rounds, newest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn rounds(&self, task: TaskId, page: Page<u64>) -> Result<Vec<RoundView>, AdminError> {
        self.get(&paged(&format!("tasks/{task}/rounds"), page)).await
    }

    /// Lists the traffic of a task's rounds in bytes, newest round first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn stats(&self, task: TaskId, page: Page<u64>) -> Result<Vec<RoundStatsView>, AdminError> {
        self.get(&paged(&format!("tasks/{task}/stats"), page)).await
    }

    /// Returns a round with the outcomes of its assignments.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn round(&self, id: RoundId) -> Result<RoundFunnelView, AdminError> {
        self.get(&format!("rounds/{id}")).await
    }

    /// Lists a task's model versions, newest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn versions(&self, task: TaskId, page: Page<u64>) -> Result<Vec<VersionView>, AdminError> {
        self.get(&paged(&format!("tasks/{task}/versions"), page)).await
    }

    /// Lists the evaluations of a task's versions, oldest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn evaluations(&self, task: TaskId) -> Result<Vec<EvaluationView>, AdminError> {
        self.get(&format!("tasks/{task}/evaluations")).await
    }

    /// Lists the evaluations of a version, class by class. Without `number`, lists the evaluations of the newest
    /// version.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn class_evaluations(
        &self,
        task: TaskId,
        number: Option<u64>,
    ) -> Result<Vec<ClassEvaluationView>, AdminError> {
        let number = number.map_or_else(|| "latest".to_owned(), |number| number.to_string());
        self.get(&format!("tasks/{task}/evaluations/{number}")).await
    }

    /// Downloads a model version as ONNX. Without `number`, downloads the newest. `cluster`, counted from 1, is for a task with
    /// clusters; without it, downloads the model of the cluster with the largest share.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn download_model(
        &self,
        task: TaskId,
        number: Option<u64>,
        cluster: Option<u32>,
    ) -> Result<DownloadedModel, AdminError> {
        let number = number.map_or_else(|| "latest".to_owned(), |number| number.to_string());
        let query = cluster.map_or_else(String::new, |cluster| format!("?cluster={cluster}"));
        self.get_model(&format!("tasks/{task}/versions/{number}/model{query}")).await
    }

    /// Lists the populations of the API key's organisation, sorted by name.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn populations(&self) -> Result<Vec<PopulationView>, AdminError> {
        self.get("populations").await
    }

    /// Sets a population's unit of privacy and its total privacy budget over all tasks.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn set_population_privacy(
        &self,
        population: &PopulationName,
        request: &SetPrivacyRequest,
    ) -> Result<PopulationView, AdminError> {
        self.send(&format!("populations/{population}/privacy"), request).await
    }

    /// Returns a task's privacy statement: its guarantee and the budget that it has spent.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn privacy(&self, task: TaskId) -> Result<Statement, AdminError> {
        self.get(&format!("tasks/{task}/privacy")).await
    }

    /// Lists at most `limit` entries of a population's privacy ledger after sequence number `after`, oldest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn ledger(
        &self,
        population: &PopulationName,
        after: u64,
        limit: u32,
    ) -> Result<Vec<EntryView>, AdminError> {
        self.get(&format!("populations/{population}/ledger?limit={limit}&after={after}")).await
    }

    /// Lists at most `limit` entries of the audit log after number `after`, oldest first; without `after`, the newest.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn audit(&self, after: Option<u64>, limit: u32) -> Result<AuditPageView, AdminError> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        self.get(&format!("audit?limit={limit}{after}")).await
    }

    /// Creates an enrolment token. By default it enrols 1,000 clients and expires after 30 days.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
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

    /// Creates an enrolment token with the user and limits in `request`.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_token_from(&self, request: &CreateTokenRequest) -> Result<CreatedToken, AdminError> {
        self.send("tokens", request).await
    }

    /// Lists enrolment tokens, oldest first, without their secrets.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn tokens(&self) -> Result<Vec<TokenView>, AdminError> {
        self.get("tokens").await
    }

    /// Revokes an enrolment token. Clients that enrolled with the token stay enrolled.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn revoke_token(&self, id: &str) -> Result<(), AdminError> {
        self.ask_nothing(Method::DELETE, &format!("tokens/{}", request::segment(id))).await
    }
}

fn paged<C: ToString>(path: &str, page: Page<C>) -> String {
    let before = page.before.map(|before| format!("&before={}", before.to_string())).unwrap_or_default();
    format!("{path}?limit={}{before}", page.limit)
}
