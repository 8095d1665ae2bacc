use folkmoot_aggregation::anomaly::CommitScores;
use folkmoot_protocol::{AssignmentId, update::UpdateMetrics};

/// The next version, computed but not stored.
pub struct Made {
    /// The weights: float32, little-endian.
    pub weights: Vec<u8>,
    /// The state for the next version: the number of the finalizer's slots if it is a component, the finalizer's state, and the
    /// state of the component that combines updates. Empty if nothing is kept.
    pub finalizer_state: Vec<u8>,
    /// The L2 norm of the change to the model.
    pub change_norm: f64,
    /// The clipping norm of the next round, if the coordinator adds noise.
    pub clipping_norm: Option<f64>,
    /// The state of the correlated noise after this version; empty if the noise is independent.
    pub noise_state: Vec<u8>,
    /// The metrics of all clients together, if they came inside the masks.
    pub metrics: Option<UpdateMetrics>,
    /// The scores of the updates; `None` if they are not scored.
    pub scores: Option<CommitScores<AssignmentId>>,
}
