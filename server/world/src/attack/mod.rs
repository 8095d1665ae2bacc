//! Attacks by hostile clients, for experiments with robust aggregation.
//!
//! An attack is either on the data or on the update. In an attack on the data, the client trains honestly on poisoned
//! examples. In an attack on the update, it changes the result of honest training. In some of the latter, the hostile
//! clients collude: they compute an update together, from honest updates that they know.

mod adversary;
mod agreed;
mod alie;
mod backdoor;
mod fang;
mod free_rider;
mod gaussian_noise;
mod inner_product;
mod known;
mod label_flip;
mod label_rotate;
mod min_max;
mod min_sum;
mod perturbation;
mod scale;
mod sign_flip;

pub use adversary::Adversary;
pub use agreed::Agreed;
pub use alie::Alie;
pub use backdoor::Backdoor;
pub use fang::Fang;
use folkmoot_engine::{Examples, ExamplesError, Labels};
pub use free_rider::FreeRider;
pub use gaussian_noise::GaussianNoise;
pub use inner_product::InnerProduct;
pub use known::{Cohort, Known};
pub use label_flip::LabelFlip;
pub use label_rotate::LabelRotate;
pub use min_max::MinMax;
pub use min_sum::MinSum;
pub use perturbation::Perturbation;
pub use scale::Scale;
use serde::{Deserialize, Serialize};
pub use sign_flip::SignFlip;

use crate::setting::Check;

/// An attack by a hostile client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Attack {
    /// Data: the examples of one class get the label of another.
    LabelFlip(LabelFlip),
    /// Data: every label becomes the label of another class.
    LabelRotate(LabelRotate),
    /// Data: a trigger in the features makes the model predict a class of the attacker's choice.
    Backdoor(Backdoor),
    /// Update: the delta points the opposite way.
    SignFlip(SignFlip),
    /// Update: the delta is multiplied by a factor.
    Scale(Scale),
    /// Update: noise replaces the delta or is added to it.
    GaussianNoise(GaussianNoise),
    /// Update: noise of the delta's norm, by a client that did not train.
    FreeRider(FreeRider),
    /// Update, in collusion: the mean of honest deltas, moved by some standard deviations.
    Alie(Alie),
    /// Update, in collusion: the mean of honest deltas, turned and scaled.
    InnerProduct(InnerProduct),
    /// Update, in collusion: the mean of honest deltas, moved as far as the largest distance between them allows.
    MinMax(MinMax),
    /// Update, in collusion: the mean of honest deltas, moved as far as their sums of squared distances allow.
    MinSum(MinSum),
    /// Update, in collusion: values beyond the honest ones, against the direction of the mean.
    Fang(Fang),
}

/// An attack that does not fit the data or the clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttackError {
    /// The labels are not classes.
    #[error("the attack changes class labels, but the labels are not classes; choose an attack on updates")]
    NoClasses,
    /// The trigger sets a feature that an example does not have.
    #[error(
        "the backdoor sets feature {feature}, but an example has {features} features; use numbers below {features}"
    )]
    NoSuchFeature {
        /// The feature's number.
        feature: usize,
        /// The number of features of an example.
        features: usize,
    },
    /// The attack compares the updates of more hostile clients than there are.
    #[error(
        "the attack needs {needed} hostile clients with examples, because it compares their updates, and there are \
         {found}; raise adversary.share or clients"
    )]
    TooFewHostile {
        /// The least number of hostile clients with examples.
        needed: usize,
        /// The number of hostile clients with examples.
        found: usize,
    },
    /// The poisoned examples are not a valid data set.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}

impl Attack {
    /// Returns whether the attack is on the data. If so, only [`Attack::poison`] has an effect; otherwise only
    /// [`Attack::distort`] or [`Attack::agree`] has.
    pub fn is_on_data(&self) -> bool {
        matches!(self, Attack::LabelFlip(_) | Attack::LabelRotate(_) | Attack::Backdoor(_))
    }

    /// Returns the least number of honest updates that [`Attack::agree`] needs; `None` if the hostile clients do not
    /// collude.
    pub fn known_min(&self) -> Option<usize> {
        match self {
            Attack::InnerProduct(_) => Some(1),
            Attack::Alie(_) | Attack::MinMax(_) | Attack::MinSum(_) | Attack::Fang(_) => Some(2),
            Attack::LabelFlip(_) | Attack::LabelRotate(_) | Attack::Backdoor(_) => None,
            Attack::SignFlip(_) | Attack::Scale(_) | Attack::GaussianNoise(_) | Attack::FreeRider(_) => None,
        }
    }

    /// Returns the examples on which the hostile client trains. An attack on updates returns `examples` unchanged.
    /// `seed` is the client's seed.
    ///
    /// # Errors
    /// [`AttackError`] if the examples lack the classes or features that the attack changes.
    pub fn poison(&self, examples: &Examples, seed: u64) -> Result<Examples, AttackError> {
        match self {
            Attack::LabelFlip(flip) => relabelled(examples, |class| flip.class(class)),
            Attack::LabelRotate(rotate) => relabelled(examples, |class| rotate.class(class)),
            Attack::Backdoor(backdoor) => backdoor.poison(examples, seed),
            Attack::SignFlip(_) | Attack::Scale(_) | Attack::GaussianNoise(_) | Attack::FreeRider(_) => {
                Ok(examples.clone())
            }
            Attack::Alie(_)
            | Attack::InnerProduct(_)
            | Attack::MinMax(_)
            | Attack::MinSum(_)
            | Attack::Fang(_) => Ok(examples.clone()),
        }
    }

    /// Changes the delta that the hostile client uploads. An attack on data or in collusion leaves the delta unchanged.
    /// `seed` must differ between assignments.
    pub fn distort(&self, delta: &mut [f32], seed: u64) {
        match self {
            Attack::SignFlip(flip) => flip.distort(delta),
            Attack::Scale(scale) => scale.distort(delta),
            Attack::GaussianNoise(noise) => noise.distort(delta, seed),
            Attack::FreeRider(rider) => rider.distort(delta, seed),
            Attack::LabelFlip(_) | Attack::LabelRotate(_) | Attack::Backdoor(_) => {}
            Attack::Alie(_)
            | Attack::InnerProduct(_)
            | Attack::MinMax(_)
            | Attack::MinSum(_)
            | Attack::Fang(_) => {}
        }
    }

    /// Returns the updates that colluding clients upload instead of their own; `None` if they do not collude. `known` must
    /// have at least [`Attack::known_min`] updates.
    pub fn agree(&self, known: &Known) -> Option<Agreed> {
        match self {
            Attack::Alie(alie) => Some(alie.agree(known)),
            Attack::InnerProduct(product) => Some(product.agree(known)),
            Attack::MinMax(min_max) => Some(min_max.agree(known)),
            Attack::MinSum(min_sum) => Some(min_sum.agree(known)),
            Attack::Fang(fang) => Some(fang.agree(known)),
            Attack::LabelFlip(_) | Attack::LabelRotate(_) | Attack::Backdoor(_) => None,
            Attack::SignFlip(_) | Attack::Scale(_) | Attack::GaussianNoise(_) | Attack::FreeRider(_) => None,
        }
    }

    fn check(&self, check: &mut Check) {
        match self {
            Attack::LabelFlip(_) | Attack::MinMax(_) | Attack::MinSum(_) => {}
            Attack::LabelRotate(rotate) => rotate.check(check),
            Attack::Backdoor(backdoor) => backdoor.check(check),
            Attack::SignFlip(flip) => check.positive("attack.factor", flip.factor),
            Attack::Scale(scale) => check.positive("attack.factor", scale.factor),
            Attack::GaussianNoise(noise) => {
                check.not_negative("attack.standard_deviation", noise.standard_deviation);
            }
            Attack::FreeRider(rider) => check.not_negative("attack.norm_factor", rider.norm_factor),
            Attack::Alie(alie) => alie.check(check),
            Attack::InnerProduct(product) => check.positive("attack.epsilon", product.epsilon),
            Attack::Fang(fang) => fang.check(check),
        }
    }
}

/// Replaces the class of every example, or of every position of a sequence, by the result of `class`.
fn relabelled(examples: &Examples, class: impl Fn(u32) -> u32) -> Result<Examples, AttackError> {
    let labels = match examples.labels() {
        Labels::Classes(classes) => Labels::Classes(classes.iter().map(|old| class(*old)).collect()),
        Labels::Sequences(classes, width) => {
            Labels::Sequences(classes.iter().map(|old| class(*old)).collect(), *width)
        }
        Labels::Targets(..) => return Err(AttackError::NoClasses),
    };
    rebuilt(examples, examples.features().to_vec(), labels)
}

/// Combines new features and labels with the feature shape and the weights of `examples`.
fn rebuilt(examples: &Examples, features: Vec<f32>, labels: Labels) -> Result<Examples, AttackError> {
    let made = Examples::new(features, examples.feature_shape().to_vec(), labels)?;
    Ok(match examples.weights() {
        Some(weights) => made.with_weights(weights.to_vec())?,
        None => made,
    })
}

#[cfg(test)]
mod tests;
