use std::collections::BTreeMap;

use folkmoot_api::stats::{ClassTrafficView, RoundStatsView, TrafficView};
use folkmoot_coordinator::round::Purpose;
use folkmoot_protocol::{TensorSchema, update::update_bytes};
use folkmoot_rounds::combine::NetworkClass;
use folkmoot_storage::{RoundRecord, UpdateTraffic};

/// Adds up the traffic of a round's updates, in total and by codec and network. `traffic` is `None` for a private task.
pub fn stats_view(
    record: &RoundRecord,
    schema: &TensorSchema,
    traffic: Option<&[UpdateTraffic]>,
) -> RoundStatsView {
    let elements = match record.round.purpose {
        Purpose::Training => schema.parameter_count(),
        Purpose::Evaluation => 0,
    };
    let float32_bytes = update_bytes(elements).unwrap_or(u64::MAX);
    let mut all = TrafficView::default();
    let mut classes: BTreeMap<(&str, NetworkClass), TrafficView> = BTreeMap::new();
    for update in traffic.into_iter().flatten() {
        add(&mut all, update, float32_bytes);
        let class = (update.codec.as_str(), NetworkClass::of(&update.slices));
        add(classes.entry(class).or_default(), update, float32_bytes);
    }
    let class = |((codec, network), traffic): ((&str, NetworkClass), TrafficView)| ClassTrafficView {
        codec: codec.into(),
        network: network.name().into(),
        traffic,
    };
    RoundStatsView {
        number: record.round.number,
        purpose: record.round.purpose.name().into(),
        phase: record.round.phase.name().into(),
        all: traffic.map(|_| all),
        classes: classes.into_iter().map(class).collect(),
    }
}

/// Adds the traffic of one update. The sums saturate, because clients may report any number of bytes.
fn add(traffic: &mut TrafficView, update: &UpdateTraffic, float32_bytes: u64) {
    traffic.updates += 1;
    traffic.upload_bytes = traffic.upload_bytes.saturating_add(update.bytes);
    traffic.float32_bytes = traffic.float32_bytes.saturating_add(float32_bytes);
    if let Some(report) = &update.report {
        traffic.reports += 1;
        traffic.download_bytes = traffic.download_bytes.saturating_add(report.download_bytes);
    }
}

#[cfg(test)]
#[path = "../../../../tests/unit/stats_view.rs"]
mod tests;
