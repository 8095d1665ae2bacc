//! Components of tasks: strategies of an operator's own.

use folkmoot_protocol::BlobDigest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An uploaded component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ComponentView {
    /// The digest of the file. Tasks name the component by this digest.
    pub component: BlobDigest,
    /// The tables of a task that can name the component: `aggregator`, `finalizer`, or both.
    pub roles: Vec<String>,
}
