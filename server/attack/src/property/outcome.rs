use serde::Serialize;

use crate::{inversion::View, membership::Roc};

/// The result of the attack on a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PropertyInference {
    /// The property, for people.
    pub property: String,
    /// The number of examples of a client.
    pub examples: usize,
    /// The number of these that have the property, at a client with it.
    pub with_property: usize,
    /// The number of updates from which the attacker has learned.
    pub shadow_updates: usize,
    /// The number of updates of victims, half of which have the property.
    pub victim_updates: usize,
    /// The guesses in each view of the updates.
    pub views: Vec<PropertyView>,
}

/// The guesses from updates in one view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PropertyView {
    /// The view.
    pub view: View,
    /// The curve of the guesses.
    #[serde(flatten)]
    pub roc: Roc,
    /// The lower end of the 95 % confidence interval of the area.
    pub auc_low: f64,
    /// The upper end of the interval.
    pub auc_high: f64,
}
