use std::collections::BTreeMap;

use folkmoot_protocol::{AssignmentId, DeviceRule};

use super::{DeviceConditions, conditions::PREFIX};

/// What the plan of the work under way asks of the device, which has to hold until the work is done.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanRules {
    assignment: Option<AssignmentId>,
    rules: Vec<DeviceRule>,
}

impl PlanRules {
    pub fn of(assignment: AssignmentId, rules: &[DeviceRule]) -> Self {
        let rules = rules.iter().filter(|rule| rule.attribute.starts_with(PREFIX)).cloned().collect();
        Self { assignment: Some(assignment), rules }
    }

    /// Whether they are those of this assignment.
    pub fn are_of(&self, assignment: AssignmentId) -> bool {
        self.assignment == Some(assignment)
    }

    /// Whether they hold. Where the app tells nothing of a condition they are no reason to pause: its private attributes
    /// may speak of it, and were asked when the plan came.
    pub fn hold(&self, now: &DeviceConditions) -> bool {
        let mut known = BTreeMap::new();
        now.add_to(&mut known);
        self.rules.iter().all(|rule| !known.contains_key(&rule.attribute) || rule.holds(&known))
    }
}
