use std::collections::BTreeMap;

use folkmoot_protocol::{AssignmentId, DeviceRule};

use super::{DeviceConditions, conditions::PREFIX};

/// The device rules of the current plan. They must hold until the work is done.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanRules {
    assignment: Option<AssignmentId>,
    rules: Vec<DeviceRule>,
}

impl PlanRules {
    /// Keeps the rules of the plan that are about the device.
    pub fn of(assignment: AssignmentId, rules: &[DeviceRule]) -> Self {
        let rules = rules.iter().filter(|rule| rule.attribute.starts_with(PREFIX)).cloned().collect();
        Self { assignment: Some(assignment), rules }
    }

    /// Returns whether these rules belong to this assignment.
    pub fn are_of(&self, assignment: AssignmentId) -> bool {
        self.assignment == Some(assignment)
    }

    /// Returns whether the rules hold. A rule about an unknown condition is no reason to pause: it was checked against
    /// the app's private attributes when the plan arrived.
    pub fn hold(&self, now: &DeviceConditions) -> bool {
        let mut known = BTreeMap::new();
        now.add_to(&mut known);
        self.rules.iter().all(|rule| !known.contains_key(&rule.attribute) || rule.holds(&known))
    }
}
