//! Facts about an assignment that a client gets before it takes part, so that it can decline.

use folkmoot_protocol::messages::ProtectionLevel;

use super::TaskDescription;
use crate::{privacy::PrivacyChoice, round::Purpose, scheduling::SchedulingPolicy};

impl TaskDescription {
    /// Returns the minimum number of clients whose updates are combined before any result is released.
    ///
    /// Devices of the same user count separately. The result is 0 if rounds are Poisson samples, because even an
    /// empty draw makes a version.
    pub fn cohort_min(&self, purpose: Purpose) -> u64 {
        let federated = self.evaluation.as_ref().and_then(|evaluation| evaluation.federated.as_ref());
        if let (Purpose::Evaluation, Some(federated)) = (purpose, federated) {
            let whole = federated.policy().minimum_cohort();
            let is_sliced = !federated.slice_by.is_empty();
            return if is_sliced { whole.min(federated.minimum_group) } else { whole };
        }
        let fewest = match self.sampled() {
            Some(sampled) => sampled.updates().0,
            None => self.scheduling.policy().updates().0,
        };
        self.preparation().combined(&self.aggregator, fewest)
    }

    /// Returns the place where noise is added to hide a client's update. Evaluation sums get no noise.
    pub fn protection_level(&self, purpose: Purpose) -> ProtectionLevel {
        match (purpose, &self.privacy) {
            (Purpose::Evaluation, _) | (_, PrivacyChoice::None) => ProtectionLevel::None,
            (Purpose::Training, PrivacyChoice::Central(_)) => ProtectionLevel::Central,
            (Purpose::Training, PrivacyChoice::Local(_)) => ProtectionLevel::Local,
            (Purpose::Training, PrivacyChoice::Distributed(_)) => ProtectionLevel::Distributed,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::task::samples::described;

    fn training(parts: Value) -> u64 {
        described(parts).cohort_min(Purpose::Training)
    }

    #[test]
    fn the_cohort_is_the_fewest_updates_that_a_version_combines() {
        let synchronous = |minimum: Value| {
            json!({ "scheduling": {
                "kind": "synchronous", "report_goal": 10, "minimum_cohort": minimum,
                "selection_deadline_seconds": 60, "reporting_deadline_seconds": 600,
            } })
        };
        assert_eq!(training(synchronous(json!(7))), 7);
        assert_eq!(training(synchronous(Value::Null)), 5, "half of the goal");
        let with = |aggregator: Value| {
            let mut parts = synchronous(json!(10));
            parts["aggregator"] = aggregator;
            training(parts)
        };
        assert_eq!(with(json!({ "kind": "krum", "byzantine_share": 0.2 })), 1);
        assert_eq!(with(json!({ "kind": "multi_krum", "byzantine_share": 0.2 })), 8);
        assert_eq!(with(json!({ "kind": "multi_krum", "byzantine_share": 0.2, "chosen": 3 })), 3);
        assert_eq!(with(json!({ "kind": "bulyan", "byzantine_share": 0.1 })), 8);
        assert_eq!(with(json!({ "kind": "sign_guard" })), 1);
        assert_eq!(with(json!({ "kind": "fools_gold", "norm_max": 1.0 })), 1);
        assert_eq!(with(json!({ "kind": "flame" })), 6);
        assert_eq!(with(json!({ "kind": "median" })), 10);
        let bucketed = |aggregator: Value| {
            let mut parts = synchronous(json!(10));
            parts["aggregator"] = aggregator;
            parts["bucketing"] = json!({ "bucket_size": 3 });
            training(parts)
        };
        assert_eq!(bucketed(json!({ "kind": "median" })), 10);
        // Of four buckets, Krum chooses one, which may be the last one with a single update.
        assert_eq!(bucketed(json!({ "kind": "krum", "byzantine_share": 0.0 })), 1);
        // A larger cohort drops buckets that this one keeps.
        assert_eq!(bucketed(json!({ "kind": "multi_krum", "byzantine_share": 0.05 })), 4);
        let asynchronous = json!({ "kind": "asynchronous", "concurrency": 9 });
        assert_eq!(training(json!({ "scheduling": asynchronous })), 1);
    }

    #[test]
    fn a_sample_may_be_of_nobody() {
        let parts = json!({
            "selection": { "kind": "poisson", "sampling_rate": 0.01 },
            "scheduling": {
                "kind": "synchronous", "report_goal": 10, "minimum_cohort": 8,
                "selection_deadline_seconds": 60, "reporting_deadline_seconds": 600,
            },
            "privacy": { "kind": "central", "epsilon": 8.0, "delta": 1e-6, "amplification": "poisson" },
        });
        assert_eq!(training(parts), 0);
    }

    #[test]
    fn an_evaluation_shows_its_smallest_group() {
        let evaluation = |slices: Value| {
            let federated = json!({ "report_goal": 50, "slice_by": slices, "minimum_group": 12 });
            described(json!({ "evaluation": { "federated": federated } })).cohort_min(Purpose::Evaluation)
        };
        assert_eq!([evaluation(json!([])), evaluation(json!(["region"]))], [25, 12]);
    }

    #[test]
    fn the_level_is_where_the_noise_is_added() {
        let level = |privacy: Value| {
            let task = described(json!({ "privacy": privacy }));
            [Purpose::Training, Purpose::Evaluation].map(|purpose| task.protection_level(purpose))
        };
        let none = ProtectionLevel::None;
        assert_eq!(level(json!({ "kind": "none" })), [none, none]);
        let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
        assert_eq!(level(central), [ProtectionLevel::Central, none]);
        let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        assert_eq!(level(local), [ProtectionLevel::Local, none]);
        let distributed =
            json!({ "kind": "distributed", "epsilon": 8.0, "delta": 1e-6, "clipping_norm": 1.0 });
        assert_eq!(level(distributed), [ProtectionLevel::Distributed, none]);
    }
}
