use serde::{Deserialize, Serialize};

/// Calls every example of one class another (Tolpegin et al. 2020, "Data poisoning attacks against federated
/// learning systems").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelFlip {
    /// The class that is lied about.
    pub from: u32,
    /// What it is called.
    pub to: u32,
}

impl LabelFlip {
    pub(super) fn class(&self, class: u32) -> u32 {
        if class == self.from { self.to } else { class }
    }
}
