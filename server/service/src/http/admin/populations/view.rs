//! The API's representation of a population.

use folkmoot_api::populations::PopulationView;
use folkmoot_storage::PopulationRecord;

/// Converts a population's record. `client_count` is the number of enrolled clients.
pub fn population_view(record: PopulationRecord, client_count: u64) -> PopulationView {
    let budget = record.privacy.budget;
    PopulationView {
        name: record.name,
        client_count,
        clients: record.clients,
        unit: record.privacy.unit,
        epsilon: budget.map(|budget| budget.epsilon),
        delta: budget.map(|budget| budget.delta),
        viewers_download: record.viewers_download,
        created_at: record.created_at,
    }
}
