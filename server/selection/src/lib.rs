#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod chance;
mod fixed_size;
mod oort;
pub mod participation;
mod poisson;
mod preference;
mod speed_tiers;
mod stratified;
#[cfg(test)]
mod tests;
mod token_share;
mod uniform;
mod weighted;

use folkmoot_component::Component;
use folkmoot_protocol::{ClientId, Fault, Timestamp};
use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize};

pub use oort::Oort;
pub use poisson::Poisson;
pub use speed_tiers::{SpeedTiers, TIERS_MAX, TierCredits, TierPolicy};
pub use stratified::Stratified;
pub use token_share::{TokenBound, TokenCounts, most_of_one_token};

use crate::participation::Waiting;

/// The method that draws the clients of a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SelectionChoice {
    /// A uniform draw without replacement from the waiting clients. It gives no privacy amplification, because
    /// the set of waiting clients is not random.
    #[default]
    #[serde(deserialize_with = "no_fields")]
    Uniform,
    /// Draws every waiting client independently with the same probability. The cohort's size is random.
    Poisson(Poisson),
    /// A uniform draw without replacement of exactly the wanted size. If too few clients wait, it draws none.
    #[serde(deserialize_with = "no_fields")]
    FixedSize,
    /// A draw without replacement in which clients that report more examples are drawn more often.
    ///
    /// For a cohort of one, the probability is proportional to the count. For larger cohorts, each further client is
    /// drawn from the remaining ones, again in proportion to the counts (Efraimidis and Spirakis 2006, "Weighted random
    /// sampling with a reservoir", algorithm D). The count is self-reported: a client that exaggerates is drawn more
    /// often.
    #[serde(deserialize_with = "no_fields")]
    WeightedByExamples,
    /// Draws from every stratum in proportion to its share of the waiting clients.
    Stratified(Stratified),
    /// Prefers clients from which the model learns much in little time.
    Oort(Oort),
    /// Draws all clients from one tier of similarly fast clients.
    SpeedTiers(SpeedTiers),
    /// A selection of the task's own: a WebAssembly component puts the waiting clients in an order of preference.
    Component(Box<Component>),
}

/// The input of a draw.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// The waiting eligible clients, each once. The draw depends on their order: to repeat a draw, use the same
    /// seed and the same order.
    pub waiting: &'a [Waiting],
    /// The number of wanted clients.
    pub count: usize,
    /// The number of the round, from 1.
    pub round_number: u64,
    /// The current time.
    pub now: Timestamp,
    /// Waiting clients in the order of preference of the task's own selection, each once. Clients that are missing are not
    /// drawn. `None` for the other methods.
    pub preferred: Option<&'a [ClientId]>,
}

impl SelectionChoice {
    /// Draws distinct clients. If fewer wait than are wanted, it draws them all, unless the method says
    /// otherwise.
    pub fn draw(&self, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<ClientId> {
        let places = match self {
            Self::Uniform => uniform::draw(draw.places(), draw.count, rng),
            Self::Poisson(poisson) => poisson.draw(draw, rng),
            Self::FixedSize => fixed_size::draw(draw, rng),
            Self::WeightedByExamples => weighted::draw_by_examples(draw, rng),
            Self::Stratified(stratified) => stratified.draw(draw, rng),
            Self::Oort(oort) => oort.draw(draw, rng),
            Self::SpeedTiers(tiers) => tiers.draw(draw, rng),
            Self::Component(_) => preference::first(draw),
        };
        places.into_iter().map(|place| draw.waiting[place].candidate.client_id).collect()
    }

    /// Returns the component, if the selection is the task's own.
    pub fn component(&self) -> Option<&Component> {
        match self {
            Self::Component(component) => Some(component),
            _ => None,
        }
    }

    /// Returns whether the method determines the cohort's size and ignores the wanted number.
    pub fn sizes_cohort(&self) -> bool {
        matches!(self, Self::Poisson(_))
    }

    /// Lists the settings that are out of range.
    pub fn validate(&self, faults: &mut Vec<Fault>) {
        match self {
            Self::Uniform | Self::FixedSize | Self::WeightedByExamples => {}
            Self::Poisson(poisson) => poisson.validate(faults),
            Self::Stratified(stratified) => stratified.validate(faults),
            Self::Oort(oort) => oort.validate(faults),
            Self::SpeedTiers(tiers) => tiers.validate(faults),
            Self::Component(component) => component.validate_in("selection", faults),
        }
    }
}

impl Draw<'_> {
    /// Returns the indices of all waiting clients.
    fn places(&self) -> Vec<usize> {
        (0..self.waiting.len()).collect()
    }
}

/// Rejects fields next to `kind`. For a variant without fields, serde would silently ignore them.
pub fn no_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoFields {}
    NoFields::deserialize(deserializer).map(|NoFields {}| ())
}

/// Adds a fault about `selection.<field>` unless `is_right`.
fn check(faults: &mut Vec<Fault>, is_right: bool, field: &str, message: String, remedy: &str) {
    if !is_right {
        faults.push(Fault::new(&format!("selection.{field}"), message, remedy));
    }
}
