use folkmoot_engine::Progress;
use folkmoot_protocol::AssignmentId;

use crate::{ClientEvent, Placement};

/// What a training tells on the way.
pub(crate) enum TrainingNews {
    /// It runs here from now on.
    Placed(Placement),
    /// It goes on.
    Progress(Progress),
}

impl TrainingNews {
    /// Tells it in the words of a client.
    pub fn event(self, assignment_id: AssignmentId) -> ClientEvent {
        match self {
            Self::Placed(Placement { device, energy_class, .. }) => {
                ClientEvent::Device { assignment_id, device, energy_class }
            }
            Self::Progress(Progress { step, steps_total, loss, .. }) => {
                ClientEvent::Training { assignment_id, step, steps_total, loss }
            }
        }
    }
}
