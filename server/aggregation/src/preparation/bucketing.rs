use folkmoot_protocol::{Fault, saturating::to_length};
use serde::{Deserialize, Serialize};

use crate::{AggregatorChoice, Averages, random::number_at};

/// The maximum number of updates in a bucket.
const BUCKET_SIZE_MAX: u32 = 64;

/// Bucketing: averages small random groups of updates, and passes the means to a robust rule.
///
/// Karimireddy, He and Jaggi 2022, "Byzantine-robust learning on heterogeneous datasets via bucketing", algorithm 1: a
/// random permutation of the n updates is cut into ⌈n / s⌉ buckets of s updates, of which the last may be smaller. The
/// means of buckets differ less from each other than updates do, so a robust rule drops less of the knowledge that only
/// some honest clients have.
///
/// The rule's settings keep their meaning: `byzantine_share` and `trim_share` are shares of the updates. One hostile update spoils
/// a bucket, so these shares count s times among the buckets. `chosen` of Multi-Krum counts buckets.
///
/// Weights and staleness are ignored. The permutation sorts the updates by the numbers of SplitMix64, whose seed depends on the round
/// and on the digests of all its updates. So a version that is computed again has the same buckets, and no client knows its bucket
/// before it sends its update. The mean of a bucket is computed in float64 and rounded to float32 once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Bucketing {
    /// The number of updates in a bucket (s). The larger it is, the fewer hostile updates the rule tolerates.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 64)))]
    pub bucket_size: u32,
}

impl Default for Bucketing {
    /// Returns the paper's choice for its experiments.
    fn default() -> Self {
        Self { bucket_size: 2 }
    }
}

impl Bucketing {
    /// Returns the number of buckets for `updates` updates.
    pub fn buckets_of(&self, updates: u64) -> u64 {
        updates.div_ceil(u64::from(self.bucket_size.max(1)))
    }

    /// Returns the updates of each bucket.
    pub(crate) fn buckets(&self, updates: usize, seed: u64) -> Averages {
        let mut order: Vec<usize> = (0..updates).collect();
        // The sort is stable: among equal numbers, the lowest index comes first.
        order.sort_by_key(|index| number_at(seed, *index as u64));
        Averages::new(order.chunks(to_length(self.bucket_size.into()).max(1)).map(|bucket| {
            let mut bucket = bucket.to_vec();
            bucket.sort_unstable();
            bucket
        }))
    }

    /// Returns the rule for buckets: one hostile update spoils one of them.
    pub(super) fn rule(&self, rule: &AggregatorChoice) -> AggregatorChoice {
        let mut rule = rule.clone();
        if let Some(share) = share_of(&mut rule) {
            *share.value *= f64::from(self.bucket_size);
        }
        rule
    }

    /// Lists the faults of the bucketing and of the rule, for cohorts of `cohort_min` to `cohort_max` updates.
    pub(super) fn validate(
        &self,
        rule: &AggregatorChoice,
        cohort_min: u64,
        cohort_max: u64,
        faults: &mut Vec<Fault>,
    ) {
        let size = self.bucket_size;
        if !(2..=BUCKET_SIZE_MAX).contains(&size) {
            let remedy = format!("it must be 2 to {BUCKET_SIZE_MAX}; use 2 for most tasks");
            faults.push(Fault::new("bucketing.bucket_size", format!("it is {size}"), remedy));
            return;
        }
        let mut plain = rule.clone();
        if let Some(Share { field, value, limit }) = share_of(&mut plain) {
            let (share, counted) = (*value, *value * f64::from(size));
            if !(0.0..limit).contains(&share) {
                return rule.validate(cohort_min, cohort_max, faults);
            }
            if counted >= limit {
                let message = format!(
                    "a hostile update spoils its bucket, so a {field} of {share} becomes {counted} among buckets of {size}, but this rule \
                     needs less than {limit}"
                );
                let remedy = format!("lower bucket_size or aggregator.{field}, or remove [bucketing]");
                faults.push(Fault::new("bucketing.bucket_size", message, remedy));
                return;
            }
        }
        let mut found = Vec::new();
        self.rule(rule).validate(self.buckets_of(cohort_min), self.buckets_of(cohort_max), &mut found);
        faults.extend(found.into_iter().map(|fault| {
            let message = format!("with buckets of {size} updates, {}", fault.message);
            Fault::new(
                &fault.field,
                message,
                format!("{}; here, each bucket of {size} counts as one update", fault.remedy),
            )
        }));
    }
}

/// The setting of a rule that is a share of the updates.
struct Share<'a> {
    field: &'static str,
    value: &'a mut f64,
    /// The rule needs a smaller share.
    limit: f64,
}

fn share_of(rule: &mut AggregatorChoice) -> Option<Share<'_>> {
    let (field, value, limit) = match rule {
        AggregatorChoice::TrimmedMean(rule) => ("trim_share", &mut rule.trim_share, 0.5),
        AggregatorChoice::Krum(rule) => ("byzantine_share", &mut rule.byzantine_share, 0.5),
        AggregatorChoice::MultiKrum(rule) => ("byzantine_share", &mut rule.byzantine_share, 0.5),
        AggregatorChoice::Bulyan(rule) => ("byzantine_share", &mut rule.byzantine_share, 0.25),
        _ => return None,
    };
    Some(Share { field, value, limit })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Preparation, TrimmedMean};

    fn bucketed(bucket_size: u32, rule: AggregatorChoice, seed: u64, rows: &[&[f32]]) -> Vec<f64> {
        let preparation = Preparation::Bucketing(Bucketing { bucket_size });
        rule.combine_prepared(preparation, seed, &vec![1; rows.len()], rows)
    }

    /// The order of seed 3 comes from these lines:
    ///
    /// ```python
    /// def number(seed, i):
    ///     z = (seed + (i + 1) * 0x9e3779b97f4a7c15) % 2**64
    ///     z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    ///     z = (z ^ z >> 27) * 0x94d049bb133111eb % 2**64
    ///     return z ^ z >> 31
    /// sorted(range(7), key=lambda i: number(3, i))
    /// ```
    #[test]
    fn buckets_are_cut_from_the_order_of_the_seed() {
        let buckets = |size: u32| Bucketing { bucket_size: size }.buckets(7, 3);
        let lists = |lists: &[&[usize]]| Averages::new(lists.iter().map(|list| list.to_vec()));
        assert_eq!(buckets(2), lists(&[&[0, 3], &[4, 6], &[2, 5], &[1]]));
        assert_eq!(buckets(3), lists(&[&[0, 3, 6], &[2, 4, 5], &[1]]));
        assert_eq!(buckets(64), lists(&[&[0, 1, 2, 3, 4, 5, 6]]));
        assert_eq!(Bucketing::default().buckets(0, 3), lists(&[]));
    }

    #[test]
    fn the_rule_combines_the_means_of_the_buckets() {
        let rows: [&[f32]; 7] = [&[0.0], &[1.0], &[2.0], &[3.0], &[4.0], &[50.0], &[6.0]];
        // The means of the buckets are 1.5, 5, 26 and 1, or 3, 56/3 and 1.
        assert_eq!(bucketed(2, AggregatorChoice::Median, 3, &rows), [3.25]);
        assert_eq!(bucketed(3, AggregatorChoice::Median, 3, &rows), [3.0]);
        // A bucket of all updates leaves their mean, whatever the rule is.
        assert_eq!(bucketed(64, AggregatorChoice::Median, 3, &rows), [f64::from(66f32 / 7.0)]);
    }

    #[test]
    fn shares_are_those_of_the_updates() {
        // n = 10 and s = 2: one hostile update of ten may be in one of five buckets, so one value is cut off at each end.
        let rule = AggregatorChoice::TrimmedMean(TrimmedMean { trim_share: 0.1 });
        let share = |rule| match rule {
            AggregatorChoice::TrimmedMean(rule) => rule.trim_share,
            _ => unreachable!("the rule stays the same"),
        };
        assert_eq!(share(Bucketing { bucket_size: 2 }.rule(&rule)), 0.2);
        assert_eq!(Bucketing { bucket_size: 9 }.rule(&AggregatorChoice::Median), AggregatorChoice::Median);
    }

    #[test]
    fn buckets_that_no_rule_tolerates_are_refused() {
        let faults = |bucket_size, rule: serde_json::Value, cohort_min| {
            let rule: AggregatorChoice = serde_json::from_value(rule).unwrap();
            let mut faults = Vec::new();
            Bucketing { bucket_size }.validate(&rule, cohort_min, 40, &mut faults);
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let krum = |share: f64| json!({ "kind": "krum", "byzantine_share": share });
        assert_eq!(faults(2, krum(0.2), 40), [""; 0]);
        assert_eq!(faults(64, json!({ "kind": "median" }), 40), [""; 0]);
        for size in [0, 1, 65] {
            assert!(faults(size, krum(0.2), 40)[0].starts_with("bucketing.bucket_size: it is"), "{size}");
        }
        assert_eq!(
            faults(2, krum(0.25), 40),
            [
                "bucketing.bucket_size: a hostile update spoils its bucket, so a byzantine_share of 0.25 becomes 0.5 among buckets \
                 of 2, but this rule needs less than 0.5; lower bucket_size or aggregator.byzantine_share, or remove [bucketing]"
            ]
        );
        assert!(
            faults(2, json!({ "kind": "bulyan", "byzantine_share": 0.15 }), 40)[0].contains("less than 0.25")
        );
        // A share that is wrong without buckets is a fault of the rule.
        assert!(faults(2, krum(0.5), 40)[0].starts_with("aggregator.byzantine_share: it is 0.5;"));
        // 20 buckets may have 8 hostile ones, for which Krum needs 19; but 10 may have 4, for which it needs 11.
        let few = faults(2, krum(0.2), 20);
        assert!(
            few[0].contains("with buckets of 2 updates, it allows 4 hostile updates among 10")
                && few[0].ends_with("here, each bucket of 2 counts as one update"),
            "{few:?}"
        );
    }
}
