//! What is wrong with a description as a whole: its parts check themselves, and their combinations are checked together.

use folkmoot_protocol::{DisplayName, limits::NAME_BYTES_MAX};

use super::{Fault, TaskDescription, combination};
use crate::{privacy::PrivacyChoice, scheduling::SchedulingPolicy};

/// The most rounds that a task may abandon in a row.
const ABANDONED_ROUNDS_MAX: u64 = 1_000_000;

impl TaskDescription {
    /// Lists everything that is wrong with the description, or nothing.
    pub fn validate(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Err(fault) = DisplayName::check(&self.name) {
            let remedy = format!("give it 1 to {NAME_BYTES_MAX} bytes without control characters");
            faults.push(Fault::new("name", fault.to_string(), remedy));
        }
        faults.extend(self.plan.faults().into_iter().map(|fault| {
            let (field, remedy) = (format!("plan.{}", fault.field), format!("it must be {}", fault.allowed));
            Fault::new(&field, format!("it is {}", fault.value), remedy)
        }));
        self.eligibility.validate(&mut faults);
        self.selection.validate(&mut faults);
        self.validate_token_share(&mut faults);
        let policy = self.scheduling.policy();
        policy.validate(&mut faults);
        let (fewest, most) = policy.updates();
        self.aggregator.validate(fewest, most, &mut faults);
        self.finalizer.validate(&mut faults);
        self.validate_grid(&mut faults);
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
                "it must be 1 to 1000000; 20 suits most tasks",
            ));
        }
        match &self.privacy {
            PrivacyChoice::None => {}
            PrivacyChoice::Central(central) => central.validate(&self.privacy_context(), &mut faults),
            PrivacyChoice::Local(local) => local.validate(&self.privacy_context(), &mut faults),
        }
        self.validate_compression(&mut faults);
        if let Some(downstream) = &self.downstream {
            downstream.validate(&mut faults);
        }
        combination::validate(self, &mut faults);
        faults
    }

    /// Refuses a share out of range.
    fn validate_token_share(&self, faults: &mut Vec<Fault>) {
        if let Some(share) = self.token_share_max.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            let remedy = "it must be above 0 and at most 1; leave it out for no bound";
            faults.push(Fault::new("token_share_max", format!("it is {share}"), remedy));
        }
    }

    /// Refuses a grid on which a cohort's sum could overflow, or a single value could not be exact.
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
            faults.push(Fault::new("grid.weight_max", "it is 0 or above 2^29", "10000 suits most tasks"));
            return;
        }
        let bits = f64::from(grid.value_max).log2()
            + (grid.weight_max as f64).log2()
            + f64::from(grid.fraction_bits);
        if bits > 50.0 {
            let message = format!("a weighted value would need {bits:.1} bits of the 50 that are exact");
            let remedy =
                format!("lower it to {}", (f64::from(grid.fraction_bits) + 50.0 - bits).floor().max(0.0));
            faults.push(Fault::new("grid.fraction_bits", message, remedy));
        }
        let sampled = self.sampled();
        let most = sampled.map_or_else(|| self.scheduling.policy().updates().1, |policy| policy.updates().1);
        let cohort_bits = (most.max(1) as f64).log2();
        // What is not summed on the grid cannot overflow on it.
        if self.sums_on_arrival() && bits + cohort_bits > 62.0 {
            let message = format!("the sum over a cohort could need {:.1} bits of 62", bits + cohort_bits);
            let (field, remedy) = match sampled {
                // Whatever its goal is, a draw may bring as many as are in it.
                Some(_) => ("grid.weight_max", "lower it or grid.fraction_bits"),
                None => ("scheduling.report_goal", "lower it, grid.weight_max or grid.fraction_bits"),
            };
            faults.push(Fault::new(field, message, remedy));
        }
    }
}
