//! Requests about rollouts.

use folkmoot_protocol::PopulationName;

use super::{AdminClient, AdminError};
use crate::populations::{ChangeRolloutRequest, CreateRolloutRequest, RolloutView};

impl AdminClient {
    /// Rolls a model version out to devices of a population.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn create_rollout(
        &self,
        population: &PopulationName,
        request: &CreateRolloutRequest,
    ) -> Result<RolloutView, AdminError> {
        self.send(&format!("populations/{population}/rollouts"), request).await
    }

    /// Lists at most `limit` rollouts of a population, newest first, those below the number `before` if it is given.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn rollouts(
        &self,
        population: &PopulationName,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Vec<RolloutView>, AdminError> {
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        self.get(&format!("populations/{population}/rollouts?limit={limit}{before}")).await
    }

    /// Changes a rollout.
    ///
    /// # Errors
    /// [`AdminError`] if the coordinator cannot be reached or refuses the request.
    pub async fn change_rollout(
        &self,
        population: &PopulationName,
        number: u64,
        request: &ChangeRolloutRequest,
    ) -> Result<RolloutView, AdminError> {
        self.send(&format!("populations/{population}/rollouts/{number}"), request).await
    }
}
