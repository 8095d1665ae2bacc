use std::collections::BTreeMap;

use folkmoot_protocol::{DeviceRule, Recipe};
use serde::{Deserialize, Serialize};

/// The maximum number of compression rules of a task.
pub const COMPRESSION_CHOICES_MAX: usize = 16;

/// A compression rule for clients with certain attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompressionChoice {
    /// Conditions on the attributes of the client's check-in. All of them must hold.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 32), extend("examples" = [[{ "attribute": "network", "condition": { "equals": "4g" } }]])))]
    pub when: Vec<DeviceRule>,
    /// The recipe for clients to which the rule applies, if they support its codecs.
    pub recipe: Recipe,
}

impl CompressionChoice {
    /// Returns whether the rule applies to a client with these attributes and codecs.
    pub(super) fn is_for(&self, attributes: &BTreeMap<String, String>, codecs: &[String]) -> bool {
        self.when.iter().all(|rule| rule.holds(attributes)) && self.recipe.is_of(codecs)
    }
}
