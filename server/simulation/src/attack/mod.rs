//! What hostile clients do, for experiments with robust aggregation.
//!
//! An attack is either on the data, and its client then trains honestly on what it was given, or on the update
//! that an honest training made.

mod adversary;
mod backdoor;
mod gaussian_noise;
mod label_flip;
mod label_rotate;
mod scale;
mod sign_flip;

pub use adversary::Adversary;
pub use backdoor::Backdoor;
use folkmoot_engine::{Examples, ExamplesError, Labels};
pub use gaussian_noise::GaussianNoise;
pub use label_flip::LabelFlip;
pub use label_rotate::LabelRotate;
pub use scale::Scale;
use serde::{Deserialize, Serialize};
pub use sign_flip::SignFlip;

use crate::setting::Check;

/// What a hostile client does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Attack {
    /// Data: examples of one class are given another's label.
    LabelFlip(LabelFlip),
    /// Data: every label is that of another class.
    LabelRotate(LabelRotate),
    /// Data: a trigger in the features means a class of the attacker's choice.
    Backdoor(Backdoor),
    /// Update: the delta points the other way.
    SignFlip(SignFlip),
    /// Update: the delta is larger than it is.
    Scale(Scale),
    /// Update: the delta is noise.
    GaussianNoise(GaussianNoise),
}

/// Why an attack on data is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttackError {
    /// The labels are not classes.
    #[error("the attack changes class labels, and these are none; choose an attack on updates")]
    NoClasses,
    /// The trigger sets a feature that an example does not have.
    #[error(
        "the backdoor sets feature {feature}, and an example has {features}; name features below {features}"
    )]
    NoSuchFeature {
        /// The feature.
        feature: usize,
        /// The features of an example.
        features: usize,
    },
    /// What the attack made is no data set.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}

impl Attack {
    /// Says whether the attack is on the data, so that [`Attack::poison`] does it and [`Attack::distort`] nothing.
    pub fn is_on_data(&self) -> bool {
        match self {
            Attack::LabelFlip(_) | Attack::LabelRotate(_) | Attack::Backdoor(_) => true,
            Attack::SignFlip(_) | Attack::Scale(_) | Attack::GaussianNoise(_) => false,
        }
    }

    /// Returns what the hostile client trains on instead of `examples`. An attack on updates leaves them as they
    /// are. `seed` is the client's.
    ///
    /// # Errors
    /// [`AttackError`] if the examples lack the classes or features that the attack changes.
    pub fn poison(&self, examples: &Examples, seed: u64) -> Result<Examples, AttackError> {
        match self {
            Attack::LabelFlip(flip) => relabelled(examples, |class| flip.class(class)),
            Attack::LabelRotate(rotate) => relabelled(examples, |class| rotate.class(class)),
            Attack::Backdoor(backdoor) => backdoor.poison(examples, seed),
            Attack::SignFlip(_) | Attack::Scale(_) | Attack::GaussianNoise(_) => Ok(examples.clone()),
        }
    }

    /// Changes the delta that the hostile client uploads. An attack on data leaves it as it is. `seed` tells
    /// assignments apart.
    pub fn distort(&self, delta: &mut [f32], seed: u64) {
        match self {
            Attack::SignFlip(flip) => flip.distort(delta),
            Attack::Scale(scale) => scale.distort(delta),
            Attack::GaussianNoise(noise) => noise.distort(delta, seed),
            Attack::LabelFlip(_) | Attack::LabelRotate(_) | Attack::Backdoor(_) => {}
        }
    }

    fn check(&self, check: &mut Check) {
        match self {
            Attack::LabelFlip(_) => {}
            Attack::LabelRotate(rotate) => rotate.check(check),
            Attack::Backdoor(backdoor) => backdoor.check(check),
            Attack::SignFlip(flip) => check.positive("attack.factor", flip.factor),
            Attack::Scale(scale) => check.positive("attack.factor", scale.factor),
            Attack::GaussianNoise(noise) => {
                check.not_negative("attack.standard_deviation", noise.standard_deviation);
            }
        }
    }
}

/// Gives every example, or position of a sequence, the class that `class` makes of its own.
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

/// Puts features and labels together as `examples` has them, with its weights.
fn rebuilt(examples: &Examples, features: Vec<f32>, labels: Labels) -> Result<Examples, AttackError> {
    let made = Examples::new(features, examples.feature_shape().to_vec(), labels)?;
    Ok(match examples.weights() {
        Some(weights) => made.with_weights(weights.to_vec())?,
        None => made,
    })
}

#[cfg(test)]
mod tests;
