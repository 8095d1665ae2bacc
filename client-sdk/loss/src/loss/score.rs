//! The losses of computed outputs, in double precision and one example at a time.

use folkmoot_protocol::Loss;

use super::{LabelForm, Layout};

/// Returns the loss of one example: the mean over its positions and outputs.
///
/// `outputs` and `labels` belong to one example in this layout. Class numbers must be below the number of classes.
pub fn example_loss(loss: Loss, layout: &Layout, outputs: &[f32], labels: &[f32]) -> f64 {
    let positions = outputs.chunks_exact(layout.classes.max(1)).enumerate();
    let count = positions.len().max(1) as f64;
    let sum: f64 = positions
        .map(|(position, outputs)| {
            let target = |class: usize| match layout.form {
                LabelForm::Classes => f64::from(labels[position] == class as f32),
                LabelForm::Values => f64::from(labels[position * layout.classes + class]),
                LabelForm::Ignored(_) => 0.0,
            };
            position_loss(loss, outputs, target)
        })
        .sum();
    sum / count
}

/// Returns the loss of one position; `target` gives the target of each output.
fn position_loss(loss: Loss, outputs: &[f32], target: impl Fn(usize) -> f64) -> f64 {
    let pairs = || outputs.iter().enumerate().map(|(class, output)| (f64::from(*output), target(class)));
    let mean =
        |of: &dyn Fn(f64, f64) -> f64| pairs().map(|(x, t)| of(x, t)).sum::<f64>() / outputs.len() as f64;
    match loss {
        Loss::SoftmaxCrossEntropy => {
            let normaliser = log_sum_exp(outputs);
            pairs().map(|(x, t)| if t == 0.0 { 0.0 } else { t * (normaliser - x) }).sum()
        }
        Loss::KlDivergence => {
            let normaliser = log_sum_exp(outputs);
            pairs().map(|(x, t)| if t == 0.0 { 0.0 } else { t * (t.ln() + normaliser - x) }).sum()
        }
        Loss::GeneralizedCrossEntropy { q } => {
            let (normaliser, q) = (log_sum_exp(outputs), f64::from(q));
            pairs().map(|(x, t)| -t * (q * (x - normaliser)).exp_m1() / q).sum()
        }
        Loss::SymmetricCrossEntropy { alpha, beta, floor } => {
            let normaliser = log_sum_exp(outputs);
            let [alpha, beta, floor] = [alpha, beta, floor].map(f64::from);
            let reverse = |x: f64, t: f64| (x - normaliser).exp() * t.ln().max(floor);
            // A class that is impossible may have a logit of −∞.
            let forward = |x: f64, t: f64| if t == 0.0 { 0.0 } else { t * (normaliser - x) };
            pairs().map(|(x, t)| alpha * forward(x, t) - beta * reverse(x, t)).sum()
        }
        Loss::BinaryCrossEntropy => mean(&|x, t| x.max(0.0) - x * t + (-x.abs()).exp().ln_1p()),
        Loss::Hinge => mean(&|x, t| (1.0 - (2.0 * t - 1.0) * x).max(0.0)),
        Loss::MeanSquaredError => mean(&|x, t| (x - t).powi(2)),
        Loss::MeanAbsoluteError => mean(&|x, t| (x - t).abs()),
        Loss::Huber { delta } => {
            let delta = f64::from(delta);
            mean(&|x, t| match (x - t).abs() {
                near if near <= delta => 0.5 * near * near,
                far => delta * (far - 0.5 * delta),
            })
        }
        Loss::ModelOutput => mean(&|x, _| x),
        Loss::Cosine => {
            let sum = |of: &dyn Fn(f64, f64) -> f64| pairs().map(|(x, t)| of(x, t)).sum::<f64>();
            let lengths = (sum(&|x, _| x * x) + 1e-12).sqrt() * (sum(&|_, t| t * t) + 1e-12).sqrt();
            1.0 - sum(&|x, t| x * t) / lengths
        }
    }
}

/// `log Σ e^x`. The largest logit is subtracted first, so that nothing overflows.
fn log_sum_exp(logits: &[f32]) -> f64 {
    let maximum = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - maximum).exp()).sum();
    maximum + sum.ln()
}
