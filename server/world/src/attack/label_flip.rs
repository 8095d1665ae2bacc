use serde::{Deserialize, Serialize};

/// Labels every example of one class as another class (Tolpegin et al. 2020, "Data poisoning attacks against federated
/// learning systems").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelFlip {
    /// The true class of the relabelled examples.
    pub from: u32,
    /// The wrong class that these examples are labelled with.
    pub to: u32,
}

impl LabelFlip {
    pub(super) fn class(&self, class: u32) -> u32 {
        if class == self.from { self.to } else { class }
    }
}
