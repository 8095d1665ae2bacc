//! Checks for choices that contradict robust rules, and for preparations that only these rules can use.

use folkmoot_aggregation::AggregatorChoice;

use super::super::{Fault, TaskDescription};
use crate::scheduling::StalenessWeight;

/// Lists the contradictions between robust rules and other choices.
pub(super) fn validate(description: &TaskDescription, faults: &mut Vec<Fault>) {
    robust_needs_several(description, faults);
    robust_has_no_weights(description, faults);
    preparation_needs_a_robust_rule(description, faults);
    clusters_are_of_one_codec(description, faults);
}

/// A robust rule needs several updates: the median of one update is that update.
fn robust_needs_several(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let updates = description.scheduling.policy().updates().0;
    let fewest = description.preparation().prepared(updates);
    if !is_robust(&description.aggregator) || fewest >= ROBUST_UPDATES_MIN {
        return;
    }
    let message = if fewest == updates {
        format!(
            "a robust rule needs at least {ROBUST_UPDATES_MIN} updates, but scheduling allows commits of {updates}"
        )
    } else {
        format!(
            "a robust rule needs at least {ROBUST_UPDATES_MIN} buckets, but scheduling allows commits of {updates} updates, which are \
             {fewest} buckets"
        )
    };
    let remedy = "raise scheduling.minimum_cohort or scheduling.buffer_goal, or choose aggregator.kind = \"weighted_mean\"";
    faults.push(Fault::new("aggregator.kind", message, remedy));
}

/// The minimum number of updates that has an honest majority if one update is hostile.
const ROBUST_UPDATES_MIN: u64 = 3;

fn is_robust(aggregator: &AggregatorChoice) -> bool {
    matches!(
        aggregator,
        AggregatorChoice::Median
            | AggregatorChoice::TrimmedMean { .. }
            | AggregatorChoice::Krum { .. }
            | AggregatorChoice::MultiKrum { .. }
            | AggregatorChoice::GeometricMedian { .. }
            | AggregatorChoice::Bulyan { .. }
            | AggregatorChoice::CentredClipping { .. }
            | AggregatorChoice::SignGuard { .. }
            | AggregatorChoice::FoolsGold { .. }
            | AggregatorChoice::Flame { .. }
    )
}

/// Robust rules are order statistics, which cannot use weights.
fn robust_has_no_weights(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let staleness = description.scheduling.policy().staleness();
    let is_weighted = staleness.weight != StalenessWeight::Constant;
    if is_robust(&description.aggregator) && is_weighted && description.scheduling.policy().flow().is_some() {
        faults.push(Fault::new(
            "scheduling.staleness.weight",
            "aggregator.kind is a robust rule, which cannot give stale updates a lower weight",
            "choose { kind = \"constant\" }, and limit the staleness of updates instead",
        ));
    }
}

/// Returns whether a rule judges single updates, so that it must get them as they are.
fn judges_single_updates(aggregator: &AggregatorChoice) -> bool {
    matches!(
        aggregator,
        AggregatorChoice::SignGuard { .. }
            | AggregatorChoice::FoolsGold { .. }
            | AggregatorChoice::Flame { .. }
    )
}

/// Mixing and bucketing help rules that leave updates out. They change a mean, which then counts some updates more than others.
fn preparation_needs_a_robust_rule(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let field = match (&description.mixing, &description.bucketing) {
        (None, None) => return,
        (Some(_), None) => "mixing",
        (None, Some(_)) => "bucketing",
        (Some(_), Some(_)) => {
            let message = "it averages updates that [mixing] has already averaged";
            faults.push(Fault::new("bucketing", message, "remove [bucketing] or [mixing]"));
            return;
        }
    };
    let message = if matches!(description.aggregator, AggregatorChoice::Component(_)) {
        "it averages updates, but a component gets single updates"
    } else if !is_robust(&description.aggregator) {
        "it prepares updates for a robust rule, but this aggregator.kind is a mean of all updates"
    } else if judges_single_updates(&description.aggregator) {
        "it averages updates, but this aggregator.kind judges single updates"
    } else {
        return;
    };
    let remedy = format!(
        "choose a robust aggregator.kind, such as \"trimmed_mean\" or \"geometric_median\", or remove [{field}]"
    );
    faults.push(Fault::new(field, message, remedy));
}

/// A codec changes the direction of an update, its signs and the number of its zeros. With several codecs, the largest
/// cluster would be the updates with one codec.
fn clusters_are_of_one_codec(description: &TaskDescription, faults: &mut Vec<Fault>) {
    let compares = match description.aggregator {
        AggregatorChoice::SignGuard { .. } => "sign_guard compares the signs of updates",
        AggregatorChoice::Flame { .. } => "flame compares the directions of updates",
        _ => return,
    };
    if !description.compression_choices.is_empty() {
        let message =
            format!("{compares}, which differ from codec to codec, so it would drop clients for their codec");
        let remedy = "remove [[compression_choices]], or choose another robust aggregator.kind";
        faults.push(Fault::new("compression_choices", message, remedy));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::task::samples::described;

    fn fields(changes: Value) -> Vec<String> {
        described(changes).validate().into_iter().map(|fault| fault.field).collect()
    }

    /// Lists robust rules, which use no weights and compare single updates.
    fn robust_rules() -> Vec<Value> {
        vec![
            json!({ "kind": "median" }),
            json!({ "kind": "trimmed_mean", "trim_share": 0.1 }),
            json!({ "kind": "krum", "byzantine_share": 0.1 }),
            json!({ "kind": "multi_krum", "byzantine_share": 0.1 }),
            json!({ "kind": "geometric_median" }),
            json!({ "kind": "bulyan", "byzantine_share": 0.1 }),
            json!({ "kind": "centred_clipping", "norm_max": 1.0 }),
            json!({ "kind": "sign_guard" }),
            json!({ "kind": "fools_gold", "norm_max": 1.0 }),
            json!({ "kind": "flame" }),
        ]
    }

    #[test]
    fn every_robust_rule_needs_several_updates_without_weights_masks_and_central_noise() {
        for rule in robust_rules() {
            let asynchronous = json!({ "kind": "asynchronous", "concurrency": 20 });
            let found = fields(json!({ "aggregator": rule, "scheduling": asynchronous }));
            assert!(
                ["aggregator.kind", "scheduling.staleness.weight"]
                    .iter()
                    .all(|field| found.contains(&(*field).into())),
                "{rule}: {found:?}"
            );
            let synchronous = json!({ "kind": "synchronous", "report_goal": 100 });
            assert_eq!(fields(json!({ "aggregator": rule, "scheduling": synchronous })), [""; 0], "{rule}");
            let privacy = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
            let masks = json!({ "secure_aggregation": { "corrupt_share": 0.1 } });
            for (field, value) in [("privacy", privacy), ("protection", masks)] {
                let mut changes = json!({ "aggregator": rule, "scheduling": synchronous });
                changes[field] = value;
                assert_eq!(fields(changes), ["aggregator.kind"], "{rule} with {field}");
            }
        }
    }

    #[test]
    fn mixing_and_bucketing_go_with_rules_that_leave_updates_out() {
        let scheduling = json!({ "kind": "synchronous", "report_goal": 100 });
        let (mixing, bucketing) = (json!({ "byzantine_share": 0.1 }), json!({ "bucket_size": 2 }));
        for (key, value) in [("mixing", &mixing), ("bucketing", &bucketing)] {
            let with = |aggregator: &Value| {
                fields(json!({ "scheduling": scheduling, "aggregator": aggregator, key: value }))
            };
            let (single, others): (Vec<Value>, Vec<Value>) = robust_rules().into_iter().partition(|rule| {
                ["sign_guard", "fools_gold", "flame"].map(Value::from).contains(&rule["kind"])
            });
            others.iter().for_each(|rule| assert_eq!(with(rule), [""; 0], "{rule}"));
            single.iter().for_each(|rule| assert_eq!(with(rule), [key], "{rule}"));
            for kind in ["weighted_mean", "uniform_mean", "bounded_mean"] {
                assert_eq!(with(&json!({ "kind": kind })), [key], "{kind}");
            }
        }
        let both = json!({
            "scheduling": scheduling, "aggregator": { "kind": "median" }, "mixing": mixing, "bucketing": bucketing,
        });
        assert_eq!(fields(both), ["bucketing"]);
    }

    #[test]
    fn buckets_count_as_updates() {
        let with = |size: u32, minimum: u64| {
            let scheduling = json!({ "kind": "synchronous", "report_goal": 20, "minimum_cohort": minimum });
            let bucketing = json!({ "bucket_size": size });
            let rule = json!({ "kind": "median" });
            described(json!({ "scheduling": scheduling, "aggregator": rule, "bucketing": bucketing }))
                .validate()
        };
        assert_eq!([with(2, 5), with(9, 19)], [vec![], vec![]]);
        let [fault] = with(4, 8).try_into().expect("there is one fault");
        assert!(fault.message.contains("commits of 8 updates, which are 2 buckets"), "{fault}");
        assert_eq!(with(1, 8)[0].field, "bucketing.bucket_size");
    }

    #[test]
    fn sign_guard_and_flame_judge_single_updates_of_one_codec() {
        for rule in ["sign_guard", "flame"] {
            let with = |key: &str, value: Value| {
                let scheduling = json!({ "kind": "synchronous", "report_goal": 100 });
                fields(json!({ "scheduling": scheduling, "aggregator": { "kind": rule }, key: value }))
            };
            assert_eq!(with("compression", json!({ "codec": "eden:4" })), [""; 0]);
            let wifi = json!({ "attribute": "network", "condition": { "equals": "wifi" } });
            let choice = json!({ "when": [wifi], "recipe": { "codec": "bf16" } });
            assert_eq!(with("compression_choices", json!([choice])), ["compression_choices"]);
            assert_eq!(with("finalizer", json!({ "kind": "fed_exp" })), ["finalizer.kind"]);
            assert_eq!(with("finalizer", json!({ "kind": "scaffold", "clients": 50 })), ["finalizer.kind"]);
        }
    }

    /// The noise of FLAME must not be taken for the noise of a privacy guarantee.
    #[test]
    fn flame_is_refused_where_privacy_is_promised() {
        let central = json!({ "kind": "central", "epsilon": 8.0, "delta": 1e-6 });
        let local = json!({ "kind": "local", "epsilon": 30.0, "delta": 1e-6, "clipping_norm": 1.0 });
        for privacy in [central, local] {
            let scheduling = json!({ "kind": "synchronous", "report_goal": 100 });
            let changes =
                json!({ "scheduling": scheduling, "privacy": privacy, "aggregator": { "kind": "flame" } });
            let [fault] = described(changes).validate().try_into().expect("there is one fault");
            assert_eq!(fault.field, "aggregator.kind");
            assert!(
                fault.message.contains("gives no guarantee that the ledger could account for"),
                "{fault}"
            );
        }
    }
}
