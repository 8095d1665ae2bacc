use serde::{Deserialize, Serialize};

/// The work of a client with the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// It trains the model and sends the model delta.
    #[default]
    Training,
    /// It evaluates the model on its examples and sends an update that contains only metrics, or sums of them.
    Evaluation,
}

impl Work {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
