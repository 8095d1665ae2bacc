use folkmoot_protocol::{
    Fault,
    saturating::{to_length, to_whole},
};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Draw, check, uniform, weighted};
use crate::participation::History;

/// Guided selection: prefers fast clients from which the model still learns much (Lai et al. 2021, "Oort:
/// efficient federated learning via guided participant selection", algorithm 1).
///
/// A client is *explored* once one of its updates was accepted. Its utility depends on its history and the
/// round's number R:
///
/// - It starts as the statistical utility |B|·l, where |B| is the number of examples and l the mean loss of the
///   last update. The paper uses |B|·sqrt(mean of loss²), but clients report only the mean. By Jensen's
///   inequality, the mean is never above the root mean square, so this is a lower bound. It is capped at a
///   quantile against outliers (section 4.4), then divided by the largest utility among the waiting clients. That
///   puts it on the scale of the next term.
/// - sqrt(0.1·ln R / L) is added, where L is the round of its last start. The bonus is larger for clients that
///   started longer ago.
/// - The sum is multiplied by (T / t)^alpha if the client's time t exceeds the preferred time T.
///
/// A share of the cohort is drawn uniformly from the unexplored clients, whose speed is unknown. The rest is drawn in
/// proportion to utility. It is drawn from clients with at least `cut_off_share` of the utility of the client at the
/// last wanted rank. If one group has too few clients, the other fills the cohort.
///
/// Two things differ from the paper. The share of unexplored clients decays with the round's number, not with the
/// number of draws, because selection keeps no state. The paper's pacer, which adapts T to the utility of past
/// rounds, is left out: it needs sums that the histories do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Oort {
    /// The share of unexplored clients in the cohort of round 1: 0 to 1.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1)))]
    pub exploration_share: f64,
    /// The factor that multiplies the exploration share after each round: above 0, at most 1.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub exploration_decay: f64,
    /// The lower limit of the exploration share: 0 to 1.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1)))]
    pub exploration_share_min: f64,
    /// The minimum utility of a drawn client, as a share of the utility of the client at the last wanted rank: 0 to 1.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1)))]
    pub cut_off_share: f64,
    /// The quantile at which statistical utilities are capped: above 0, at most 1. 1 caps none.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub utility_quantile_max: f64,
    /// The time T, in seconds, that a client may take without a penalty. The default is no penalty.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [60.0])))]
    pub preferred_seconds: Option<f64>,
    /// The exponent alpha of the penalty, at least 0.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 100)))]
    pub penalty_exponent: f64,
    /// Clients with this many starts are left out. The default is no limit. With a limit, a population can run
    /// out of clients.
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [100])))]
    pub participations_max: Option<u64>,
}

/// Sets the values of the paper.
impl Default for Oort {
    fn default() -> Self {
        Self {
            exploration_share: 0.9,
            exploration_decay: 0.98,
            exploration_share_min: 0.2,
            cut_off_share: 0.95,
            utility_quantile_max: 0.95,
            preferred_seconds: None,
            penalty_exponent: 2.0,
            participations_max: None,
        }
    }
}

/// The weight of the bonus for clients that started long ago (algorithm 1).
const UNCERTAINTY: f64 = 0.1;

impl Oort {
    pub(super) fn draw(&self, draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
        let history = |place: &usize| &draw.waiting[*place].history;
        let starts_max = self.participations_max.unwrap_or(u64::MAX);
        let open = draw.places().into_iter().filter(|place| history(place).starts < starts_max);
        let (explored, unexplored): (Vec<usize>, Vec<usize>) =
            open.partition(|place| history(place).mean_loss.is_some());
        let wanted =
            to_length(to_whole((self.exploration_share(draw.round_number) * draw.count as f64).round()));
        let exploit = draw.count.saturating_sub(wanted).min(explored.len());
        let explore = (draw.count - exploit).min(unexplored.len());
        let exploit = (draw.count - explore).min(explored.len());
        let histories: Vec<&History> = explored.iter().map(history).collect();
        let utilities = self.utilities(&histories, draw.round_number);
        let rated: Vec<(usize, f64)> = explored.iter().copied().zip(utilities).collect();
        let mut drawn = self.exploit(&rated, exploit, rng);
        drawn.extend(uniform::draw(unexplored, explore, rng));
        drawn
    }

    /// Returns the share of unexplored clients in a round. Rounds are numbered from 1.
    fn exploration_share(&self, round_number: u64) -> f64 {
        let decayed =
            self.exploration_share * libm::pow(self.exploration_decay, round_number.saturating_sub(1) as f64);
        // If the initial share is below the minimum, it stays at its initial value.
        decayed.max(self.exploration_share_min.min(self.exploration_share)).clamp(0.0, 1.0)
    }

    /// Returns the utility of each explored client; see [`Oort`].
    fn utilities(&self, histories: &[&History], round_number: u64) -> Vec<f64> {
        let mut statistical: Vec<f64> = histories
            .iter()
            .map(|history| history.example_count as f64 * history.mean_loss.unwrap_or(0.0).max(0.0))
            .collect();
        let cut = quantile(&statistical, self.utility_quantile_max);
        statistical.iter_mut().for_each(|utility| *utility = utility.min(cut));
        let scale = statistical.iter().copied().fold(0.0, f64::max);
        let scale = if scale > 0.0 && scale.is_finite() { scale } else { 1.0 };
        let rate = |(history, statistical): (&&History, f64)| {
            let last = history.recent.back().map_or(1, |start| start.round_number).max(1);
            let bonus = (UNCERTAINTY * libm::log(round_number.max(1) as f64) / last as f64).sqrt();
            (statistical / scale + bonus) * self.penalty(history)
        };
        histories.iter().zip(statistical).map(rate).collect()
    }

    fn penalty(&self, history: &History) -> f64 {
        let (Some(preferred), Some(milliseconds)) = (self.preferred_seconds, history.milliseconds) else {
            return 1.0;
        };
        let seconds = milliseconds as f64 / 1000.0;
        if seconds > preferred { libm::pow(preferred / seconds, self.penalty_exponent) } else { 1.0 }
    }

    fn exploit(&self, rated: &[(usize, f64)], count: usize, rng: &mut impl Rng) -> Vec<usize> {
        let mut utilities: Vec<f64> = rated.iter().map(|(_, utility)| *utility).collect();
        utilities.sort_by(|a, b| b.total_cmp(a));
        let Some(last) = count.checked_sub(1).and_then(|place| utilities.get(place)) else {
            return Vec::new();
        };
        let cut_off = last * self.cut_off_share;
        let admitted: Vec<(usize, f64)> =
            rated.iter().copied().filter(|(_, utility)| *utility >= cut_off).collect();
        weighted::draw(&admitted, count, rng)
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        let shares = [
            ("exploration_share", self.exploration_share),
            ("exploration_share_min", self.exploration_share_min),
            ("cut_off_share", self.cut_off_share),
        ];
        for (field, share) in shares {
            let is_right = (0.0..=1.0).contains(&share);
            check(faults, is_right, field, format!("it is {share}"), "it must be 0 to 1");
        }
        let factors = [
            ("exploration_decay", self.exploration_decay),
            ("utility_quantile_max", self.utility_quantile_max),
        ];
        for (field, factor) in factors {
            let is_right = factor > 0.0 && factor <= 1.0;
            check(faults, is_right, field, format!("it is {factor}"), "it must be above 0 and at most 1");
        }
        let seconds = self.preferred_seconds.unwrap_or(1.0);
        let is_right = seconds > 0.0 && seconds.is_finite();
        check(faults, is_right, "preferred_seconds", format!("it is {seconds}"), "it must be above 0");
        let exponent = self.penalty_exponent;
        let is_right = (0.0..=100.0).contains(&exponent);
        check(faults, is_right, "penalty_exponent", format!("it is {exponent}"), "it must be 0 to 100");
        let is_right = self.participations_max != Some(0);
        check(
            faults,
            is_right,
            "participations_max",
            "it is 0".into(),
            "it must be at least 1; remove participations_max for no limit",
        );
    }
}

/// Returns the smallest value that is at least as large as this share of the values, or infinity if there are
/// none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = to_length(to_whole((share * sorted.len() as f64).ceil()));
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;
    use crate::participation::Start;

    fn history(examples: u64, loss: f64, seconds: u64, round_number: u64) -> History {
        History {
            starts: 1,
            recent: [Start { round_number, at: Timestamp(0) }].into(),
            milliseconds: Some(seconds * 1000),
            mean_loss: Some(loss),
            example_count: examples,
            ..History::default()
        }
    }

    #[test]
    fn the_utility_is_that_of_the_paper() {
        let oort = Oort { preferred_seconds: Some(10.0), utility_quantile_max: 1.0, ..Oort::default() };
        let clients = [history(100, 2.0, 5, 16), history(50, 1.0, 20, 4), history(10, 0.0, 10, 20)];
        let utilities = oort.utilities(&clients.each_ref(), 20);
        // ln 20 = 2.995732273553991. The utilities are 200/200 + sqrt(0.2995732/16), (50/200 +
        // sqrt(0.2995732/4))·(10/20)² and 0 + sqrt(0.2995732/20). The last client's 10 seconds do not exceed the
        // preferred time.
        let by_hand = [1.136833, 0.130916, 0.122387];
        for (utility, expected) in utilities.iter().zip(by_hand) {
            assert!((utility - expected).abs() < 2e-6, "{utilities:?}");
        }
    }

    #[test]
    fn an_outlier_is_cut_at_the_quantile() {
        let oort = Oort { utility_quantile_max: 0.75, ..Oort::default() };
        let clients = [1.0, 2.0, 4.0, 1e9].map(|loss| history(1, loss, 1, 1));
        // In round 1 the bonus is 0, because ln 1 = 0.
        assert_eq!(oort.utilities(&clients.each_ref(), 1), [0.25, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn exploration_decays_to_its_least_share() {
        let oort = Oort::default();
        assert_eq!(oort.exploration_share(1), 0.9);
        assert!((oort.exploration_share(3) - 0.9 * 0.98 * 0.98).abs() < 1e-15);
        // 0.9·0.98^74 = 0.2018, 0.9·0.98^75 = 0.1978.
        assert!(oort.exploration_share(75) > 0.2);
        assert_eq!(oort.exploration_share(76), 0.2);
        assert_eq!(oort.exploration_share(u64::MAX), 0.2);
    }
}
