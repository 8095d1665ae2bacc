//! Rollouts: the models that apps should use.

pub(crate) mod change;
pub(crate) mod create;
pub(crate) mod list;

use folkmoot_api::populations::RolloutView;
use folkmoot_coordinator::rollout::Share;
use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_storage::RolloutRecord;

fn view(record: RolloutRecord) -> RolloutView {
    RolloutView {
        population: record.population,
        number: record.number,
        channel: record.channel,
        task_id: record.task_id,
        version: record.version,
        share: record.share.fraction(),
        failures_max: record.failures_max.fraction(),
        held: record.held,
        loaded: record.reports.loaded,
        failed: record.reports.failed,
        last_failure: record.last_failure,
        created_at: record.created_at,
    }
}

fn share(name: &str, fraction: f64) -> Result<Share, Refusal> {
    Share::new(fraction).ok_or_else(|| {
        Refusal::new(ErrorCode::MalformedRequest, format!("{name} is {fraction}; it must be from 0 to 1"))
    })
}
