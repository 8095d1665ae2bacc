//! Tests of the private parts of `src/http/admin/stats/view.rs`.

use folkmoot_coordinator::round::{Phase, Round};
use folkmoot_protocol::{OrganisationId, RoundId, TaskId, TensorSpec, Timestamp, messages::ReportRequest};

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
    assert_eq!(classes, [("eden:4", "wifi", 2, 380), ("eden:4", "other", 1, 190), ("float32", "4g", 1, 512)]);
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
