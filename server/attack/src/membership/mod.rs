//! Membership inference: tests whether a released model reveals the examples that it was trained on.
//!
//! The task is simulated several times, each time on a random half of the examples. Each model is the target once, and the
//! others are its shadow models. Two attacks guess the members of the target: from the loss alone (Yeom et al. 2018, "Privacy
//! risk in machine learning: analyzing the connection to overfitting"), and by a likelihood ratio (LiRA).

mod halves;
mod lira;
mod roc;

use folkmoot_coordinator::{
    privacy::PrivacyChoice,
    task::{Protection, TaskDescription},
};
use folkmoot_engine::{Evaluator, Examples, Model};
use folkmoot_simulation::{
    simulate::{DataSource, WorldSettings, simulate},
    spread::Spread,
};
pub use roc::Roc;
use serde::Serialize;

use self::lira::Shadows;
use crate::{
    CannotAttack, Inputs, Progress,
    inputs::subset,
    limits::{SHADOWS_MAX, SHADOWS_MIN},
    rounds::Rounds,
};

/// The least and the largest loss. Smaller ones are rounding, and beyond both the confidence would be infinite.
const LOSSES: (f64, f64) = (1e-12, 700.0);

/// The settings of the membership attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipSettings {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of shadow models.
    pub shadows: usize,
}

/// The result of the membership attack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Membership {
    /// The number of shadow models of each target.
    pub shadows: usize,
    /// The number of examples, half of which are members of each model.
    pub examples: usize,
    /// The result without the task's privacy, and with it if the task has any.
    pub variants: Vec<MembershipVariant>,
}

/// The attacks on one variant of the task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MembershipVariant {
    /// The name.
    pub name: String,
    /// True if the variant has the task's privacy.
    pub is_private: bool,
    /// The mean accuracy on the members of each model.
    pub member_accuracy: f64,
    /// The mean accuracy on the others. A model that is much better on its members has learned them by heart.
    pub other_accuracy: f64,
    /// The attack by the loss. Its curve combines all targets.
    pub loss_threshold: Roc,
    /// The area of the attack by the loss, over the targets.
    pub loss_threshold_spread: Option<Spread>,
    /// The attack by the likelihood ratio.
    pub likelihood_ratio: Roc,
    /// The area of the attack by the likelihood ratio, over the targets.
    pub likelihood_ratio_spread: Option<Spread>,
}

/// Guesses the members of models.
///
/// # Errors
/// If the labels are not classes, the task has personal tensors, the number of shadow models is out of range, or a simulation
/// fails.
pub async fn infer(
    inputs: &Inputs,
    settings: MembershipSettings,
    progress: &dyn Progress,
) -> Result<Membership, CannotAttack> {
    let attack = "the attack on membership";
    inputs.classes().ok_or(CannotAttack::NoClasses { attack })?;
    if inputs.description.plan.is_personal() {
        return Err(CannotAttack::Personal { attack });
    }
    if !(SHADOWS_MIN..=SHADOWS_MAX).contains(&settings.shadows) {
        return Err(CannotAttack::Shadows { found: settings.shadows });
    }
    let open = without_privacy(&inputs.description);
    let mut variants = Vec::new();
    if open != inputs.description && is_private(&inputs.description) {
        variants.push(Box::pin(variant(inputs, settings, &inputs.description, true, progress)).await?);
    }
    variants.insert(0, Box::pin(variant(inputs, settings, &open, false, progress)).await?);
    Ok(Membership { shadows: settings.shadows, examples: inputs.training.examples.len(), variants })
}

/// Returns whether a task has differential privacy.
pub(crate) fn is_private(task: &TaskDescription) -> bool {
    !task.privacy.is_none() || task.plan.example_privacy.is_some()
}

/// Returns the task without its differential privacy.
fn without_privacy(task: &TaskDescription) -> TaskDescription {
    let mut open = task.clone();
    open.privacy = PrivacyChoice::None;
    open.plan.example_privacy = None;
    open.protection = Protection::Plain;
    open
}

async fn variant(
    inputs: &Inputs,
    settings: MembershipSettings,
    task: &TaskDescription,
    is_private: bool,
    progress: &dyn Progress,
) -> Result<MembershipVariant, CannotAttack> {
    let name = if is_private { "with the task's privacy" } else { "without privacy" };
    let examples = &inputs.training.examples;
    let models = settings.shadows + 1;
    let is_member = halves::draw(models, examples.len(), settings.seed);
    let (mut losses, mut accuracies) = (Vec::new(), (0.0, 0.0));
    let model = inputs.trained_model()?;
    for (number, members) in is_member.iter().enumerate() {
        let label = format!("membership {name}, model {} of {models}", number + 1);
        let weights = Box::pin(train(inputs, settings, task, (number, members), &label, progress)).await?;
        let measured = measure(&model, inputs, &weights)?;
        let share = |is_member: bool| {
            let chosen = measured.iter().zip(members).filter(|(_, member)| **member == is_member);
            let (right, count) = chosen.fold((0.0, 0.0), |(right, count), ((_, is_right), _)| {
                (right + f64::from(*is_right), count + 1.0)
            });
            right / f64::max(count, 1.0) / models as f64
        };
        accuracies = (accuracies.0 + share(true), accuracies.1 + share(false));
        losses.push(measured.into_iter().map(|(loss, _)| loss).collect::<Vec<f64>>());
    }
    let confidences = losses.iter().map(|losses| losses.iter().map(|loss| confidence(*loss)).collect());
    let shadows = Shadows { confidences: confidences.collect(), is_member };
    let by_loss =
        |target: usize| -> Vec<Option<f64>> { losses[target].iter().map(|loss| Some(-loss)).collect() };
    let (loss_threshold, loss_threshold_spread) = curves(&shadows.is_member, by_loss);
    let (likelihood_ratio, likelihood_ratio_spread) =
        curves(&shadows.is_member, |target| shadows.scores(target));
    Ok(MembershipVariant {
        name: name.to_owned(),
        is_private,
        member_accuracy: accuracies.0,
        other_accuracy: accuracies.1,
        loss_threshold,
        loss_threshold_spread,
        likelihood_ratio,
        likelihood_ratio_spread,
    })
}

/// Simulates the task on the members of one model, and returns the last version.
async fn train(
    inputs: &Inputs,
    settings: MembershipSettings,
    task: &TaskDescription,
    (number, members): (usize, &[bool]),
    label: &str,
    progress: &dyn Progress,
) -> Result<Vec<f32>, CannotAttack> {
    let chosen = |is_member: bool| -> Vec<usize> {
        (0..members.len()).filter(|example| members[*example] == is_member).collect()
    };
    let training = subset(&inputs.training, &chosen(true))?;
    let held_out = inputs.training.examples.subset(&chosen(false))?;
    let world = WorldSettings {
        seed: settings.seed.wrapping_add(number as u64),
        adversary: None,
        held_out_of_clients: false,
        ..inputs.world.clone()
    };
    let source = DataSource::Given { training, held_out: Some(held_out) };
    let simulation = inputs.simulation(task.clone(), world, source);
    let mut rounds = Rounds::new(label, task.stop.rounds, progress);
    let outcome = Box::pin(simulate(simulation, &mut rounds)).await;
    let outcome = outcome.map_err(|source| CannotAttack::Simulate { label: label.to_owned(), source })?;
    Ok(outcome.weights)
}

/// Returns the loss of every example, and whether it was predicted right.
fn measure(model: &Model, inputs: &Inputs, weights: &[f32]) -> Result<Vec<(f64, bool)>, CannotAttack> {
    let examples: &Examples = &inputs.training.examples;
    let mut evaluator = Evaluator::new(model, inputs.description.plan.loss);
    let measured = (0..examples.len()).map(|example| {
        let metrics = evaluator.evaluate(weights, &examples.subset(&[example])?)?;
        Ok((metrics.loss_sum, metrics.correct_count > 0))
    });
    measured.collect()
}

/// Returns log(p / (1 − p)) of the probability p = e^(−loss) of the true class.
fn confidence(loss: f64) -> f64 {
    -loss.clamp(LOSSES.0, LOSSES.1).exp_m1().ln()
}

/// Returns the curve of all targets together, and the spread of their areas.
fn curves(is_member: &[Vec<bool>], scores: impl Fn(usize) -> Vec<Option<f64>>) -> (Roc, Option<Spread>) {
    let (mut all, mut areas) = (Vec::new(), Vec::new());
    for (target, members) in is_member.iter().enumerate() {
        let pairs: Vec<(f64, bool)> = scores(target)
            .into_iter()
            .zip(members)
            .filter_map(|(score, member)| Some((score?, *member)))
            .collect();
        areas.extend(Roc::of(&pairs).map(|roc| roc.auc));
        all.extend(pairs);
    }
    let roc = Roc::of(&all).expect("each model has members and others");
    (roc, Spread::of(&areas))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_the_logit_of_the_probability() {
        // p = 0.8: log(0.8 / 0.2) = log 4.
        assert!((confidence(-(0.8f64.ln())) - 4f64.ln()).abs() < 1e-12);
        assert!(confidence(0.0).is_finite() && confidence(0.0) > 20.0);
        assert!((confidence(1000.0) + 700.0).abs() < 1e-9, "{}", confidence(1000.0));
    }
}
