//! What the console looks at, for whoever looks from elsewhere.

use folkmoot_protocol::{BlobDigest, PopulationName, RoundId, TaskId};

use super::{AdminClient, AdminError};
use crate::{
    models::{ModelGraphView, ModelSummary},
    overview::OverviewView,
    populations::ClientsView,
    rounds::RoundAssignmentsView,
    system::SystemView,
    tasks::SeriesView,
};

impl AdminClient {
    /// Shows how a task went, version after version.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn series(&self, id: TaskId, points: u64) -> Result<SeriesView, AdminError> {
        self.get(&format!("tasks/{id}/series?points={points}")).await
    }

    /// Shows a round's assignments on the clock.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn round_assignments(&self, id: RoundId) -> Result<RoundAssignmentsView, AdminError> {
        self.get(&format!("rounds/{id}/assignments")).await
    }

    /// Lists the newest models.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn models(&self) -> Result<Vec<ModelSummary>, AdminError> {
        self.get("models").await
    }

    /// Shows what is in a model's file.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn model_graph(&self, model: BlobDigest) -> Result<ModelGraphView, AdminError> {
        self.get(&format!("models/{model}/graph")).await
    }

    /// Shows what is going on.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn overview(&self) -> Result<OverviewView, AdminError> {
        self.get("overview").await
    }

    /// Shows how the process is.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn system(&self) -> Result<SystemView, AdminError> {
        self.get("system").await
    }

    /// Shows who a population's clients are, taken together.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn population_clients(&self, population: &PopulationName) -> Result<ClientsView, AdminError> {
        self.get(&format!("populations/{population}/clients")).await
    }
}
