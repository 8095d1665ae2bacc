use std::collections::BTreeMap;

use folkmoot_protocol::{DeviceRule, Recipe};
use serde::{Deserialize, Serialize};

/// Choices of a task, at most.
pub const COMPRESSION_CHOICES_MAX: usize = 16;

/// How clients compress that say certain things of themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompressionChoice {
    /// What has to hold for the attributes of the client's check-in: all of it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 32), extend("examples" = [[{ "attribute": "network", "condition": { "equals": "4g" } }]])))]
    pub when: Vec<DeviceRule>,
    /// How the client compresses then, if it knows the codecs.
    pub recipe: Recipe,
}

impl CompressionChoice {
    /// Says whether it is for a client that states these attributes and can write these codecs.
    pub(super) fn is_for(&self, attributes: &BTreeMap<String, String>, codecs: &[String]) -> bool {
        self.when.iter().all(|rule| rule.holds(attributes)) && self.recipe.is_of(codecs)
    }
}
