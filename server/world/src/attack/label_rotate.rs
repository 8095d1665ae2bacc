use serde::{Deserialize, Serialize};

use crate::setting::Check;

/// Labels class y as (y + by) mod classes. Every label is then wrong, as in the untargeted label flipping of Fang et
/// al. 2020, "Local model poisoning attacks to Byzantine-robust federated learning", which uses another permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRotate {
    /// The number of classes by which labels are rotated.
    #[serde(default = "one")]
    pub by: u32,
    /// The number of classes of the task. A client need not hold all of them.
    pub classes: u32,
}

fn one() -> u32 {
    1
}

impl LabelRotate {
    pub(super) fn check(&self, check: &mut Check) {
        check.count("attack.classes", self.classes as usize, self.classes >= 2, "at least 2");
        let still = self.classes > 0 && self.by.is_multiple_of(self.classes);
        check.count(
            "attack.by",
            self.by as usize,
            !still,
            "a number that is not a multiple of the number of classes",
        );
    }

    /// Returns the rotated class. A label that is not a class of the task is returned unchanged.
    pub(super) fn class(&self, class: u32) -> u32 {
        if class >= self.classes {
            return class;
        }
        ((u64::from(class) + u64::from(self.by)) % u64::from(self.classes)) as u32
    }
}
