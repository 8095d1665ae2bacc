use serde::{Deserialize, Serialize};

/// The treatment of running statistics (the means and variances of batch normalisation), which have no gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunningStatistics {
    /// Their change is part of the update, like that of any weight.
    #[default]
    Aggregate,
    /// They are personal: each client keeps its own from one training to the next, and they do not travel (like the
    /// statistics in FedBN, Li et al. 2021).
    KeepLocal,
}
