use folkmoot_component::Component;
use folkmoot_protocol::Fault;

use super::{Combination, Measured, aggregator::Aggregator};

/// The maximum number of updates that a component combines. They are all in its memory, a tile at a time.
const COMPONENT_UPDATES_MAX: u64 = 16_384;

impl Aggregator for Component {
    fn combination(&self, _weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        unreachable!("the component combines the updates itself")
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(1)
    }

    fn validate(&self, _cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        self.validate_in("aggregator", faults);
        if cohort_max > COMPONENT_UPDATES_MAX {
            let message = format!("a cohort of {cohort_max} is too large for a component");
            let remedy =
                format!("limit the cohort to {COMPONENT_UPDATES_MAX}, or choose another aggregator.kind");
            faults.push(Fault::new("scheduling.report_goal", message, remedy));
        }
    }
}
