use std::collections::BTreeMap;

use folkmoot_coordinator::{round::Purpose, task::NetworkClass};
use folkmoot_protocol::{TensorSchema, update::update_bytes};
use folkmoot_storage::{RoundRecord, UpdateTraffic};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the updates of a round cost in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoundStatsView {
    /// The round's number.
    pub number: u64,
    /// `training` or `evaluation`.
    pub purpose: String,
    /// The phase in which the round is.
    pub phase: String,
    /// All updates that count in it; absent for a task with `privacy`.
    pub all: Option<TrafficView>,
    /// The same by codec and kind of network; nothing for a task with `privacy`.
    pub classes: Vec<ClassTrafficView>,
}

/// Updates that travelled alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassTrafficView {
    /// The codec of most values, as tasks name it, or `float32`.
    pub codec: String,
    /// Over what kind of network the clients said that they are, by the attribute `network`: `ethernet`, `wifi`, `5g`, `4g`,
    /// `3g`, `2g`, `cellular`, `metered`, `other`, or `unknown` where they did not say.
    pub network: String,
    /// Their bytes.
    pub traffic: TrafficView,
}

/// The bytes of some updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrafficView {
    /// How many updates.
    pub updates: u64,
    /// The bytes in which they came.
    pub upload_bytes: u64,
    /// The bytes that they would have been as float32.
    pub float32_bytes: u64,
    /// How many of their clients have reported what they fetched.
    pub reports: u64,
    /// What these say that they fetched: what was cached does not count.
    pub download_bytes: u64,
}

impl TrafficView {
    /// Returns the share of float32's bytes in which the updates came.
    pub fn ratio(&self) -> Option<f64> {
        (self.float32_bytes > 0).then(|| self.upload_bytes as f64 / self.float32_bytes as f64)
    }

    /// Adds an update. What a client reports may be any number.
    fn add(&mut self, update: &UpdateTraffic, float32_bytes: u64) {
        self.updates += 1;
        self.upload_bytes = self.upload_bytes.saturating_add(update.bytes);
        self.float32_bytes = self.float32_bytes.saturating_add(float32_bytes);
        if let Some(report) = &update.report {
            self.reports += 1;
            self.download_bytes = self.download_bytes.saturating_add(report.download_bytes);
        }
    }
}

impl RoundStatsView {
    /// Counts what a round's updates cost, if it may be told.
    pub fn of(record: &RoundRecord, schema: &TensorSchema, traffic: Option<&[UpdateTraffic]>) -> Self {
        let elements = match record.round.purpose {
            Purpose::Training => schema.parameter_count(),
            Purpose::Evaluation => 0,
        };
        let float32_bytes = update_bytes(elements).unwrap_or(u64::MAX);
        let mut all = TrafficView::default();
        let mut classes: BTreeMap<(&str, NetworkClass), TrafficView> = BTreeMap::new();
        for update in traffic.into_iter().flatten() {
            all.add(update, float32_bytes);
            let class = (update.codec.as_str(), NetworkClass::of(&update.slices));
            classes.entry(class).or_default().add(update, float32_bytes);
        }
        let class = |((codec, network), traffic): ((&str, NetworkClass), TrafficView)| ClassTrafficView {
            codec: codec.into(),
            network: network.name().into(),
            traffic,
        };
        Self {
            number: record.round.number,
            purpose: record.round.purpose.name().into(),
            phase: record.round.phase.name().into(),
            all: traffic.map(|_| all),
            classes: classes.into_iter().map(class).collect(),
        }
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
        let stats = RoundStatsView::of(&record(Purpose::Training), &schema(), Some(&traffic));
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
        let stats = RoundStatsView::of(&record(Purpose::Evaluation), &schema(), Some(&measured));
        assert_eq!(stats.all.unwrap().ratio(), Some(1.0));
        let private = RoundStatsView::of(&record(Purpose::Training), &schema(), None);
        assert_eq!((private.all, private.classes), (None, vec![]));
    }
}
