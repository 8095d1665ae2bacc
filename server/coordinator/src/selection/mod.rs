//! Which of the eligible clients that wait take part.
//!
//! A method keeps nothing of its own between two rounds: what it remembers is derived from the round's number and
//! from the clients' histories, so that a restart, a second process or a replay draws the same.

mod chance;
mod fixed_size;
mod oort;
mod poisson;
mod speed_tiers;
mod stratified;
#[cfg(test)]
mod tests;
mod token_share;
mod uniform;
mod weighted;

use folkmoot_protocol::{ClientId, Timestamp};
use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize};

pub use oort::Oort;
pub use poisson::Poisson;
pub use speed_tiers::{SpeedTiers, TIERS_MAX, TierCredits, TierPolicy};
pub use stratified::Stratified;
pub use token_share::{TokenBound, TokenCounts, clients_of_a_flow, most_of_one_token};

use crate::{fault::Fault, participation::Waiting};

/// How the clients of a round are drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SelectionChoice {
    /// A uniform draw without replacement from the clients that wait. It claims no privacy amplification:
    /// who waits is not random.
    #[default]
    #[serde(deserialize_with = "no_fields")]
    Uniform,
    /// Every waiting client by itself with one probability: the cohort's size is random.
    Poisson(Poisson),
    /// A uniform draw without replacement that has its size or is empty: never a smaller cohort.
    #[serde(deserialize_with = "no_fields")]
    FixedSize,
    /// A draw without replacement in which a client's chance grows with the examples that it says it holds.
    ///
    /// With one client to draw the chance is proportional to the count; with more, every next client is drawn in
    /// proportion among those that are left (Efraimidis and Spirakis 2006, "Weighted random sampling with a
    /// reservoir", algorithm D). The count is the client's word: a lie gets it drawn more often.
    #[serde(deserialize_with = "no_fields")]
    WeightedByExamples,
    /// From every stratum as many as its share of those that wait.
    Stratified(Stratified),
    /// Those from whom the model learns most in little time.
    Oort(Oort),
    /// All from one tier of clients that are about equally fast.
    SpeedTiers(SpeedTiers),
}

/// What a draw is made from.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// The eligible clients that wait, each once. Their order matters for which are drawn: a caller that wants the
    /// same draw for the same seed brings the same order.
    pub waiting: &'a [Waiting],
    /// How many are wanted.
    pub count: usize,
    /// The number of the round for which it is, from 1.
    pub round_number: u64,
    /// When.
    pub now: Timestamp,
}

impl SelectionChoice {
    /// Draws clients, none twice, and all that wait when fewer wait than are wanted, unless the method says
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
        };
        places.into_iter().map(|place| draw.waiting[place].candidate.client_id).collect()
    }

    /// Says whether it needs the histories of the waiting clients.
    pub fn needs_history(&self) -> bool {
        matches!(self, Self::Oort(_) | Self::SpeedTiers(_))
    }

    /// Says whether the cohort's size is its own choice and not the count's.
    pub fn sizes_cohort(&self) -> bool {
        matches!(self, Self::Poisson(_))
    }

    pub(crate) fn validate(&self, faults: &mut Vec<Fault>) {
        match self {
            Self::Uniform | Self::FixedSize | Self::WeightedByExamples => {}
            Self::Poisson(poisson) => poisson.validate(faults),
            Self::Stratified(stratified) => stratified.validate(faults),
            Self::Oort(oort) => oort.validate(faults),
            Self::SpeedTiers(tiers) => tiers.validate(faults),
        }
    }
}

impl Draw<'_> {
    /// Returns the places of all waiting clients.
    fn places(&self) -> Vec<usize> {
        (0..self.waiting.len()).collect()
    }
}

/// Reads a kind that has no fields: without it serde would let unknown ones pass.
pub(crate) fn no_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
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
