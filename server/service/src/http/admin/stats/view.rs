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
mod tests {
    use folkmoot_coordinator::round::{Phase, Round};
    use folkmoot_protocol::{
        OrganisationId, RoundId, TaskId, TensorSpec, Timestamp, messages::ReportRequest,
    };

    use super::*;

    fn record(purpose: Purpose) -> RoundRecord {
        RoundRecord {
            organisation_id: OrganisationId::from_random_bytes([2; 16]),
            round: Round {
                id: RoundId::from_random_bytes([4; 16]),
                task_id: TaskId::from_random_bytes([3; 16]),
                number: 7,
                purpose,
                base_version: 0,
                phase: Phase::Reporting { since: Timestamp(0), cohort: 5, asked: None },
            },
            updates_max: None,
            created_at: Timestamp(0),
            revision: 0,
        }
    }

    fn update(codec: &str, network: &str, bytes: u64, fetched: Option<u64>) -> UpdateTraffic {
        let report =
            |download_bytes| ReportRequest { training_milliseconds: 1, download_bytes, upload_bytes: bytes };
        UpdateTraffic {
            codec: codec.into(),
            slices: [("network".into(), network.into())].into(),
            bytes,
            report: fetched.map(report),
        }
    }

    fn schema() -> TensorSchema {
        TensorSchema { tensors: vec![TensorSpec { name: "weight".into(), shape: vec![100] }] }
    }

    #[test]
    fn every_update_is_in_one_class_and_in_all() {
        let traffic = [
            update("eden:4", "wifi", 200, Some(400)),
            update("float32", "4g", 512, None),
            update("eden:4", "wifi", 180, Some(u64::MAX)),
            update("eden:4", "my own", 190, None),
        ];
        let stats = stats_view(&record(Purpose::Training), &schema(), Some(&traffic));
        let all = stats.all.unwrap();
        assert_eq!((all.updates, all.upload_bytes, all.float32_bytes), (4, 1082, 4 * 512));
        assert_eq!((all.reports, all.download_bytes), (2, u64::MAX));
        let classes: Vec<_> = stats
            .classes
            .iter()
            .map(|one| (&*one.codec, &*one.network, one.traffic.updates, one.traffic.upload_bytes))
            .collect();
        assert_eq!(
            classes,
            [("eden:4", "wifi", 2, 380), ("eden:4", "other", 1, 190), ("float32", "4g", 1, 512)]
        );
        assert_eq!(stats.classes[0].traffic.ratio(), Some(380.0 / 1024.0));
        assert_eq!(TrafficView::default().ratio(), None);
    }

    #[test]
    fn an_evaluation_has_no_values_and_a_private_task_tells_nothing() {
        let measured = [update("float32", "wifi", 112, None)];
        let stats = stats_view(&record(Purpose::Evaluation), &schema(), Some(&measured));
        assert_eq!(stats.all.unwrap().ratio(), Some(1.0));
        let private = stats_view(&record(Purpose::Training), &schema(), None);
        assert_eq!((private.all, private.classes), (None, vec![]));
    }
}
