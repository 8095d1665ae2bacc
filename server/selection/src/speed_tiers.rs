use std::{cmp::Reverse, collections::BTreeMap};

use folkmoot_protocol::Fault;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Draw, chance, check, uniform};
use crate::participation::Start;

/// The maximum number of tiers of a task.
pub const TIERS_MAX: usize = 64;
/// The maximum number of rounds over which credits are counted.
const CREDIT_ROUNDS_MAX: u64 = 100_000;

/// Selection within tiers of similar speed, so that fast clients do not wait for slow ones (Chai et al. 2020,
/// "TiFL: a tier-based federated learning system", section 4).
///
/// Waiting clients with a known response time are sorted by it and cut into tiers of equal size, the fastest first.
/// Clients without a known time form a separate tier. A share of the rounds draws from this tier to learn its times; if
/// no other clients wait, every round does.
///
/// A round draws only from tiers that have enough clients. If none has, the drawn tier is filled up from the
/// tiers nearest in speed, and last from clients without a known time. So speeds are separated only if about
/// `tiers` times as many clients wait as are wanted.
///
/// No state is stored: each round computes the tiers from the histories. The tier of a past round is the tier of most
/// clients that started in that round, among the clients that wait now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SpeedTiers {
    /// The number of tiers: 1 to 64.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64), extend("examples" = [5])))]
    pub tiers: usize,
    /// The method that draws the tier of a round.
    #[serde(default)]
    pub policy: TierPolicy,
    /// The limit on the draws of each tier. The default is no limit.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [{ "draws": [20, 20, 20, 20, 20], "rounds": 100 }])))]
    pub credits: Option<TierCredits>,
    /// The share of rounds that draw clients without a known time while others also wait: 0 to 1.
    #[serde(default = "default_profiling_share")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1)))]
    pub profiling_share: f64,
}

/// The method that draws the tier of a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TierPolicy {
    /// All tiers with the same probability (TiFL's `uniform`).
    #[default]
    Uniform,
    /// In proportion to these weights, the fastest tier first (TiFL's static policies).
    Weights(
        #[cfg_attr(feature = "schema", schemars(extend("examples" = [[0.4, 0.3, 0.1, 0.1, 0.1]])))] Vec<f64>,
    ),
    /// Prefers tiers with high losses. Of n tiers, ranked from the highest mean loss, tier i = 1 … n has the
    /// probability (n − i)/(n·(n − 1)/2), so the last has 0 (TiFL, algorithm 2, `ChangeProbs`). The paper ranks by
    /// accuracy on held-out examples; this policy ranks by the mean loss of the tier's last updates.
    ByLoss,
}

/// Limits on the draws of each tier: TiFL's credits, which limit the rounds that slow tiers take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TierCredits {
    /// The maximum number of draws of each tier within `rounds`, the fastest tier first.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [[20, 20, 20, 20, 20]])))]
    pub draws: Vec<u64>,
    /// The number of consecutive rounds over which draws are counted. When no tier has a credit left, all tiers
    /// may be drawn.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000), extend("examples" = [100])))]
    pub rounds: u64,
}

fn default_profiling_share() -> f64 {
    0.2
}

impl SpeedTiers {
    pub(super) fn draw(&self, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
        let (tiers, unknown) = self.cut(draw);
        let is_known = tiers.iter().any(|tier| !tier.is_empty());
        let profiles = !is_known || (!unknown.is_empty() && chance::below_one(rng) < self.profiling_share);
        let mut order: Vec<&Vec<usize>> = Vec::new();
        if profiles {
            order.push(&unknown);
            order.extend(&tiers);
        } else {
            let first = self.tier(&tiers, draw, rng);
            let mut by_distance: Vec<usize> = (0..tiers.len()).collect();
            by_distance.sort_by_key(|tier| (tier.abs_diff(first), *tier));
            order.extend(by_distance.into_iter().map(|tier| &tiers[tier]));
            order.push(&unknown);
        }
        let mut drawn = Vec::new();
        for places in order {
            drawn.extend(uniform::draw(places.clone(), draw.count - drawn.len(), rng));
        }
        drawn
    }

    /// Returns the tiers of the waiting clients, the fastest first, and the clients without a known time.
    fn cut(&self, draw: &Draw<'_>) -> (Vec<Vec<usize>>, Vec<usize>) {
        let time = |place: &usize| draw.waiting[*place].history.milliseconds;
        let (mut known, unknown): (Vec<usize>, Vec<usize>) =
            draw.places().into_iter().partition(|place| time(place).is_some());
        known.sort_by_key(|place| (time(place), draw.waiting[*place].candidate.client_id));
        let count = self.tiers.max(1);
        let bound = |tier: usize| tier * known.len() / count;
        let tiers = (0..count).map(|tier| known[bound(tier)..bound(tier + 1)].to_vec()).collect();
        (tiers, unknown)
    }

    /// Draws the tier of this round among those with clients.
    fn tier(&self, tiers: &[Vec<usize>], draw: &Draw<'_>, rng: &mut impl Rng) -> usize {
        let with = |count: usize| -> Vec<usize> {
            (0..tiers.len()).filter(|tier| tiers[*tier].len() >= count.max(1)).collect()
        };
        let full = with(draw.count);
        let open = if full.is_empty() { with(1) } else { full };
        let funded: Vec<usize> = match &self.credits {
            Some(credits) => {
                let used = credits.used(tiers, draw);
                let has_credit = |tier: &usize| used[*tier] < credits.draws.get(*tier).copied().unwrap_or(0);
                open.iter().copied().filter(has_credit).collect()
            }
            None => Vec::new(),
        };
        let open = if funded.is_empty() { open } else { funded };
        let weights = self.weights(&open, tiers, draw);
        let place = chance::place_by_weight(&weights, rng)
            .or_else(|| chance::place_by_weight(&vec![1.0; open.len()], rng));
        place.map_or(0, |place| open[place])
    }

    fn weights(&self, open: &[usize], tiers: &[Vec<usize>], draw: &Draw<'_>) -> Vec<f64> {
        match &self.policy {
            TierPolicy::Uniform => vec![1.0; open.len()],
            TierPolicy::Weights(weights) => {
                open.iter().map(|tier| weights.get(*tier).copied().unwrap_or(0.0)).collect()
            }
            TierPolicy::ByLoss => {
                let losses: Vec<f64> = open.iter().map(|tier| mean_loss(&tiers[*tier], draw)).collect();
                let mut ranked: Vec<usize> = (0..open.len()).collect();
                ranked.sort_by(|a, b| losses[*b].total_cmp(&losses[*a]).then(a.cmp(b)));
                let mut weights = vec![1.0; open.len()];
                for (rank, place) in ranked.into_iter().enumerate().filter(|_| open.len() > 1) {
                    weights[place] = (open.len() - 1 - rank) as f64;
                }
                weights
            }
        }
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let tiers = self.tiers;
        let is_right = (1..=TIERS_MAX).contains(&tiers);
        check(faults, is_right, "tiers", format!("it is {tiers}"), &format!("it must be 1 to {TIERS_MAX}"));
        let share = self.profiling_share;
        let is_right = (0.0..=1.0).contains(&share);
        check(faults, is_right, "profiling_share", format!("it is {share}"), "it must be 0 to 1");
        if let TierPolicy::Weights(weights) = &self.policy {
            let is_right = weights.len() == tiers
                && weights.iter().all(|weight| *weight >= 0.0 && weight.is_finite())
                && weights.iter().any(|weight| *weight > 0.0);
            let remedy = format!(
                "give one weight for each of the {tiers} tiers, each 0 or more and at least one above 0"
            );
            check(faults, is_right, "policy.weights", format!("they are {weights:?}"), &remedy);
        }
        if let Some(TierCredits { draws, rounds }) = &self.credits {
            let is_right = (1..=CREDIT_ROUNDS_MAX).contains(rounds);
            let remedy = format!("it must be 1 to {CREDIT_ROUNDS_MAX}");
            check(faults, is_right, "credits.rounds", format!("it is {rounds}"), &remedy);
            let sum = draws.iter().fold(0u64, |sum, draws| sum.saturating_add(*draws));
            let is_right = draws.len() == tiers && sum >= *rounds;
            let remedy = format!(
                "give one number for each of the {tiers} tiers, with a sum of at least credits.rounds ({rounds})"
            );
            check(faults, is_right, "credits.draws", format!("they are {draws:?}"), &remedy);
        }
    }
}

impl TierCredits {
    /// Counts how often each tier was drawn in the recent rounds.
    fn used(&self, tiers: &[Vec<usize>], draw: &Draw<'_>) -> Vec<u64> {
        let is_recent = |start: &&Start| {
            start.round_number < draw.round_number
                && start.round_number.saturating_add(self.rounds) > draw.round_number
        };
        let mut starters: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (tier, places) in tiers.iter().enumerate() {
            let recent = places.iter().flat_map(|place| &draw.waiting[*place].history.recent);
            for start in recent.filter(is_recent) {
                starters.entry(start.round_number).or_insert_with(|| vec![0; tiers.len()])[tier] += 1;
            }
        }
        let mut used = vec![0; tiers.len()];
        for counts in starters.values() {
            let most = (0..counts.len()).max_by_key(|tier| (counts[*tier], Reverse(*tier)));
            if let Some(tier) = most {
                used[tier] += 1;
            }
        }
        used
    }
}

/// Returns the mean of the clients' last mean losses; 0 if no client of the tier has a loss.
fn mean_loss(places: &[usize], draw: &Draw<'_>) -> f64 {
    let losses = places.iter().filter_map(|place| draw.waiting[*place].history.mean_loss);
    let (sum, count) = losses.fold((0.0, 0u64), |(sum, count), loss| (sum + loss, count + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}
