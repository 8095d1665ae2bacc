use serde::{Deserialize, Serialize};

/// What a client does with the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// It trains it and sends the model delta.
    #[default]
    Training,
    /// It measures it on its examples and sends an update without values: only the metrics.
    Evaluation,
}

impl Work {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
