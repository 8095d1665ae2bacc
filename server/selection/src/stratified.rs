use std::collections::BTreeMap;

use folkmoot_protocol::{Fault, limits::ATTRIBUTE_BYTES_MAX};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Draw, check, uniform};

/// Stratified sampling with proportional allocation. Every value of an attribute is a stratum; clients without
/// the attribute form another.
///
/// Each stratum gets its share of the cohort, rounded by the largest remainder (Hamilton's method). Ties between
/// remainders are broken at random; otherwise the same stratum would win in every round. Within a stratum the
/// draw is uniform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stratified {
    /// The name of the attribute.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128), extend("examples" = ["region"])))]
    pub attribute: String,
}

impl Stratified {
    pub(super) fn draw(&self, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
        let mut strata: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for (place, waiting) in draw.waiting.iter().enumerate() {
            let value = waiting.candidate.attributes.get(&self.attribute);
            strata.entry(value.map(String::as_str)).or_default().push(place);
        }
        let sizes: Vec<usize> = strata.values().map(Vec::len).collect();
        let quotas = quotas(&sizes, draw.count.min(draw.waiting.len()), rng);
        let drawn = strata.into_values().zip(quotas).map(|(places, quota)| uniform::draw(places, quota, rng));
        drawn.collect::<Vec<_>>().concat()
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let bytes = self.attribute.len();
        let is_right = (1..=ATTRIBUTE_BYTES_MAX).contains(&bytes);
        let remedy = format!("it must have 1 to {ATTRIBUTE_BYTES_MAX} bytes");
        check(faults, is_right, "attribute", format!("it has {bytes} bytes"), &remedy);
    }
}

/// Divides `count` among the strata in proportion to their sizes. `count` is at most the sum of the sizes, and no
/// quota exceeds its stratum.
fn quotas(sizes: &[usize], count: usize, rng: &mut impl Rng) -> Vec<usize> {
    let total = sizes.iter().sum::<usize>().max(1) as u128;
    let parts = sizes.iter().map(|size| *size as u128 * count as u128);
    let mut quotas: Vec<usize> =
        parts.clone().map(|part| usize::try_from(part / total).unwrap_or(count)).collect();
    let left = count - quotas.iter().sum::<usize>();
    let mut remainders: Vec<(u128, u64, usize)> =
        parts.enumerate().map(|(stratum, part)| (part % total, rng.next_u64(), stratum)).collect();
    remainders.sort_unstable_by(|a, b| b.cmp(a));
    for (_, _, stratum) in remainders.into_iter().take(left) {
        quotas[stratum] += 1;
    }
    quotas
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn quotas_go_to_the_largest_remainders() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // 10 clients from strata of 53, 24 and 23 of 100: the shares are 5.3, 2.4 and 2.3. The tenth client goes to
        // 2.4.
        assert_eq!(quotas(&[53, 24, 23], 10, &mut rng), [5, 3, 2]);
        assert!(quotas(&[], 0, &mut rng).is_empty());
        assert_eq!(quotas(&[3], 3, &mut rng), [3]);
    }

    #[test]
    fn chance_decides_between_equal_remainders() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut wins = [0u32; 3];
        for _ in 0..3000 {
            let quotas = quotas(&[4, 4, 4], 1, &mut rng);
            wins[quotas.iter().position(|quota| *quota == 1).unwrap()] += 1;
        }
        // Binomial(3000, 1/3) has a standard deviation of 26. The tolerance is five standard deviations; a correct
        // implementation fails once in two million runs.
        assert!(wins.iter().all(|count| count.abs_diff(1000) < 130), "{wins:?}");
    }

    proptest! {
        #[test]
        fn quotas_are_within_one_of_the_share(
            sizes in prop::collection::vec(1usize..40, 1..8), share in 0.0f64..=1.0, seed: u64,
        ) {
            let total: usize = sizes.iter().sum();
            let count = (share * total as f64) as usize;
            let quotas = quotas(&sizes, count, &mut ChaCha8Rng::seed_from_u64(seed));
            prop_assert_eq!(quotas.iter().sum::<usize>(), count);
            for (size, quota) in sizes.iter().zip(&quotas) {
                let exact = *size as f64 * count as f64 / total as f64;
                prop_assert!(quota <= size && (*quota as f64 - exact).abs() < 1.0);
            }
        }
    }
}
