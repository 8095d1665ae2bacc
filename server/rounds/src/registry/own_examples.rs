//! The division of the operator's examples between the rule that combines updates and the evaluation of versions.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{Examples, ExamplesError};

/// Returns whether a task needs examples of the operator, for its aggregator or for a central evaluation.
pub fn needs_own_examples(description: &TaskDescription) -> bool {
    description.aggregator.own_examples().is_some() || description.measures_centrally()
}

/// The operator's examples, divided by their use.
pub struct OwnDivided {
    /// The examples on which the aggregator computes. Empty if it uses none.
    pub guiding: Examples,
    /// The examples on which versions are evaluated. The aggregator does not use them.
    pub measuring: Examples,
}

impl OwnDivided {
    /// Divides the operator's examples. A hash of each example's index decides, so files may be sorted by class, and the division is
    /// the same for all versions of a task.
    ///
    /// # Errors
    /// Never for whole examples: all indices are theirs.
    pub fn of(description: &TaskDescription, examples: Examples) -> Result<Self, ExamplesError> {
        let Some(wanted) = description.aggregator.own_examples() else {
            return Ok(Self { guiding: Examples::none(), measuring: examples });
        };
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(examples.len());
        let mut order: Vec<usize> = (0..examples.len()).collect();
        order.sort_by_cached_key(|index| *blake3::hash(&(*index as u64).to_le_bytes()).as_bytes());
        let (guiding, measuring) = order.split_at_mut(wanted);
        guiding.sort_unstable();
        measuring.sort_unstable();
        Ok(Self { guiding: examples.subset(guiding)?, measuring: examples.subset(measuring)? })
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engine::Labels;

    use super::*;

    fn classes(examples: &Examples) -> Vec<u32> {
        match examples.labels() {
            Labels::Classes(classes) => classes.clone(),
            labels => panic!("{labels:?}"),
        }
    }

    #[test]
    fn no_example_both_guides_and_measures_and_sorted_files_are_mixed() {
        let labels: Vec<u32> = (0..1000).collect();
        let examples = Examples::new(vec![0.0; 1000], vec![1], Labels::Classes(labels.clone())).unwrap();
        let mut description: TaskDescription = serde_json::from_value(serde_json::json!({
            "name": "digits", "population": "digits",
            "plan": { "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } }, "epochs": 1, "batch_size": 16 },
            "scheduling": { "kind": "synchronous", "report_goal": 8 },
            "aggregator": { "kind": "fl_trust" },
            "stop": { "rounds": 30 },
        }))
        .unwrap();
        let divided = OwnDivided::of(&description, examples.clone()).unwrap();
        let (guiding, measuring) = (classes(&divided.guiding), classes(&divided.measuring));
        assert_eq!((guiding.len(), measuring.len()), (100, 900));
        assert!(guiding.is_sorted() && measuring.is_sorted());
        let mut all = [guiding.clone(), measuring].concat();
        all.sort_unstable();
        assert_eq!(all, labels);
        assert!((30..70).contains(&guiding.iter().filter(|class| **class < 500).count()));
        description.aggregator = Default::default();
        let divided = OwnDivided::of(&description, examples).unwrap();
        assert_eq!((divided.guiding.len(), divided.measuring.len()), (0, 1000));
    }
}
