//! Evaluations as the API shows them.

use std::collections::BTreeMap;

use folkmoot_api::evaluations::{EvaluationView, SliceView};
use folkmoot_coordinator::task::Measured;
use folkmoot_protocol::{ClassReport, Metric};
use folkmoot_storage::{EvaluationRecord, EvaluationSource};

/// Why a federated evaluation has no metrics besides loss and accuracy.
const MISSING: &str = "Only loss and accuracy are known, because at least one client reported no other sums. Its SDK is \
                       older, the app's own training loop evaluated, or its labels allow no other metric.";

/// The figures of federated evaluations that the API may show. It always shows figures about the operator's own
/// examples.
#[derive(Clone, Copy, Debug)]
pub struct Disclosed {
    /// True if the API may show exact counts of the clients' examples.
    pub counts: bool,
    /// True if the API may show the measurements of the task's clients.
    pub measured: bool,
}

impl Disclosed {
    /// Returns the evaluations of versions on all clients, without slices. `metric` decides which is the best.
    pub fn evaluations(self, records: &[EvaluationRecord], metric: Metric) -> Vec<EvaluationView> {
        let best = [EvaluationSource::Central, EvaluationSource::Federated, EvaluationSource::FineTuned]
            .map(|source| (source, best(records, source, metric)));
        let view = |record: &EvaluationRecord| EvaluationView {
            version: record.version,
            source: record.source.name().into(),
            client_count: record.client_count,
            example_count: self.example_count(record),
            mean_loss: self.value(record, Metric::Loss),
            accuracy: self.value(record, Metric::Accuracy),
            metrics: self.metrics(record),
            metrics_missing: self.missing(record),
            metric: metric.name().into(),
            is_best: best.contains(&(record.source, Some(record.version))),
            slices: Vec::new(),
            created_at: record.created_at,
        };
        records.iter().map(view).collect()
    }

    /// Returns the evaluation of a slice.
    pub fn slice(self, record: &EvaluationRecord) -> SliceView {
        SliceView {
            slice: record.slice.clone(),
            client_count: record.client_count,
            example_count: self.example_count(record),
            mean_loss: self.value(record, Metric::Loss),
            accuracy: self.value(record, Metric::Accuracy),
            metrics: self.metrics(record),
        }
    }

    /// Returns the predictions of each class. They are exact counts of examples, and are withheld like other counts.
    pub fn classes(self, record: &EvaluationRecord) -> Option<ClassReport> {
        record.classes.clone().filter(|_| is_own(record) || (self.counts && self.measured))
    }

    fn example_count(self, record: &EvaluationRecord) -> Option<u64> {
        (is_own(record) || self.counts).then_some(record.metrics.example_count)
    }

    fn value(self, record: &EvaluationRecord, metric: Metric) -> Option<f64> {
        record.value(metric).filter(|_| is_own(record) || self.measured)
    }

    fn metrics(self, record: &EvaluationRecord) -> BTreeMap<String, f64> {
        let named = |metric: Metric| Some((metric.name().to_owned(), self.value(record, metric)?));
        Metric::ALL.into_iter().filter_map(named).collect()
    }

    fn missing(self, record: &EvaluationRecord) -> Option<String> {
        (!is_own(record) && self.measured && record.values.is_empty()).then(|| MISSING.to_owned())
    }
}

/// Returns whether the evaluation is on the operator's own examples.
fn is_own(record: &EvaluationRecord) -> bool {
    record.source == EvaluationSource::Central
}

/// Returns the number of the version with the best evaluation from `source`.
fn best(records: &[EvaluationRecord], source: EvaluationSource, metric: Metric) -> Option<u64> {
    let of_source = records.iter().filter(|one| one.source == source);
    let measured: Vec<Measured> = of_source
        .filter_map(|one| {
            let loss = one.value(Metric::Loss);
            Some(Measured { version: one.version, metric, value: one.value(metric)?, loss })
        })
        .collect();
    Measured::best(&measured).map(|best| best.version)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{MetricValues, OrganisationId, TaskId, Timestamp, update::UpdateMetrics};

    use super::*;

    fn record(source: EvaluationSource, has_sums: bool) -> EvaluationRecord {
        let values =
            [(Metric::Accuracy, Some(0.75)), (Metric::Loss, Some(0.5)), (Metric::F1Macro, Some(0.25))];
        EvaluationRecord {
            organisation_id: OrganisationId::from_random_bytes([1; 16]),
            task_id: TaskId::from_random_bytes([2; 16]),
            version: 3,
            source,
            slice: String::new(),
            client_count: 9,
            metrics: UpdateMetrics { example_count: 12, loss_sum: 6.0, correct_count: 9, step_count: 0 },
            values: if has_sums { MetricValues::new(values) } else { MetricValues::default() },
            classes: has_sums.then(ClassReport::default),
            created_at: Timestamp(1),
        }
    }

    fn view(record: &EvaluationRecord, disclosed: Disclosed) -> EvaluationView {
        disclosed.evaluations(std::slice::from_ref(record), Metric::F1Macro).remove(0)
    }

    const OPEN: Disclosed = Disclosed { counts: true, measured: true };

    #[test]
    fn metrics_of_clients_are_shown_where_loss_and_accuracy_are() {
        let federated = record(EvaluationSource::Federated, true);
        for (counts, measured) in [(true, true), (false, true), (true, false), (false, false)] {
            let disclosed = Disclosed { counts, measured };
            let (seen, slice) = (view(&federated, disclosed), disclosed.slice(&federated));
            assert_eq!(seen.metrics.len(), if measured { 3 } else { 0 });
            assert_eq!(seen.metrics, slice.metrics);
            for (value, expected) in [(seen.accuracy, 0.75), (slice.accuracy, 0.75), (seen.mean_loss, 0.5)] {
                assert_eq!(value, measured.then_some(expected));
            }
            assert_eq!([seen.example_count, slice.example_count], [counts.then_some(12); 2]);
            // Counts of classes add up to the number of examples.
            assert_eq!(disclosed.classes(&federated).is_some(), counts && measured);
            // The operator's own examples are not the clients'.
            let own = record(EvaluationSource::Central, true);
            assert_eq!(
                (view(&own, disclosed).metrics.len(), view(&own, disclosed).example_count),
                (3, Some(12))
            );
            assert!(disclosed.classes(&own).is_some());
        }
    }

    #[test]
    fn the_reason_for_missing_metrics_is_shown() {
        let (old, new) =
            (record(EvaluationSource::Federated, false), record(EvaluationSource::Federated, true));
        let seen = view(&old, OPEN);
        assert_eq!(seen.metrics.keys().collect::<Vec<_>>(), ["accuracy", "loss"]);
        assert_eq!((seen.metrics_missing.as_deref(), seen.is_best), (Some(MISSING), false));
        assert_eq!((view(&new, OPEN).metrics_missing, view(&new, OPEN).is_best), (None, true));
        assert_eq!(view(&old, Disclosed { measured: false, ..OPEN }).metrics_missing, None);
        assert_eq!(view(&record(EvaluationSource::Central, false), OPEN).metrics_missing, None);
    }
}
