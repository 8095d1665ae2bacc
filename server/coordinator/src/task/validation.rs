//! Validates a whole description: each part on its own, then the combinations of parts.

use folkmoot_protocol::{DisplayName, limits::NAME_BYTES_MAX};

use super::{Fault, TaskDescription, anomaly, combination, drift};
use crate::{privacy::PrivacyChoice, scheduling::SchedulingPolicy};

/// The largest value of `abandoned_rounds_max`.
const ABANDONED_ROUNDS_MAX: u64 = 1_000_000;

impl TaskDescription {
    /// Lists all faults of the description.
    pub fn validate(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Err(fault) = DisplayName::check(&self.name) {
            let remedy = format!("it must have 1 to {NAME_BYTES_MAX} bytes without control characters");
            faults.push(Fault::new("name", fault.to_string(), remedy));
        }
        faults.extend(self.plan.faults().into_iter().map(|fault| {
            let (field, remedy) = (format!("plan.{}", fault.field), format!("it must be {}", fault.allowed));
            Fault::new(&field, format!("it is {}", fault.value), remedy)
        }));
        if let Some(data) = &self.data {
            data.validate(&mut faults);
        }
        self.eligibility.validate(&mut faults);
        self.selection.validate(&mut faults);
        self.validate_token_share(&mut faults);
        let policy = self.scheduling.policy();
        policy.validate(&mut faults);
        let (fewest, most) = policy.updates();
        self.preparation().validate(&self.aggregator, fewest, most, &mut faults);
        self.finalizer.validate(&mut faults);
        self.validate_grid(&mut faults);
        self.validate_protection(&mut faults);
        if let Some(evaluation) = &self.evaluation {
            evaluation.validate(&mut faults);
        }
        self.traffic.validate(&mut faults);
        self.stop.validate(&mut faults);
        if !(1..=ABANDONED_ROUNDS_MAX).contains(&self.abandoned_rounds_max) {
            let message = format!("it is {}", self.abandoned_rounds_max);
            faults.push(Fault::new(
                "abandoned_rounds_max",
                message,
                "it must be 1 to 1000000; use 20 for most tasks",
            ));
        }
        match &self.privacy {
            PrivacyChoice::None => {}
            PrivacyChoice::Central(central) => central.validate(&self.privacy_context(), &mut faults),
            PrivacyChoice::Local(local) => local.validate(&self.privacy_context(), &mut faults),
            PrivacyChoice::Distributed(distributed) => {
                distributed.validate(&self.privacy_context(), &mut faults);
            }
        }
        self.validate_compression(&mut faults);
        if let Some(downstream) = &self.downstream {
            downstream.validate(&mut faults);
        }
        self.validate_local_work(&mut faults);
        self.validate_losses(&mut faults);
        anomaly::validate(self, &mut faults);
        drift::validate(self, &mut faults);
        combination::validate(self, &mut faults);
        faults
    }

    /// Records a fault unless `token_share_max` is above 0 and at most 1.
    fn validate_token_share(&self, faults: &mut Vec<Fault>) {
        if let Some(share) = self.token_share_max.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            let remedy = "it must be above 0 and at most 1; remove token_share_max for no limit";
            faults.push(Fault::new("token_share_max", format!("it is {share}"), remedy));
        }
    }

    /// Records a fault if a cohort's sum could overflow on the grid, or a single value would not be exact.
    fn validate_grid(&self, faults: &mut Vec<Fault>) {
        let grid = &self.grid;
        if !(grid.value_max.is_finite() && grid.value_max > 0.0) {
            faults.push(Fault::new(
                "grid.value_max",
                format!("it is {}", grid.value_max),
                "it must be above 0",
            ));
            return;
        }
        if grid.weight_max == 0 || grid.weight_max > 1 << 29 {
            faults.push(Fault::new(
                "grid.weight_max",
                format!("it is {}", grid.weight_max),
                "it must be 1 to 2^29; use 10000 for most tasks",
            ));
            return;
        }
        let bits = f64::from(grid.value_max).log2()
            + (grid.weight_max as f64).log2()
            + f64::from(grid.fraction_bits);
        if bits > 50.0 {
            let message = format!("a weighted value would need {bits:.1} bits, but only 50 are exact");
            let remedy = format!(
                "lower fraction_bits to {}",
                (f64::from(grid.fraction_bits) + 50.0 - bits).floor().max(0.0)
            );
            faults.push(Fault::new("grid.fraction_bits", message, remedy));
        }
        let sampled = self.sampled();
        let most = sampled.map_or_else(|| self.scheduling.policy().updates().1, |policy| policy.updates().1);
        let cohort_bits = (most.max(1) as f64).log2();
        // Only updates that are summed on the grid can overflow on it.
        if self.sums_on_arrival() && bits + cohort_bits > 62.0 {
            let message = format!(
                "the sum over a cohort could need {:.1} bits, but a sum has only 62",
                bits + cohort_bits
            );
            let (field, remedy) = match sampled {
                // A kept draw may contain every client up to the cohort size, no matter how small the goal is.
                Some(_) => ("grid.weight_max", "lower grid.weight_max or grid.fraction_bits"),
                None => {
                    ("scheduling.report_goal", "lower report_goal, grid.weight_max or grid.fraction_bits")
                }
            };
            faults.push(Fault::new(field, message, remedy));
        }
    }
}
