use folkmoot_aggregation::{Combination, FedDf};
use folkmoot_engine::{Examples, Labels, LearningRateSchedule, LocalOptimizer, Loss};
use folkmoot_protocol::{TrainingPlan, saturating::to_float32};

use super::{Guide, Visit};
use crate::{GuideError, MakeError, Rows};

/// FedDF: averages the clients' models, and trains the average toward the mean of their predictions for the
/// coordinator's examples.
pub(super) fn means(
    rows: &mut Rows<'_>,
    guide: &Guide<'_>,
    rule: &FedDf,
    visit: &mut Visit<'_>,
) -> Result<(), MakeError> {
    let newest = guide.newest()?;
    let student = average(rows, guide, &newest)?;
    let examples = taught_examples(rows, guide, &newest)?;
    let trained = distil(guide, rule, student, &examples)?;
    let mut means = Vec::new();
    rows.for_each_tile(|first, tile| {
        let length = tile.first().map_or(0, |row| row.len());
        let pairs = trained[first..first + length].iter().zip(&newest[first..]);
        means.clear();
        means.extend(pairs.map(|(trained, newest)| f64::from(*trained) - f64::from(*newest)));
        visit(tile, &means);
    })?;
    Ok(())
}

/// Returns the weighted mean of the clients' models.
fn average(rows: &mut Rows<'_>, guide: &Guide<'_>, newest: &[f32]) -> Result<Vec<f32>, MakeError> {
    let combination: Combination = guide.description.aggregator.combination(
        guide.weights,
        guide.attenuations,
        &folkmoot_aggregation::Measured::None,
    );
    let mut average = newest.to_vec();
    rows.for_each_mean(&combination, |first, _, means| {
        for (value, mean) in average[first..].iter_mut().zip(means) {
            *value = to_float32(f64::from(*value) + *mean);
        }
    })?;
    Ok(average)
}

/// Returns the examples with the softmax of the mean of the logits of all clients' models as targets. Holds one of the models at a time.
fn taught_examples(rows: &mut Rows<'_>, guide: &Guide<'_>, newest: &[f32]) -> Result<Examples, MakeError> {
    let (own, count) = (guide.own, rows.updates.len());
    let features = own.examples.features();
    let mut sums: Vec<f64> = Vec::new();
    for update in 0..count {
        let values = rows.of_one(update, 0..newest.len())?;
        let model = newest.iter().zip(values).map(|(one, other)| one + other).collect();
        let whole = own.part.fill(model).map_err(GuideError::from)?;
        let logits = own.model.predict(&whole, features, own.examples.len()).map_err(GuideError::from)?;
        sums.resize(logits.len(), 0.0);
        sums.iter_mut().zip(&logits).for_each(|(sum, logit)| *sum += f64::from(*logit));
    }
    let classes = own.model.output_shape().last().copied().unwrap_or(1);
    let targets = FedDf::targets(&sums, count, classes).into_iter().map(to_float32).collect();
    let width = sums.len() / own.examples.len().max(1);
    let shape = own.examples.feature_shape().to_vec();
    let taught = Examples::new(features.to_vec(), shape, Labels::Targets(targets, width));
    Ok(taught.map_err(GuideError::from)?)
}

/// Trains the student on the examples.
fn distil(
    guide: &Guide<'_>,
    rule: &FedDf,
    student: Vec<f32>,
    examples: &Examples,
) -> Result<Vec<f32>, GuideError> {
    let plan = TrainingPlan {
        loss: Loss::KlDivergence,
        label_smoothing: 0.0,
        class_weights: Vec::new(),
        optimizer: adam(rule.learning_rate),
        learning_rate_schedule: LearningRateSchedule::Cosine { final_factor: 0.0, steps: rule.steps },
        epochs: rule.steps,
        steps_max: Some(rule.steps),
        batch_size: rule.batch_size,
        accumulation_steps: 1,
        ..guide.plain_plan()
    };
    let mut trainer = guide.trainer(&guide.own.part.fill(student)?, plan, examples)?;
    trainer.advance(u64::MAX)?;
    let trained = trainer.finish().weights;
    Ok(guide.own.part.pick(&trained)?)
}

/// Returns Adam with the defaults of its paper (Kingma and Ba 2015).
fn adam(learning_rate: f32) -> LocalOptimizer {
    LocalOptimizer::Adam { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }
}
