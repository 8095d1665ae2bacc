use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PlanError;
use crate::limits::ATTRIBUTE_BYTES_MAX;

/// The maximum number of device rules in a plan.
pub const DEVICE_RULES_MAX: usize = 32;
/// The maximum number of values in one rule.
pub const DEVICE_RULE_VALUES_MAX: usize = 64;

/// A rule about an attribute of a client.
///
/// The rules of a plan are about private attributes, which the app gives to the SDK. The device evaluates them itself,
/// and the coordinator never receives the attribute. However, whether a client takes part reveals whether all rules
/// hold. If few clients meet a rule, this reveals much about those that do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceRule {
    /// The attribute's name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128), extend("examples" = ["age"])))]
    pub attribute: String,
    /// The condition on the attribute's value.
    pub condition: DeviceCondition,
}

/// A condition on an attribute's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DeviceCondition {
    /// The value is exactly this text.
    Equals(#[cfg_attr(feature = "schema", schemars(length(max = 128), extend("examples" = ["yes"])))] String),
    /// The value is one of these texts.
    OneOf(
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 64), extend("examples" = [["yes", "no"]])))]
         Vec<String>,
    ),
    /// The value is a number, at least this.
    AtLeast(#[cfg_attr(feature = "schema", schemars(extend("examples" = [18.0])))] f64),
    /// The value is a number, at most this.
    AtMost(#[cfg_attr(feature = "schema", schemars(extend("examples" = [65.0])))] f64),
}

impl DeviceRule {
    /// Returns whether the rule holds. It does not hold if the attribute is absent, or if the condition compares
    /// numbers and the value is not a finite number.
    pub fn holds(&self, attributes: &BTreeMap<String, String>) -> bool {
        let Some(value) = attributes.get(&self.attribute) else { return false };
        let number = || value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match &self.condition {
            DeviceCondition::Equals(wanted) => value == wanted,
            DeviceCondition::OneOf(wanted) => wanted.contains(value),
            DeviceCondition::AtLeast(bound) => number().is_some_and(|number| number >= *bound),
            DeviceCondition::AtMost(bound) => number().is_some_and(|number| number <= *bound),
        }
    }

    /// Checks the lengths of names and values, and that bounds are finite numbers.
    ///
    /// # Errors
    /// The first [`PlanError`], whose field is a path within the rule.
    pub fn validate(&self) -> Result<(), PlanError> {
        let fault = |field, value, allowed| Err(PlanError { field, value, allowed });
        let name_bytes = self.attribute.len();
        if name_bytes == 0 || name_bytes > ATTRIBUTE_BYTES_MAX {
            return fault("attribute", name_bytes as f64, "1 to 128 bytes long");
        }
        match &self.condition {
            DeviceCondition::Equals(value) if value.len() > ATTRIBUTE_BYTES_MAX => {
                fault("condition.equals", value.len() as f64, "at most 128 bytes long")
            }
            DeviceCondition::OneOf(values) if !(1..=DEVICE_RULE_VALUES_MAX).contains(&values.len()) => {
                fault("condition.one_of", values.len() as f64, "a list of 1 to 64 values")
            }
            DeviceCondition::OneOf(values) => {
                match values.iter().find(|value| value.len() > ATTRIBUTE_BYTES_MAX) {
                    Some(value) => {
                        fault("condition.one_of", value.len() as f64, "values of at most 128 bytes each")
                    }
                    None => Ok(()),
                }
            }
            DeviceCondition::AtLeast(bound) if !bound.is_finite() => {
                fault("condition.at_least", *bound, "a number")
            }
            DeviceCondition::AtMost(bound) if !bound.is_finite() => {
                fault("condition.at_most", *bound, "a number")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> DeviceRule {
        serde_json::from_str(&format!(r#"{{"attribute":"charge","condition":{json}}}"#)).unwrap()
    }

    #[test]
    fn a_rule_holds_for_the_values_that_it_names() {
        let cases: [(&str, &[&str], &[&str]); 4] = [
            (r#"{"equals":"yes"}"#, &["yes"], &["no", "Yes", ""]),
            (r#"{"one_of":["a","b"]}"#, &["a", "b"], &["c", "a,b"]),
            (r#"{"at_least":20.5}"#, &["20.5", " 21 ", "1e3"], &["20", "", "many", "NaN", "inf"]),
            (r#"{"at_most":-1}"#, &["-1", "-2.5"], &["0", "-inf", "-"]),
        ];
        for (json, holding, others) in cases {
            let holds = |value: &str| rule(json).holds(&[("charge".into(), value.into())].into());
            assert!(holding.iter().all(|value| holds(value)), "{json}");
            assert!(!others.iter().any(|value| holds(value)), "{json}");
            assert!(!rule(json).holds(&[("other".into(), holding[0].into())].into()), "{json}");
            assert_eq!(rule(json).validate(), Ok(()));
            assert_eq!(
                serde_json::from_str::<DeviceRule>(&serde_json::to_string(&rule(json)).unwrap()).unwrap(),
                rule(json)
            );
        }
    }

    #[test]
    fn what_is_too_long_or_no_rule_is_refused() {
        for bad in [r#"{"above":1}"#, r#"{"at_least":"x"}"#, r#"{"at_least":1,"at_most":2}"#] {
            let json = format!(r#"{{"attribute":"charge","condition":{bad}}}"#);
            assert!(serde_json::from_str::<DeviceRule>(&json).is_err(), "{bad}");
        }
        let long = "x".repeat(129);
        let faulty =
            |condition| DeviceRule { attribute: "a".into(), condition }.validate().unwrap_err().field;
        assert_eq!(faulty(DeviceCondition::Equals(long.clone())), "condition.equals");
        assert_eq!(faulty(DeviceCondition::OneOf(vec![])), "condition.one_of");
        assert_eq!(faulty(DeviceCondition::OneOf(vec!["a".into(); 65])), "condition.one_of");
        assert_eq!(faulty(DeviceCondition::OneOf(vec!["a".into(), long.clone()])), "condition.one_of");
        assert_eq!(faulty(DeviceCondition::AtLeast(f64::NAN)), "condition.at_least");
        assert_eq!(faulty(DeviceCondition::AtMost(f64::INFINITY)), "condition.at_most");
        for attribute in [String::new(), long] {
            let rule = DeviceRule { attribute, condition: DeviceCondition::AtMost(0.0) };
            assert_eq!(rule.validate().unwrap_err().field, "attribute");
        }
    }
}
