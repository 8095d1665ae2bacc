//! Decides whether this device takes part in an assignment: by the app's private attributes, then by asking the app.

use std::{collections::BTreeMap, fmt, sync::Arc};

use folkmoot_protocol::{Plan, messages::Assignment};

use crate::DeviceConditions;

/// The app's callback that accepts or refuses an assignment.
pub type Ask = Arc<dyn Fn(&Assignment, &Plan) -> bool + Send + Sync>;

/// The rules that accept or decline an assignment. None of them is ever sent or logged. The coordinator learns only
/// that the assignment was declined.
#[derive(Clone, Default)]
pub struct Consent {
    private_attributes: Arc<BTreeMap<String, String>>,
    ask: Option<Ask>,
}

impl Consent {
    /// Creates the rules. The private attributes decide first, then the app's callback. Without a callback, the
    /// attributes alone decide.
    pub fn new(private_attributes: BTreeMap<String, String>, ask: Option<Ask>) -> Self {
        Self { private_attributes: Arc::new(private_attributes), ask }
    }

    /// Returns whether all device rules of the plan hold under these conditions.
    pub fn rules_hold(&self, plan: &Plan, conditions: &DeviceConditions) -> bool {
        let mut known = (*self.private_attributes).clone();
        conditions.add_to(&mut known);
        plan.device_rules.iter().all(|rule| rule.holds(&known))
    }

    /// Returns whether the client accepts the assignment. The app's callback is not called if the rules do not hold.
    pub fn is_given(&self, assignment: &Assignment, plan: &Plan, conditions: &DeviceConditions) -> bool {
        self.rules_hold(plan, conditions) && self.ask.as_ref().is_none_or(|ask| ask(assignment, plan))
    }
}

/// Prints neither names nor values.
impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consent").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{DeviceCondition, DeviceRule};

    use super::*;
    use crate::samples;

    fn plan(conditions: &[(&str, DeviceCondition)]) -> Plan {
        let rule = |(attribute, condition): &(&str, DeviceCondition)| DeviceRule {
            attribute: (*attribute).to_owned(),
            condition: condition.clone(),
        };
        Plan { device_rules: conditions.iter().map(rule).collect(), ..samples::plan() }
    }

    #[test]
    fn all_rules_have_to_hold() {
        let attributes = [("age", "30"), ("city", "Ghent")].map(|(name, value)| (name.into(), value.into()));
        let consent = Consent::new(attributes.into(), None);
        let unknown = DeviceConditions::default();
        let adult = ("age", DeviceCondition::AtLeast(18.0));
        let [here, there] =
            ["Ghent", "Bruges"].map(|city| ("city", DeviceCondition::Equals(city.to_owned())));
        assert!(consent.rules_hold(&plan(&[]), &unknown));
        assert!(consent.rules_hold(&plan(&[adult.clone(), here]), &unknown));
        assert!(!consent.rules_hold(&plan(&[adult.clone(), there]), &unknown));
        assert!(!Consent::default().rules_hold(&plan(&[adult]), &unknown));
        assert!(!format!("{consent:?}").contains("Ghent"));
    }

    #[test]
    fn the_app_is_asked_when_the_rules_hold() {
        let attributes = BTreeMap::from([("age".to_owned(), "30".to_owned())]);
        let consent =
            |answer: bool| Consent::new(attributes.clone(), Some(Arc::new(move |_: &_, _: &_| answer)));
        let (assignment, unknown) = (samples::assignment(), DeviceConditions::default());
        let adult = plan(&[("age", DeviceCondition::AtLeast(18.0))]);
        let child = plan(&[("age", DeviceCondition::AtMost(17.0))]);
        assert!(consent(true).is_given(&assignment, &adult, &unknown));
        assert!(!consent(false).is_given(&assignment, &adult, &unknown));
        assert!(!consent(true).is_given(&assignment, &child, &unknown));
        let asks = |_: &Assignment, _: &Plan| -> bool { panic!("the rules do not hold") };
        let consent = Consent::new(attributes.clone(), Some(Arc::new(asks)));
        assert!(!consent.is_given(&assignment, &child, &unknown));
    }

    #[test]
    fn rules_see_what_is_known_of_the_device() {
        let rule = || plan(&[("device.charging", DeviceCondition::Equals("true".into()))]);
        let consent = Consent::new([("device.charging".to_owned(), "true".to_owned())].into(), None);
        let charging = |holds| DeviceConditions { is_charging: holds, ..DeviceConditions::default() };
        assert!(Consent::default().rules_hold(&rule(), &charging(Some(true))));
        assert!(!Consent::default().rules_hold(&rule(), &charging(None)));
        assert!(
            consent.rules_hold(&rule(), &charging(None)),
            "the app's word, where nothing better is known"
        );
        assert!(!consent.rules_hold(&rule(), &charging(Some(false))));
        let charged = plan(&[("device.battery_percent", DeviceCondition::AtLeast(50.0))]);
        let conditions = DeviceConditions { battery_percent: Some(50), ..DeviceConditions::default() };
        assert!(consent.rules_hold(&charged, &conditions));
    }
}
