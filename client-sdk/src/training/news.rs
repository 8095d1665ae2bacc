use folkmoot_engine::{Metrics, Progress};
use folkmoot_protocol::AssignmentId;

use crate::{ClientEvent, Placement};

/// How often progress is told.
pub(super) const PROGRESS_MILLISECONDS: u64 = 100;

/// What the work tells on the way.
pub(crate) enum WorkNews {
    /// The training runs here from now on.
    Placed(Placement),
    /// The training goes on.
    Progress(Progress),
    /// The evaluation goes on.
    Evaluated {
        /// The sums so far.
        metrics: Metrics,
        /// The examples of the whole evaluation.
        examples_total: u64,
    },
}

impl WorkNews {
    /// Tells it in the words of a client.
    pub fn event(self, assignment_id: AssignmentId) -> ClientEvent {
        match self {
            Self::Placed(Placement { device, energy_class, .. }) => {
                ClientEvent::Device { assignment_id, device, energy_class }
            }
            Self::Progress(Progress { step, steps_total, loss, .. }) => {
                ClientEvent::Training { assignment_id, step, steps_total, loss }
            }
            Self::Evaluated { metrics, examples_total } => {
                ClientEvent::Evaluating { assignment_id, metrics, examples_total }
            }
        }
    }
}
