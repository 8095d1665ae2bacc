//! Metrics over the examples of several clients, from the sums that the clients sent.

use folkmoot_aggregation::{EvaluationSum, sum_metrics};
use folkmoot_engine::{Evaluation, Metrics};
use folkmoot_protocol::{
    Loss,
    update::{
        HEADER_BYTES, UpdateMetrics,
        sums::{FineTuned, MetricSums},
    },
};
use folkmoot_round_log::{RoundLog, RoundLogError};
use folkmoot_storage::AcceptedUpdate;

use crate::ingest::read_tiles;

/// Computes every metric over the examples of these clients. `metrics` is the sum of the metrics in the headers of
/// their updates.
///
/// Returns `None` if a client sent no sums, because the metrics would then leave out its examples, or if the clients'
/// labels have different forms.
///
/// # Errors
/// Fails if the round log cannot be read. Sums that are no longer in the log count as not sent.
pub fn evaluation_of(
    log: &RoundLog,
    loss: Loss,
    metrics: &UpdateMetrics,
    updates: &[&AcceptedUpdate],
) -> Result<Option<Evaluation>, RoundLogError> {
    let mut sum = EvaluationSum::default();
    for update in updates {
        match sums_of(log, update)? {
            Some(sums) => sum.add(&sums),
            None => return Ok(None),
        }
    }
    Ok(sum.finish().and_then(|sums| Evaluation::of_sums(loss, engine_metrics(metrics), &sums)))
}

/// The metrics of clients before and after a fine-tuning.
pub struct BothMeasured {
    pub metrics: UpdateMetrics,
    /// Every metric before and after a fine-tuning. `None` if a client sent no sums, or the clients' labels have
    /// different forms.
    pub evaluations: Option<[Evaluation; 2]>,
}

/// Computes the sums of these clients' measurements before and after a fine-tuning. `metrics` is the sum of the metrics
/// in the headers of their updates. Returns `None` if an update is no longer in the log.
///
/// # Errors
/// Fails if the round log cannot be read.
pub fn both_measured(
    log: &RoundLog,
    loss: Loss,
    metrics: &UpdateMetrics,
    updates: &[&AcceptedUpdate],
) -> Result<Option<BothMeasured>, RoundLogError> {
    let mut measured = Vec::with_capacity(updates.len());
    for update in updates {
        let bytes = after_header(log, update)?;
        let Some(one) = bytes.and_then(|bytes| FineTuned::decode(&bytes).ok()) else { return Ok(None) };
        measured.push(one);
    }
    let after = sum_metrics(measured.iter().map(|one| &one.metrics));
    let evaluation = |place: usize, metrics: &UpdateMetrics| {
        let mut sum = EvaluationSum::default();
        for one in &measured {
            sum.add(&one.sums.as_ref()?[place]);
        }
        Evaluation::of_sums(loss, engine_metrics(metrics), &sum.finish()?)
    };
    let evaluations =
        evaluation(0, metrics).zip(evaluation(1, &after)).map(|(before, after)| [before, after]);
    Ok(Some(BothMeasured { metrics: after, evaluations }))
}

fn engine_metrics(metrics: &UpdateMetrics) -> Metrics {
    let UpdateMetrics { example_count, loss_sum, correct_count, step_count } = *metrics;
    Metrics { example_count, loss_sum, correct_count, step_count }
}

/// Reads the sums of one update from the log.
fn sums_of(log: &RoundLog, update: &AcceptedUpdate) -> Result<Option<MetricSums>, RoundLogError> {
    Ok(after_header(log, update)?.and_then(|bytes| MetricSums::decode(&bytes).ok()))
}

/// Reads the bytes after the header of an update. Returns `None` if there are none, or if they are no longer in the
/// log.
fn after_header(log: &RoundLog, update: &AcceptedUpdate) -> Result<Option<Vec<u8>>, RoundLogError> {
    let header_bytes = HEADER_BYTES as u64;
    if update.bytes <= header_bytes {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let range = header_bytes..update.bytes;
    match read_tiles(log, update.round_id, update.assignment_id, range, &mut |tile| {
        bytes.extend_from_slice(tile)
    }) {
        Ok(()) => Ok(Some(bytes)),
        Err(RoundLogError::NotFound(_) | RoundLogError::TooShort { .. }) => {
            tracing::warn!(assignment = %update.assignment_id, "the sums of an evaluation are no longer in the round log");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::{Examples, FitError, Labels, evaluate_predictions};
    use folkmoot_protocol::{Metric, update::sums::SumShape};
    use proptest::prelude::*;

    use super::*;

    /// The outputs and labels of one example. All are multiples of 1/8, so that sums of errors are exact.
    type Row = (i8, i8, i8, u8);

    fn loss_of(kind: usize) -> Loss {
        [Loss::SoftmaxCrossEntropy, Loss::Hinge, Loss::MeanSquaredError][kind]
    }

    /// Evaluates predictions of two outputs with classes (0), targets of each output (1) or values (2).
    fn evaluate(kind: usize, rows: &[Row]) -> Evaluation {
        let labels = match kind {
            0 => Labels::Classes(rows.iter().map(|row| u32::from(row.3 & 1)).collect()),
            1 => Labels::Targets(
                rows.iter().flat_map(|row| [row.3 & 1, row.3 >> 1 & 1]).map(f32::from).collect(),
                2,
            ),
            _ => Labels::Targets(
                rows.iter().flat_map(|row| [row.2, row.0]).map(|one| f32::from(one) / 8.0).collect(),
                2,
            ),
        };
        let examples = Examples::new(vec![0.0; rows.len()], vec![1], labels).unwrap();
        let mut next = rows.iter();
        let predict = |_: &[f32], count: usize| -> Result<Vec<f32>, FitError> {
            let outputs = next.by_ref().take(count).flat_map(|row| [row.0, row.1]);
            Ok(outputs.map(|one| f32::from(one) / 8.0).collect())
        };
        evaluate_predictions(&[1], &[2], &examples, loss_of(kind), predict).unwrap()
    }

    /// Sums the updates of the clients, in this order.
    fn sum(kind: usize, clients: &[Vec<Row>]) -> Evaluation {
        let mut total = EvaluationSum::default();
        let mut metrics = Metrics::default();
        for rows in clients {
            let evaluation = evaluate(kind, rows);
            let sums = evaluation.sums().expect("the labels allow sums");
            let Metrics { example_count, loss_sum, correct_count, step_count } = evaluation.metrics;
            let header = UpdateMetrics { example_count, loss_sum, correct_count, step_count };
            let shapes = folkmoot_engine::sum_shapes(&[2], loss_of(kind));
            assert_eq!(sums.check(&shapes, &header), Ok(()), "what an honest client sends is accepted");
            total.add(&sums);
            metrics += evaluation.metrics;
        }
        Evaluation::of_sums(loss_of(kind), metrics, &total.finish().unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn sums_over_any_split_of_clients_give_the_metrics_of_the_union(
            kind in 0usize..3,
            rows in prop::collection::vec((any::<(i8, i8, i8, u8)>(), 0usize..6), 1..60),
        ) {
            let mut clients: Vec<Vec<Row>> = vec![Vec::new(); 6];
            rows.iter().for_each(|(row, client)| clients[*client].push(*row));
            clients.retain(|rows| !rows.is_empty());
            let union: Vec<Row> = rows.iter().map(|(row, _)| *row).collect();
            let expected = evaluate(kind, &union);
            let found = sum(kind, &clients);
            clients.reverse();
            let reversed = sum(kind, &clients);
            for metric in Metric::ALL {
                let (value, exact) = (found.value(metric), expected.value(metric));
                match metric {
                    // Losses are summed in double precision, in the order of the clients.
                    Metric::Loss | Metric::Perplexity => {
                        let (value, exact) = (value.unwrap_or_default(), exact.unwrap_or_default());
                        prop_assert!((value - exact).abs() <= 1e-12 * exact.abs(), "{} {} {}", metric, value, exact);
                    }
                    _ => {
                        prop_assert_eq!(value, exact, "{}", metric);
                        prop_assert_eq!(reversed.value(metric), exact, "{}", metric);
                    }
                }
            }
            prop_assert_eq!(found.class_report(), expected.class_report());
        }
    }

    #[test]
    fn shapes_of_two_outputs_are_those_of_the_labels() {
        let of = |kind| folkmoot_engine::sum_shapes(&[2], loss_of(kind));
        let classes = |positions| SumShape::Classes { classes: 2, positions };
        assert_eq!(of(0), [classes(1)]);
        assert_eq!(of(1), [classes(2), classes(1)]);
        assert_eq!(of(2), [SumShape::Values { outputs: 2 }]);
    }
}
