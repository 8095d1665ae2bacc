//! Gradient inversion: what a curious coordinator learns from one update.
//!
//! Victims are clients with one example, or a few. The engine computes the update that each would send in the first round, and
//! three attacks try to reconstruct the example from it: its label, its features from a first dense layer, and its features by
//! optimisation. Each attack sees the update in three views: plain, with noise, and in a sum with others.

mod client;
mod dense;
mod domain;
mod label;
mod layout;
mod outcome;
mod probes;
mod search;
#[cfg(test)]
mod tests;
mod victims;
mod view;

pub use domain::PSNR_MAX;
use folkmoot_engine::{TrainedPart, TrainingPlan};
pub use outcome::{Attempt, Inversion, Seen, Victim, ViewSummary};
pub use view::{View, ViewChoice, ViewKind};
pub(crate) use view::{clipped, median_norm, noised, views};

pub(crate) use self::client::Client;
use self::{
    domain::Domain,
    layout::tensors,
    probes::probe,
    victims::{Known, Scene},
};
use crate::{CannotAttack, Inputs, Progress, limits::FEATURES_MAX, parallel::in_parallel};

/// The settings of the inversion.
#[derive(Clone, Debug, PartialEq)]
pub struct InversionSettings {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of victims.
    pub victims: usize,
    /// The number of examples of a victim. One is the worst case.
    pub examples: usize,
    /// The number of steps of each search; 0 for no search.
    pub iterations: u64,
    /// The number of starts of each search.
    pub restarts: u64,
    /// The numbers of the views.
    pub views: ViewChoice,
    /// True if the features are the pixels of a picture.
    pub is_picture: bool,
}

/// Reconstructs the victims' examples.
///
/// # Errors
/// If the labels are not classes, the model looks up rows of tables, no attack applies, or an update cannot be computed.
pub fn invert(
    inputs: &Inputs,
    settings: &InversionSettings,
    progress: &dyn Progress,
) -> Result<Inversion, CannotAttack> {
    let found = inputs.classes().ok_or(CannotAttack::NoClasses { attack: "the inversion of updates" })?;
    let lookups = inputs.model.lookups();
    if lookups.has_unchecked || !lookups.checked.is_empty() {
        return Err(CannotAttack::Lookup);
    }
    let plan = TrainingPlan { example_privacy: None, ..inputs.description.plan.clone() };
    let model = inputs.trained_model()?;
    let part = TrainedPart::of(&model, &plan).map_err(|error| CannotAttack::Model(error.to_string()))?;
    let outputs: usize = model.output_shape().iter().product();
    let most = found.iter().copied().max().unwrap_or_default();
    let classes = outputs.max(2).min(most as usize + 1).max(1);
    let domain = Domain::of(&inputs.training.examples, settings.is_picture);
    let mut client = Client::new(&model, plan.clone(), settings.seed);
    let shape = inputs.training.examples.feature_shape();
    let tensors = tensors(&part.schema());
    let weaknesses = probe(&mut client, shape, &tensors, &domain, (classes, outputs), settings.seed)?;
    let is_searched = settings.iterations > 0 && domain.width() <= FEATURES_MAX;
    let remarks = remarks(weaknesses.dense.is_some(), weaknesses.bias.is_some(), settings, domain.width());
    if weaknesses.dense.is_none() && weaknesses.bias.is_none() && !is_searched {
        return Err(CannotAttack::NothingToInvert { reason: remarks.join(" ") });
    }
    let known = Known { model: model.clone(), plan, domain, weaknesses, is_searched, classes };
    let scene = Scene::new(inputs, settings, known)?;
    let pairs = scene.victims() * scene.views.len();
    progress.phase("inverting updates", pairs as u64);
    let seen = in_parallel(inputs.threads, pairs, |pair| {
        let seen = scene.attack(pair / scene.views.len(), pair % scene.views.len());
        progress.step();
        seen
    })?;
    Ok(scene.outcome(seen, remarks))
}

/// Lists the attacks that do not apply, with the reason.
fn remarks(has_dense: bool, has_bias: bool, settings: &InversionSettings, width: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    if !has_dense {
        remarks.push(
            "No first dense layer with a bias reads the features, each by itself, or the plan's optimizer hides the quotient of \
             their changes, so features are not reconstructed analytically. This does not mean that they are safe."
                .to_owned(),
        );
    }
    if !has_bias {
        remarks.push(
            "The last layer has no bias that reveals the labels of updates, so labels are not reconstructed. The search gets \
             the true label instead; an attacker would have to try every label."
                .to_owned(),
        );
    }
    if width > FEATURES_MAX {
        remarks.push(format!(
            "An example has {width} features, and the search is limited to {FEATURES_MAX}, because each of its steps computes \
             two updates for each feature. Automatic differentiation would be faster; an attacker has it."
        ));
    } else if settings.iterations == 0 {
        remarks.push("No search was made, because --iterations is 0.".to_owned());
    }
    remarks
}
