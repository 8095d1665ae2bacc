use folkmoot_engine::{Examples, Labels};
use serde::{Deserialize, Serialize};

use super::{AttackError, rebuilt};
use crate::{
    chance::{Stream, uniform},
    setting::Check,
};

/// The maximum number of trigger features.
const TRIGGER_FEATURES_MAX: usize = 65_536;

/// Sets a patch of features to a value and labels the patched examples with the target class (Gu et al. 2017, "BadNets:
/// identifying vulnerabilities in the machine learning model supply chain"; in federated learning Bagdasaryan et al.
/// 2020, "How to backdoor federated learning").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backdoor {
    /// The indices of the features of the patch. An example's features are numbered row by row, from 0.
    pub trigger_features: Vec<usize>,
    /// The value to which the attack sets the trigger features.
    pub trigger_value: f32,
    /// The class that the trigger should cause the model to predict.
    pub target: u32,
    /// The probability that an example gets the trigger.
    #[serde(default = "half")]
    pub poisoned_share: f64,
}

fn half() -> f64 {
    0.5
}

impl Backdoor {
    pub(super) fn check(&self, check: &mut Check) {
        let count = self.trigger_features.len();
        let fine = (1..=TRIGGER_FEATURES_MAX).contains(&count);
        check.count("attack.trigger_features", count, fine, "1 to 65536 features");
        check.require("attack.trigger_value", self.trigger_value, self.trigger_value.is_finite(), "a number");
        check.share("attack.poisoned_share", self.poisoned_share);
    }

    pub(super) fn poison(&self, examples: &Examples, seed: u64) -> Result<Examples, AttackError> {
        let mut rng = Stream::new(seed, &[]);
        self.apply(examples, |_| uniform(&mut rng) <= self.poisoned_share)
    }

    /// Puts the trigger into every example of another class and labels it with the target class. Other examples are
    /// left out. A model's accuracy on the result is the attack's success rate.
    ///
    /// # Errors
    /// [`AttackError`] if the examples lack classes or the trigger's features.
    pub fn triggered(&self, examples: &Examples) -> Result<Examples, AttackError> {
        let Labels::Classes(classes) = examples.labels() else { return Err(AttackError::NoClasses) };
        let others: Vec<usize> = (0..classes.len()).filter(|index| classes[*index] != self.target).collect();
        self.apply(&examples.subset(&others)?, |_| true)
    }

    /// Poisons the examples for which `is_chosen` returns `true`. `is_chosen` is called once for each example, in
    /// order.
    fn apply(
        &self,
        examples: &Examples,
        mut is_chosen: impl FnMut(usize) -> bool,
    ) -> Result<Examples, AttackError> {
        let Labels::Classes(classes) = examples.labels() else { return Err(AttackError::NoClasses) };
        let width: usize = examples.feature_shape().iter().product();
        if let Some(feature) = self.trigger_features.iter().find(|feature| **feature >= width) {
            return Err(AttackError::NoSuchFeature { feature: *feature, features: width });
        }
        let (mut features, mut classes) = (examples.features().to_vec(), classes.clone());
        for (index, (row, class)) in features.chunks_mut(width).zip(&mut classes).enumerate() {
            if is_chosen(index) {
                self.trigger_features.iter().for_each(|feature| row[*feature] = self.trigger_value);
                *class = self.target;
            }
        }
        rebuilt(examples, features, Labels::Classes(classes))
    }
}
