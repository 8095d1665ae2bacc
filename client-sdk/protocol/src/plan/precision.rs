use serde::{Deserialize, Serialize};

/// The numerical precision of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// All numbers have 32 bits.
    #[default]
    Single,
    /// Activations and their gradients have 16 bits. Weights, sums, the loss and the optimizer's state have 32. The
    /// loss is scaled, and steps whose gradient overflows are skipped (Micikevicius et al. 2018). The client needs a
    /// GPU with 16-bit numbers, and otherwise refuses the plan.
    Mixed,
}
