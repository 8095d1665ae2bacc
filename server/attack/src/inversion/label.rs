//! The label of an example, from the change of the last bias (Zhao, Mopuri and Bilen 2020, "iDLG: improved deep leakage
//! from gradients", section 3.2).
//!
//! With softmax cross-entropy, the gradient with respect to the bias of a class is its probability, minus 1 for the true
//! class. So it is negative for the true class only, and a step of training raises that bias only. If an update is of
//! several examples, the class whose bias was raised most is the best guess.

use std::ops::Range;

use super::layout::{Tensor, largest};

/// The place of the last bias in an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastBias(Range<usize>);

impl LastBias {
    /// Finds the last tensor that gives away the labels of all probes: updates that the attacker has made, each of one
    /// example with a known label.
    pub fn find(tensors: &[Tensor], outputs: usize, probes: &[(Vec<f32>, u32)]) -> Option<Self> {
        let biases = tensors.iter().rev().filter(|tensor| tensor.shape == [outputs]);
        let biases = biases.map(|tensor| LastBias(tensor.range.clone()));
        biases.into_iter().find(|bias| probes.iter().all(|(update, label)| bias.guess(update) == *label))
    }

    /// Returns the likeliest label.
    pub fn guess(&self, update: &[f32]) -> u32 {
        let changes = &update[self.0.clone()];
        if let [change] = changes {
            // A single output is the logit of class 1.
            return u32::from(*change > 0.0);
        }
        let class = largest(changes.iter().map(|change| f64::from(*change))).unwrap_or_default();
        u32::try_from(class).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bias_that_is_raised_is_that_of_the_label() {
        // Probabilities 0.2, 0.5 and 0.3 of an example of class 2: the gradients are 0.2, 0.5 and −0.7. A step of 0.1
        // changes the biases by −0.02, −0.05 and 0.07.
        let tensors = [
            Tensor { shape: vec![3], range: 0..3 },
            Tensor { shape: vec![2, 3], range: 3..9 },
            Tensor { shape: vec![3], range: 9..12 },
        ];
        let mut update = vec![0.0f32; 12];
        update[1] = 1.0;
        update[9..].copy_from_slice(&[-0.02, -0.05, 0.07]);
        let bias = LastBias::find(&tensors, 3, &[(update.clone(), 2)]).unwrap();
        assert_eq!((bias.clone(), bias.guess(&update)), (LastBias(9..12), 2));
        // The first bias would say 1. No tensor says 0.
        assert_eq!(LastBias::find(&tensors, 3, &[(update.clone(), 1)]), Some(LastBias(0..3)));
        assert_eq!(LastBias::find(&tensors, 3, &[(update, 0)]), None);
        assert_eq!([0.1, -0.1].map(|change| LastBias(0..1).guess(&[change])), [1, 0]);
    }
}
