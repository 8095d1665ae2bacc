//! How the API shows a population.

use folkmoot_privacy::{Delta, Epsilon, Unit};
use folkmoot_protocol::{PopulationName, Timestamp};
use folkmoot_storage::PopulationRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// All clients that are enrolled for one app's data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PopulationView {
    /// Its name.
    pub name: PopulationName,
    /// How many clients are enrolled; revoked ones do not count.
    pub client_count: u64,
    /// Whom the promises of its tasks protect: `client` or `user`.
    #[schema(value_type = String)]
    pub unit: Unit,
    /// What all its tasks together may spend of a client or user; none if only the tasks' own budgets end them.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta of that epsilon.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl PopulationView {
    /// Shows a population in which so many clients are enrolled.
    pub fn of(record: PopulationRecord, client_count: u64) -> Self {
        let budget = record.privacy.budget;
        Self {
            name: record.name,
            client_count,
            unit: record.privacy.unit,
            epsilon: budget.map(|budget| budget.epsilon),
            delta: budget.map(|budget| budget.delta),
            created_at: record.created_at,
        }
    }
}
