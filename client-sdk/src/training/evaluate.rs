use std::sync::atomic::Ordering;

use folkmoot_engine::{Examples, TrainingOutcome};
use folkmoot_training::{Evaluation, Inputs};
use folkmoot_work::WorkError;

use super::{LocalWork, WorkNews, news::PROGRESS_MILLISECONDS};

/// Sums the loss and the correct predictions over all examples. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the plan forbids the evaluation, there are no examples or they do not fit the model, the memory
/// does not suffice, the time is up, or the loss is not finite.
pub(super) fn evaluate(
    local: &LocalWork,
    inputs: &Inputs,
    examples: &Examples,
    on_news: impl Fn(WorkNews),
) -> Result<Option<TrainingOutcome>, WorkError> {
    let mut evaluation = Evaluation::begin(inputs, examples, &local.budget)?;
    let examples_total = evaluation.example_count() as u64;
    let tell = |metrics| on_news(WorkNews::Evaluated { metrics, examples_total });
    tracing::info!(examples = examples_total, "evaluation begins");
    tell(evaluation.metrics());
    let mut told_at = local.host.now();
    loop {
        local.rest(|| {});
        if local.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut advance = || evaluation.advance(&|| local.host.elapsed());
        // A fine-tuning trains, so it counts towards the limits of a day.
        let is_over = match inputs.plan.fine_tuning {
            Some(_) => local.care.counted(|| local.host.elapsed(), advance),
            None => advance(),
        }?;
        let now = local.host.now();
        if is_over || now.milliseconds_since(told_at) >= PROGRESS_MILLISECONDS {
            tell(evaluation.metrics());
            told_at = now;
        }
        if is_over {
            return evaluation.finish().map(Some);
        }
    }
}
