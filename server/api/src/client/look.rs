//! Requests for the data that the console shows.

use std::fmt::Display;

use folkmoot_protocol::{PopulationName, TaskId};

use super::{AdminClient, AdminError, request};
use crate::{
    models::{ModelGraphView, ModelSummary},
    overview::OverviewView,
    populations::ClientsView,
    rounds::RoundAssignmentsView,
    system::SystemView,
    tasks::SeriesView,
};

impl AdminClient {
    /// Returns the history of a task: the metrics of about `points` versions, evenly spaced.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn series(&self, id: TaskId, points: u64) -> Result<SeriesView, AdminError> {
        self.get(&format!("tasks/{id}/series?points={points}")).await
    }

    /// Returns the assignments of a round, by its id or the beginning of it, with their start and end times.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn round_assignments(&self, id: impl Display) -> Result<RoundAssignmentsView, AdminError> {
        self.get(&format!("rounds/{}/assignments", request::segment(id))).await
    }

    /// Lists the newest 100 models, newest first.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn models(&self) -> Result<Vec<ModelSummary>, AdminError> {
        self.get("models").await
    }

    /// Returns the nodes, parameters and computing cost of an uploaded model, by its digest, the beginning of its digest or
    /// its name.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn model_graph(&self, model: impl Display) -> Result<ModelGraphView, AdminError> {
        self.get(&format!("models/{}/graph", request::segment(model))).await
    }

    /// Returns a summary of the coordinator's activity.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn overview(&self) -> Result<OverviewView, AdminError> {
        self.get("overview").await
    }

    /// Returns the state of the coordinator's process and its recent log lines.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn system(&self) -> Result<SystemView, AdminError> {
        self.get("system").await
    }

    /// Returns statistics about a population's clients.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn population_clients(&self, population: &PopulationName) -> Result<ClientsView, AdminError> {
        self.get(&format!("populations/{population}/clients")).await
    }
}
