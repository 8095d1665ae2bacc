use folkmoot_engine::{Examples, ExamplesError};

use crate::{
    chance::{Stream, shuffle},
    partition::Population,
};

/// Examples, and the group of each example, such as the device from which it comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// All examples.
    pub examples: Examples,
    /// The number of each example's group, from 0.
    pub groups: Vec<u32>,
}

/// A data set that is split into two parts.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The examples on which clients train.
    pub training: Dataset,
    /// The examples on which the model is measured.
    pub held_out: Dataset,
}

impl Dataset {
    /// Returns the data as a population that a partition can divide.
    pub fn population(&self) -> Population<'_> {
        Population { examples: &self.examples, groups: Some(&self.groups) }
    }

    /// Holds out `share`, from 0 to 1, of every group's examples. Every group keeps at least one example for training.
    ///
    /// If a group has too few examples to hold out a whole one, the remainder is carried over to the next groups.
    ///
    /// # Errors
    /// [`ExamplesError::NoSuchExample`] if there are more group numbers than examples.
    pub fn hold_out(&self, share: f64, seed: u64) -> Result<HeldOut, ExamplesError> {
        let group_count = self.groups.iter().max().map_or(0, |last| *last as usize + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); group_count];
        for (index, group) in self.groups.iter().enumerate() {
            members[*group as usize].push(index);
        }
        let (mut training, mut held_out, mut seen) = (Vec::new(), Vec::new(), 0);
        for (group, indices) in members.iter_mut().enumerate() {
            shuffle(indices, &mut Stream::new(seed, &[group as u64]));
            seen += indices.len();
            let owed =
                ((share.clamp(0.0, 1.0) * seen as f64).round() as usize).saturating_sub(held_out.len());
            let (kept_back, kept) = indices.split_at(owed.min(indices.len().saturating_sub(1)));
            held_out.extend_from_slice(kept_back);
            training.extend_from_slice(kept);
        }
        Ok(HeldOut { training: self.subset(training)?, held_out: self.subset(held_out)? })
    }

    /// Returns the examples with these indices, in the order of the data set.
    fn subset(&self, mut indices: Vec<usize>) -> Result<Dataset, ExamplesError> {
        indices.sort_unstable();
        let examples = self.examples.subset(&indices)?;
        Ok(Dataset { examples, groups: indices.iter().map(|index| self.groups[*index]).collect() })
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::Labels;

    use super::*;

    #[test]
    fn every_group_keeps_some_and_the_shares_add_up() {
        let groups: Vec<u32> = [vec![0; 1], vec![1; 2], vec![2; 3], vec![3; 94]].concat();
        let features = (0..100).map(|index| index as f32).collect();
        let examples = Examples::new(features, vec![1], Labels::Classes(vec![0; 100])).unwrap();
        let set = Dataset { examples, groups };
        let parts = set.hold_out(0.2, 1).unwrap();
        assert_eq!((parts.training.examples.len(), parts.held_out.examples.len()), (80, 20));
        assert!((0..4).all(|group| parts.training.groups.contains(&group)));
        let mut all = [parts.training.examples.features(), parts.held_out.examples.features()].concat();
        all.sort_by(f32::total_cmp);
        assert!(all.iter().enumerate().all(|(index, value)| *value == index as f32));
        // A share of 1 holds out all but one example of each of the four groups.
        let rest = set.hold_out(1.0, 1).unwrap();
        assert_eq!((rest.training.groups, rest.held_out.examples.len()), (vec![0, 1, 2, 3], 96));
    }
}
