//! The terms of secure aggregation that follow from a description.

use folkmoot_aggregation::AggregatorChoice;
use folkmoot_privacy::accountant::{DistributedNoise as DistributedNoiseKind, DistributedSum};
use folkmoot_protocol::{
    self as protocol,
    secure::{CommitteeFault, CommitteeTerms, DistributedNoise, SecureTerms, SecureTermsFault},
};
use folkmoot_secure_aggregation::{NoiseShare, NoiseShareError, Parameters, Ring, RingError};

use super::{
    Fault, TaskDescription,
    protection::{CommitteeProtection, Protection, SecureAggregation},
};
use crate::{
    privacy::{Amplification, CentralPrivacy, Clipping, PrivacyChoice, SumNoise, Terms},
    scheduling::SchedulingChoice,
};

/// The largest cohort up to which every size is checked.
const SIZES_CHECKED_MAX: u64 = 100;

impl TaskDescription {
    /// Returns the terms of secure aggregation that the plan states; `None` if the coordinator sees single updates.
    pub fn secure_terms(&self) -> Option<SecureTerms> {
        let (cohort_min, cohort_max) = self.scheduling.policy().updates();
        let (threat, corrupt_share, dropout_share) = match &self.protection {
            Protection::Plain => return None,
            Protection::SecureAggregation(secure) => {
                (secure.threat, secure.corrupt_share, secure.dropout_share)
            }
            // Nothing depends on clients that have uploaded, so all may vanish but the smallest cohort.
            Protection::Committee(committee) => {
                let dropout_share = 1.0 - cohort_min as f64 / cohort_max.max(1) as f64;
                (committee.threat, committee.corrupt_share, dropout_share)
            }
        };
        let is_weighted = self.aggregator == AggregatorChoice::WeightedMean;
        let noise = self.distributed_noise();
        Some(SecureTerms { cohort_min, cohort_max, corrupt_share, dropout_share, threat, is_weighted, noise })
    }

    /// Returns the same task for a simulation without masks. Masked updates have the same sum as plain ones, bit for
    /// bit; the noise of the clients of a whole cohort is added by the coordinator instead.
    pub fn without_masks(self) -> Self {
        let noise = self.secure_terms().and_then(|terms| {
            let shares = NoiseShare::of(&terms, 1)?.ok()?.shares;
            let SchedulingChoice::Synchronous(policy) = &self.scheduling else { return None };
            let clients = policy.report_goal;
            Some(terms.noise?.noise_multiplier * (clients as f64 / shares as f64).sqrt())
        });
        let privacy = match (self.privacy, noise) {
            (PrivacyChoice::Distributed(distributed), Some(noise_multiplier)) => {
                PrivacyChoice::Central(CentralPrivacy {
                    epsilon: distributed.epsilon,
                    delta: distributed.delta,
                    participations_max: distributed.participations_max,
                    clipping: Clipping::Fixed { norm: distributed.clipping_norm },
                    noise: SumNoise::Independent,
                    noise_multiplier: Some(noise_multiplier),
                    amplification: Amplification::None,
                })
            }
            (privacy, _) => privacy,
        };
        Self { protection: Protection::Plain, privacy, ..self }
    }

    fn distributed_noise(&self) -> Option<DistributedNoise> {
        let distributed = self.privacy.distributed()?;
        let terms = Terms::of(self).ok().flatten()?;
        let clipping_norm = self.grid.norm_steps(distributed.clipping_norm).max(1);
        Some(DistributedNoise { clipping_norm, noise_multiplier: terms.update_multiplier })
    }

    /// Returns the protection that the plan states.
    pub fn plan_protection(&self) -> protocol::Protection {
        match (self.committee_terms(), self.secure_terms()) {
            (Some(committee), _) => protocol::Protection::Committee(committee),
            (None, Some(terms)) => protocol::Protection::SecureAggregation(terms),
            (None, None) => protocol::Protection::Plain,
        }
    }

    /// Returns the terms of the committee that the plan states; `None` without one.
    pub fn committee_terms(&self) -> Option<CommitteeTerms> {
        let CommitteeProtection { members, colluders, .. } = self.protection.committee()?;
        Some(CommitteeTerms { members: members.clone(), colluders: *colluders, sum: self.secure_terms()? })
    }

    /// Returns the ring in which the task's masked updates of `parameter_count` values are summed; `None` if they are
    /// not masked, or if no ring is large enough.
    pub fn ring(&self, parameter_count: u64) -> Option<Ring> {
        Ring::for_terms(&self.grid, &self.secure_terms()?, parameter_count).ok()
    }

    /// Returns the fault of masks or distributed noise that do not fit a model with this number of trained parameters.
    ///
    /// The sum of the clients' noise is nearly a discrete Gaussian. This checks with the bound for the true distribution that
    /// it costs no more than the ledger charges (Kairouz, Liu and Steinke 2021, theorem 1).
    pub fn masked_sum_fault(&self, parameter_count: u64) -> Option<Fault> {
        let terms = self.secure_terms()?;
        if let Err(error) = Ring::for_terms(&self.grid, &terms, parameter_count) {
            return Some(ring_fault(&error));
        }
        let share = NoiseShare::of(&terms, parameter_count)?.ok()?;
        let sum = DistributedSum {
            noise: DistributedNoiseKind::DiscreteGaussian,
            clients: share.shares,
            local_deviation: share.scale as f64,
            norm: share.norm_max as f64,
            dimension: parameter_count,
        };
        let charge = Terms::of(self).ok().flatten()?.charge;
        (!sum.costs_at_most(charge.noise_multiplier)).then(|| {
            Fault::new(
                "grid.fraction_bits",
                format!(
                    "each client would add noise of only {} steps of the grid, whose sum is too far from Gaussian",
                    share.scale
                ),
                "raise grid.fraction_bits by 4",
            )
        })
    }

    /// Adds the faults of the protection to `faults`.
    pub(super) fn validate_protection(&self, faults: &mut Vec<Fault>) {
        let Some(terms) = self.secure_terms() else { return };
        match (&self.protection, self.committee_terms()) {
            (Protection::Committee(committee), Some(terms)) => committee_faults(committee, &terms, faults),
            (Protection::SecureAggregation(secure), _) => exchange_faults(*secure, &terms, faults),
            _ => {}
        }
        // The number of parameters, on which the noise depends a little, is not known here.
        match Ring::for_terms(&self.grid, &terms, 1) {
            // These were listed already.
            Ok(_) | Err(RingError::Noise(NoiseShareError::Terms(_))) => {}
            Err(error) => faults.push(ring_fault(&error)),
        }
    }
}

fn exchange_faults(secure: SecureAggregation, terms: &SecureTerms, faults: &mut Vec<Fault>) {
    let field = |name: &str| format!("protection.secure_aggregation.{name}");
    if !(1..=86_400).contains(&secure.step_deadline_seconds) {
        let message = format!("it is {}", secure.step_deadline_seconds);
        faults.push(Fault::new(&field("step_deadline_seconds"), message, "it must be 1 to 86400"));
    }
    // The number of members that a share stands for is rounded up, so a small cohort may be possible and the next larger
    // one not.
    let small = terms.cohort_min..=terms.cohort_max.min(SIZES_CHECKED_MAX);
    for members in small.chain([terms.cohort_max]) {
        if let Err(error) = Parameters::of(terms, members) {
            let remedy = "raise scheduling.minimum_cohort, or lower corrupt_share or dropout_share";
            faults.push(Fault::new("protection.secure_aggregation", error.to_string(), remedy));
            break;
        }
    }
}

fn committee_faults(committee: &CommitteeProtection, terms: &CommitteeTerms, faults: &mut Vec<Fault>) {
    let field = |name: &str| format!("protection.committee.{name}");
    if !(1..=604_800).contains(&committee.give_up_seconds) {
        let message = format!("it is {}", committee.give_up_seconds);
        faults.push(Fault::new(&field("give_up_seconds"), message, "it must be 1 to 604800"));
    }
    let Err(fault) = terms.check() else { return };
    let (name, remedy) = match fault {
        CommitteeFault::Members(_) | CommitteeFault::Repeated => {
            ("members", "list 2 to 7 different keys; each member prints its key when it starts")
        }
        CommitteeFault::Colluders { .. } => ("colluders", "lower it, or add members"),
        CommitteeFault::Sum(SecureTermsFault::Share { .. }) => ("corrupt_share", "lower it"),
        CommitteeFault::Sum(_) => {
            let remedy = "choose a cohort of 3 to 10,000 clients, and noise above 0";
            faults.push(Fault::new("protection.committee", fault.to_string(), remedy));
            return;
        }
    };
    faults.push(Fault::new(&field(name), fault.to_string(), remedy));
}

fn ring_fault(error: &RingError) -> Fault {
    let (field, remedy) = match error {
        RingError::Noise(NoiseShareError::NobodyHonest) => {
            ("protection", "lower corrupt_share, or raise scheduling.minimum_cohort")
        }
        _ => ("grid", "lower grid.fraction_bits by some bits, or the cohort, the clipping norm or the noise"),
    };
    Fault::new(field, error.to_string(), remedy)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use folkmoot_protocol::secure::CommitteeKey;

    use super::*;
    use crate::task::samples::described;

    fn secure(settings: Value, mut changes: Value) -> TaskDescription {
        changes["protection"] = json!({ "secure_aggregation": settings });
        let changed = changes.as_object_mut().unwrap();
        changed.entry("aggregator").or_insert(json!({ "kind": "weighted_mean" }));
        changed.entry("scheduling").or_insert(
            json!({ "kind": "synchronous", "report_goal": 10, "over_selection_factor": 1.2, "minimum_cohort": 6 }),
        );
        described(changes)
    }

    #[test]
    fn defaults_work_and_the_plan_states_the_terms() {
        let task = secure(json!({}), json!({}));
        assert_eq!(task.validate(), []);
        let terms = task.secure_terms().unwrap();
        assert_eq!((terms.cohort_min, terms.cohort_max, terms.is_weighted), (6, 12, true));
        // 28 fraction bits, 4 for values to 16, 14 for weights to 10,000, 4 for 12 updates, and the sign.
        assert_eq!(task.ring(1000).unwrap().bits(), 50);
        let uniform = secure(json!({}), json!({ "aggregator": { "kind": "uniform_mean" } }));
        assert!(!uniform.secure_terms().unwrap().is_weighted);
        assert_eq!(uniform.ring(1000).unwrap().bits(), 37, "without weights, the ring is smaller");
        assert_eq!(described(json!({})).plan_protection(), protocol::Protection::Plain);
    }

    #[test]
    fn choices_that_contradict_secure_aggregation_are_refused() {
        let fields = |changes: Value| -> Vec<String> {
            secure(json!({}), changes).validate().into_iter().map(|fault| fault.field).collect()
        };
        assert_eq!(fields(json!({ "aggregator": { "kind": "median" } })), ["aggregator.kind"]);
        assert_eq!(fields(json!({ "compression": { "codec": "eden:4" } })), ["compression"]);
        assert_eq!(fields(json!({ "selection": { "kind": "oort" } })), ["selection.kind"]);
        let buffered = json!({ "kind": "buffered", "buffer_goal": 5, "concurrency": 20 });
        assert_eq!(fields(json!({ "scheduling": buffered })), ["scheduling.kind"]);
        let private =
            |privacy: Value| json!({ "privacy": privacy, "aggregator": { "kind": "uniform_mean" } });
        let central = json!({
            "kind": "central", "epsilon": 8.0, "delta": 1e-6, "clipping": { "kind": "fixed", "norm": 1.0 },
        });
        assert_eq!(fields(private(central.clone())), [""; 0]);
        let mut adaptive = central;
        adaptive["clipping"] = json!({ "kind": "adaptive", "initial_norm": 1.0 });
        assert!(fields(private(adaptive)).contains(&"privacy.clipping".to_owned()));
    }

    fn distributed(mut changes: Value) -> TaskDescription {
        let noise = json!({ "kind": "distributed", "epsilon": 4.0, "delta": 1e-6, "clipping_norm": 1.0 });
        changes["aggregator"] = json!({ "kind": "uniform_mean" });
        let entry = changes.as_object_mut().unwrap().entry("privacy").or_insert(noise);
        entry["kind"] = "distributed".into();
        secure(json!({}), changes)
    }

    #[test]
    fn distributed_noise_is_in_the_terms_and_costs_what_is_charged() {
        let mut task =
            distributed(json!({ "grid": { "fraction_bits": 16, "value_max": 1.0, "weight_max": 1 } }));
        assert_eq!(task.validate(), []);
        task.settle();
        let noise = task.secure_terms().unwrap().noise.unwrap();
        assert_eq!(noise.clipping_norm, 1 << 16);
        let charge = Terms::of(&task).unwrap().unwrap().charge;
        assert_eq!(noise.noise_multiplier, charge.noise_multiplier.get());
        // 30 rounds of a client at epsilon 4 and delta 1e-6.
        assert!((5.0..8.0).contains(&noise.noise_multiplier), "{}", noise.noise_multiplier);
        assert_eq!(task.masked_sum_fault(100_000), None);
        // The plan of a plain task does not change.
        assert_eq!(secure(json!({}), json!({})).secure_terms().unwrap().noise, None);
    }

    #[test]
    fn a_simulation_adds_the_noise_of_a_whole_cohort() {
        let given = json!({ "epsilon": 900.0, "delta": 1e-6, "clipping_norm": 0.5, "noise_multiplier": 2.0 });
        let task = distributed(json!({ "privacy": given }));
        let simulated = task.clone().without_masks();
        assert_eq!((&simulated.protection, simulated.validate()), (&Protection::Plain, vec![]));
        let PrivacyChoice::Central(central) = simulated.privacy else { panic!("{:?}", simulated.privacy) };
        // 10 clients report. The noise is sized for the 5 honest ones of 6 that may be left.
        assert!((central.noise_multiplier.unwrap() - 2.0 * 2f64.sqrt()).abs() < 1e-9, "{central:?}");
        assert_eq!(central.clipping, Clipping::Fixed { norm: 0.5 });
        let plain = described(json!({}));
        assert_eq!(plain.clone().without_masks(), plain);
    }

    #[test]
    fn distributed_noise_needs_masks_equal_weights_and_a_fine_grid() {
        let fields = |task: &TaskDescription| -> Vec<String> {
            task.validate().into_iter().map(|fault| fault.field).collect()
        };
        let plain = TaskDescription { protection: Protection::Plain, ..distributed(json!({})) };
        assert_eq!(fields(&plain), ["privacy.kind"]);
        let weighted =
            TaskDescription { aggregator: AggregatorChoice::WeightedMean, ..distributed(json!({})) };
        assert!(fields(&weighted).contains(&"aggregator.kind".to_owned()));
        let far = json!({ "epsilon": 4.0, "delta": 1e-6, "clipping_norm": 17.0 });
        assert_eq!(fields(&distributed(json!({ "privacy": far }))), ["privacy.clipping_norm"]);
        // Noise of one step for each client.
        let narrow =
            json!({ "epsilon": 900.0, "delta": 1e-6, "clipping_norm": 0.01, "noise_multiplier": 0.3726 });
        let coarse = distributed(
            json!({ "privacy": narrow, "grid": { "fraction_bits": 8, "value_max": 1.0, "weight_max": 1 } }),
        );
        assert_eq!(coarse.masked_sum_fault(100).unwrap().field, "grid.fraction_bits");
        let fine = json!({ "fraction_bits": 40, "value_max": 16.0, "weight_max": 1 });
        let loud = json!({ "epsilon": 4.0, "delta": 1e-6, "clipping_norm": 16.0, "noise_multiplier": 1e6 });
        assert_eq!(fields(&distributed(json!({ "privacy": loud, "grid": fine }))), ["grid"]);
    }

    fn committee(mut settings: Value, changes: Value) -> TaskDescription {
        let keys: Vec<CommitteeKey> = (0..3).map(|member| CommitteeKey([member; 64])).collect();
        settings.as_object_mut().unwrap().entry("members").or_insert(json!(keys));
        let mut description = json!({
            "protection": { "committee": settings },
            "aggregator": { "kind": "uniform_mean" },
            "scheduling": { "kind": "synchronous", "report_goal": 10, "over_selection_factor": 1.3, "minimum_cohort": 6 },
        });
        description.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        described(description)
    }

    #[test]
    fn a_committee_tolerates_all_drop_outs_and_is_in_the_plan() {
        let mut task = committee(json!({}), json!({}));
        assert_eq!(task.validate(), []);
        let terms = task.committee_terms().unwrap();
        assert_eq!((terms.members.len(), terms.colluders), (3, 1));
        assert_eq!((terms.sum.cohort_min, terms.sum.cohort_max), (6, 13));
        assert_eq!(task.plan_protection(), protocol::Protection::Committee(terms));
        assert_eq!(task.protection.exchange(), None);
        task.privacy = distributed(json!({})).privacy;
        assert_eq!(task.validate(), []);
        // Six clients may be left of 13, of whom two collude.
        assert_eq!(NoiseShare::of(&task.secure_terms().unwrap(), 1).unwrap().unwrap().shares, 4);
        assert_eq!(task.clone().without_masks().protection, Protection::Plain);
    }

    #[test]
    fn committees_that_cannot_be_are_refused() {
        let fields = |settings: Value, changes: Value| -> Vec<String> {
            committee(settings, changes).validate().into_iter().map(|fault| fault.field).collect()
        };
        let field = |name: &str| vec![format!("protection.committee.{name}")];
        let one = json!([CommitteeKey([1; 64])]);
        assert_eq!(fields(json!({ "members": one }), json!({})), field("members"));
        assert_eq!(fields(json!({ "colluders": 3 }), json!({})), field("colluders"));
        assert_eq!(fields(json!({ "give_up_seconds": 0 }), json!({})), field("give_up_seconds"));
        assert_eq!(fields(json!({ "corrupt_share": 1.0 }), json!({})), field("corrupt_share"));
        let median = json!({ "aggregator": { "kind": "median" } });
        assert_eq!(fields(json!({}), median), ["aggregator.kind"]);
    }

    #[test]
    fn terms_that_no_round_can_hold_are_refused() {
        let fault = |settings: Value, changes: Value| {
            let faults = secure(settings, changes).validate();
            (faults[0].field.clone(), faults[0].message.clone())
        };
        let small = json!({ "kind": "synchronous", "report_goal": 2 });
        let (field, message) = fault(json!({}), json!({ "scheduling": small }));
        assert_eq!(field, "protection.secure_aggregation");
        assert!(message.contains("at least 3"), "{message}");
        let far = json!({ "kind": "synchronous", "report_goal": 1_000_000_000_000_000u64 });
        let endless = distributed(json!({ "scheduling": far })).validate();
        assert!(endless.iter().any(|fault| fault.field == "protection.secure_aggregation"), "{endless:?}");
        let (_, message) = fault(json!({ "dropout_share": 0.9 }), json!({}));
        assert!(message.contains("cannot tolerate"), "{message}");
        let (field, _) = fault(json!({ "step_deadline_seconds": 0 }), json!({}));
        assert_eq!(field, "protection.secure_aggregation.step_deadline_seconds");
    }
}
