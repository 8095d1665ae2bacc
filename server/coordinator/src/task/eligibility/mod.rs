//! Eligibility: the requirements on clients that take part.

mod allowed_values;
mod cool_down;
mod ineligible;
mod participation_limit;
#[cfg(test)]
mod tests;
mod version_range;

use std::collections::BTreeMap;

use folkmoot_protocol::{
    DEVICE_RULES_MAX, DeviceRule, Timestamp,
    limits::{ATTRIBUTE_BYTES_MAX, ATTRIBUTES_MAX},
};
use serde::{Deserialize, Serialize};

pub use allowed_values::{ALLOWED_VALUES_MAX, AllowedValues};
pub use ineligible::Ineligible;
pub use participation_limit::ParticipationLimit;
pub use version_range::VersionRange;

use super::Fault;
use crate::participation::Waiting;

/// The requirements on clients that take part. A requirement that is left out does not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Eligibility {
    /// The minimum number of examples that a client must have. A client without examples is never eligible.
    pub minimum_examples: u64,
    /// Attributes that a client must report, each with its allowed values.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "region": "eu", "platform": ["android", "ios"] }])))]
    pub attributes: BTreeMap<String, AllowedValues>,
    /// The SDK versions that may take part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_version: Option<VersionRange>,
    /// The limit on how often a client may take part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participation_limit: Option<ParticipationLimit>,
    /// Seconds for which a client is not eligible after an assignment without an update. Each further consecutive
    /// failure doubles the time, up to 64 times the initial value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 2_592_000), extend("examples" = [3600])))]
    pub cool_down_seconds: Option<u64>,
    /// Rules about private attributes, which only the device evaluates. The rules are sent with the plan; the
    /// attributes never leave the device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32), extend("default" = [], "examples" = [[{ "attribute": "age", "condition": { "at_least": 18.0 } }]])))]
    pub device_rules: Vec<DeviceRule>,
}

impl Eligibility {
    /// Checks that a client may take part in a round. `round_number` starts at 1.
    ///
    /// # Errors
    /// The first reason why the client may not take part.
    pub fn admits(&self, waiting: &Waiting, round_number: u64, now: Timestamp) -> Result<(), Ineligible> {
        let Waiting { candidate, history, .. } = waiting;
        let has_allowed = |(name, allowed): (&String, &AllowedValues)| {
            candidate.attributes.get(name).is_some_and(|value| allowed.contains(value))
        };
        let refuse_unless = |is_right: bool, reason| if is_right { Ok(()) } else { Err(reason) };
        let has_examples = candidate.example_count >= self.minimum_examples.max(1);
        refuse_unless(has_examples, Ineligible::TooFewExamples)?;
        refuse_unless(self.attributes.iter().all(has_allowed), Ineligible::Attribute)?;
        let version = self.sdk_version.as_ref();
        let has_version = version.is_none_or(|range| range.contains(&candidate.sdk_version));
        refuse_unless(has_version, Ineligible::SdkVersion)?;
        let limit = self.participation_limit.as_ref();
        let is_spaced = limit.is_none_or(|limit| limit.allows(history, round_number, now));
        refuse_unless(is_spaced, Ineligible::ParticipationLimit)?;
        let is_cool = self.cool_down_seconds.is_none_or(|seconds| cool_down::is_over(seconds, history, now));
        refuse_unless(is_cool, Ineligible::CoolDown)
    }

    pub(crate) fn validate(&self, faults: &mut Vec<Fault>) {
        let mut refuse = |field: &str, message: String, remedy: String| {
            faults.push(Fault::new(&format!("eligibility.{field}"), message, remedy));
        };
        if self.attributes.len() > ATTRIBUTES_MAX {
            let message = format!("it names {} attributes", self.attributes.len());
            refuse("attributes", message, format!("name at most {ATTRIBUTES_MAX}; a client reports no more"));
        }
        for (name, allowed) in &self.attributes {
            let field = format!("attributes.{}", shortened(name));
            if name.is_empty() || name.len() > ATTRIBUTE_BYTES_MAX {
                let message = format!("the name has {} bytes", name.len());
                refuse(&field, message, format!("it must have 1 to {ATTRIBUTE_BYTES_MAX} bytes"));
            }
            if let Err((message, remedy)) = allowed.check() {
                refuse(&field, message, remedy);
            }
        }
        if let Some(Err((message, remedy))) = self.sdk_version.as_ref().map(VersionRange::check) {
            refuse("sdk_version", message, remedy);
        }
        if let Some(Err((field, message, remedy))) =
            self.participation_limit.as_ref().map(ParticipationLimit::check)
        {
            refuse(&format!("participation_limit.{field}"), message, remedy);
        }
        if let Some(seconds) = self.cool_down_seconds.filter(|seconds| !cool_down::is_allowed(*seconds)) {
            refuse("cool_down_seconds", format!("it is {seconds}"), "it must be 1 second to 30 days".into());
        }
        if self.device_rules.len() > DEVICE_RULES_MAX {
            let message = format!("it has {} rules", self.device_rules.len());
            refuse("device_rules", message, format!("use at most {DEVICE_RULES_MAX} rules"));
        }
        for (place, rule) in self.device_rules.iter().enumerate() {
            if let Err(fault) = rule.validate() {
                let field = format!("device_rules[{place}].{}", fault.field);
                refuse(&field, format!("it is {}", fault.value), format!("it must be {}", fault.allowed));
            }
        }
    }
}

/// Truncates a text to 64 characters, for use in a message.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}
