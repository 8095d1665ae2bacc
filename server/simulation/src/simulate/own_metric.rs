use folkmoot_engine::Evaluator;
use folkmoot_protocol::Metric;

/// A measurement of versions on the held-out examples of each client, with the client's own personal tensors.
pub(super) struct OwnMetric {
    pub metric: Metric,
    pub every_versions: u64,
    pub evaluator: Option<Evaluator>,
    /// The metric of each client in the last version that was measured. Values that are not finite are left out.
    pub last: Vec<f64>,
}

impl OwnMetric {
    pub fn new(metric: Metric, every_versions: u64) -> Self {
        Self { metric, every_versions: every_versions.max(1), evaluator: None, last: Vec::new() }
    }
}
