use folkmoot_engine::{Metrics, Progress};
use folkmoot_protocol::AssignmentId;

use crate::{ClientEvent, Placement};

/// The minimum time between two progress events, in milliseconds.
pub(super) const PROGRESS_MILLISECONDS: u64 = 100;

/// An event that the work reports while it runs.
pub(crate) enum WorkNews {
    /// The training now runs on this device.
    Placed(Placement),
    /// The training made progress.
    Progress(Progress),
    /// The evaluation made progress.
    Evaluated {
        /// The sums over the examples so far.
        metrics: Metrics,
        /// The number of examples in the whole evaluation.
        examples_total: u64,
    },
}

impl WorkNews {
    /// Converts this to the event that the app receives.
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
