use serde::{Deserialize, Serialize};

/// The parties that can see an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The coordinator can see the update. It is encrypted in transit.
    #[default]
    Plain,
}
