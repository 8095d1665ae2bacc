//! Property inference: tests whether an update reveals that the examples of its client have a property (Melis et al.
//! 2019, "Exploiting unintended feature leakage in collaborative learning", the passive attack of algorithm 3).
//!
//! The attacker knows the version, the plan and one half of the data. It computes updates of shadow clients with the property and
//! without it, and learns to distinguish them. Then it guesses for updates of clients from the other half.

mod choice;
mod classifier;
mod interval;
mod outcome;
mod scene;
mod sketch;

pub use choice::Property;
pub use outcome::{PropertyInference, PropertyView};

use self::{classifier::Classifier, interval::interval, scene::Scene};
use crate::{
    CannotAttack, Inputs, Progress,
    inversion::{ViewChoice, median_norm, views},
    membership::Roc,
};

/// The settings of the attack on a property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertySettings {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The property; `None` for the class with the most examples.
    pub property: Option<Property>,
    /// The number of examples of a client; `None` for 32, or fewer if the data is small.
    pub examples: Option<usize>,
    /// The share of these examples that have the property, at a client with it.
    pub share: f64,
    /// The number of updates of shadow clients, and also of victims. Even.
    pub updates: usize,
    /// The numbers of the views.
    pub views: ViewChoice,
}

/// Guesses the property of clients from their updates.
///
/// # Errors
/// If there is no property, it does not fit the data or is too rare, the task has personal tensors, or an update cannot be computed.
pub fn guess(
    inputs: &Inputs,
    settings: &PropertySettings,
    progress: &dyn Progress,
) -> Result<PropertyInference, CannotAttack> {
    let data = &inputs.training.examples;
    if inputs.description.plan.is_personal() {
        return Err(CannotAttack::Personal { attack: "the attack on a property" });
    }
    let property = settings.property.or_else(|| Property::most_frequent(data));
    let property = property.ok_or(CannotAttack::NoProperty)?;
    if !property.fits(data) {
        let features = inputs.width();
        return Err(CannotAttack::PropertyUnfit { property: property.to_string(), features });
    }
    let scene = Scene::new(inputs, settings, property)?;
    progress.phase("computing updates with and without the property", 2 * settings.updates as u64);
    let shadows = scene.plain(0, || progress.step())?;
    let victims = scene.plain(1, || progress.step())?;
    let norm = median_norm(&shadows).unwrap_or(1.0);
    let mut found = Vec::new();
    for view in views(&inputs.description, settings.views, norm) {
        let known = scene.seen(0, &view, &shadows)?;
        let seen = scene.seen(1, &view, &victims)?;
        let classifier = match scene.before_noise(&view, &shadows)? {
            Some(before) => Classifier::learn_before_noise(&before, &known),
            None => Classifier::learn(&known),
        };
        let score = |update: &[f32]| classifier.as_ref().map_or(0.0, |classifier| classifier.score(update));
        let scores: Vec<(f64, bool)> = seen.iter().map(|(update, has)| (score(update), *has)).collect();
        let roc = Roc::of(&scores).expect("every second victim has the property");
        let with = scores.iter().filter(|(_, has)| *has).count();
        let ends = interval(roc.auc, with, scores.len() - with);
        found.push(PropertyView { view, auc_low: *ends.start(), auc_high: *ends.end(), roc });
    }
    Ok(PropertyInference {
        property: property.to_string(),
        examples: scene.examples,
        with_property: scene.with_property,
        shadow_updates: settings.updates,
        victim_updates: settings.updates,
        views: found,
    })
}
