//! A published claim and our result. Three marks compare them: direction, size and significance.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    estimate::{Estimate, Interval},
    marks::{Direction, Significance, Size},
    students_t::CONFIDENCE,
};

/// The unit of a figure, and how it is displayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    name: &'static str,
    /// The factor by which a figure is multiplied for display.
    factor: f64,
    decimals: usize,
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.trim().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Unit::ALL.into_iter().find(|unit| unit.name.trim() == name);
        known.ok_or_else(|| D::Error::custom(format!("{name} is not a unit of a claim")))
    }
}

impl Unit {
    /// A ratio of two figures.
    pub const TIMES: Self = Self { name: "×", factor: 1.0, decimals: 1 };
    /// Percentage points, for shares.
    pub const POINTS: Self = Self { name: " points", factor: 100.0, decimals: 1 };
    /// A difference of losses.
    pub const LOSS: Self = Self { name: " loss", factor: 1.0, decimals: 2 };
    /// Staleness in model versions.
    pub const VERSIONS: Self = Self { name: " versions", factor: 1.0, decimals: 2 };
    /// The number of trainings by clients.
    pub const TRAININGS: Self = Self { name: " trainings", factor: 1.0, decimals: 0 };

    const ALL: [Self; 5] = [Self::TIMES, Self::POINTS, Self::LOSS, Self::VERSIONS, Self::TRAININGS];

    fn show(self, value: f64) -> String {
        let text = format!("{:.*}", self.decimals, value * self.factor);
        // Zero is shown without a sign.
        if text.trim_matches(['-', '0', '.']).is_empty() { text.replace('-', "") } else { text }
    }

    /// Returns the unit with one more decimal if both ends of the interval would otherwise look equal.
    fn telling(self, low: f64, high: f64) -> Self {
        let decimals = self.decimals + usize::from(low != high && self.show(low) == self.show(high));
        Self { decimals, ..self }
    }

    fn named(self, value: f64) -> String {
        format!("{}{}", self.show(value), self.name)
    }
}

/// The side of a bound on which the published result lies, or the published range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    Above(f64),
    Below(f64),
    Within(f64, f64),
}

impl Says {
    /// Returns the bound against which the estimate is tested. For a range, this is the nearer end.
    fn bound(self, estimate: &Estimate) -> f64 {
        match self {
            Says::Above(bound) | Says::Below(bound) => bound,
            Says::Within(low, high) => {
                let value = estimate.value;
                if (value - low).abs() < (high - value).abs() { low } else { high }
            }
        }
    }

    fn direction(self, value: f64) -> Direction {
        let is_published = match self {
            Says::Above(bound) | Says::Below(bound) if value == bound => return Direction::NoDifference,
            Says::Above(bound) => value > bound,
            Says::Below(bound) => value < bound,
            Says::Within(low, high) => (low..=high).contains(&value),
        };
        if is_published { Direction::AsPublished } else { Direction::Opposite }
    }

    /// Returns the bounds as text. Returns `None` for the natural bound: a difference of 0 or a ratio of 1.
    fn margin(self, unit: Unit) -> Option<String> {
        let natural = if unit == Unit::TIMES { 1.0 } else { 0.0 };
        match self {
            Says::Above(bound) | Says::Below(bound) if bound == natural => None,
            Says::Above(bound) => Some(format!("above {}", unit.named(bound))),
            Says::Below(bound) => Some(format!("below {}", unit.named(bound))),
            Says::Within(low, high) => Some(format!("within {} to {}", unit.show(low), unit.named(high))),
        }
    }
}

/// A published claim that is tested by one comparison.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Kept")]
pub struct Claim {
    published: String,
    unit: Unit,
    says: Says,
    size: Option<f64>,
    arms: String,
    /// Our estimate, or the reason why there is none.
    estimate: Result<Estimate, String>,
}

impl Claim {
    /// Creates a claim for which no size was published.
    pub fn new(
        published: impl Into<String>,
        unit: Unit,
        says: Says,
        estimate: Result<Estimate, String>,
    ) -> Self {
        Self { published: published.into(), unit, says, size: None, arms: String::new(), estimate }
    }

    /// Sets the published size, in the unit of the claim.
    pub fn sized(self, size: f64) -> Self {
        Self { size: Some(size), ..self }
    }

    /// Sets the text with the means of the arms, which is shown before the estimate.
    pub fn of_arms(self, arms: impl Into<String>) -> Self {
        Self { arms: arms.into(), ..self }
    }

    /// Returns the side of the bound on which the estimate lies, compared with the published side.
    pub fn direction(&self) -> Direction {
        self.estimate.as_ref().map_or(Direction::NotMeasured, |one| self.says.direction(one.value))
    }

    /// Returns the comparison of the estimate's interval with the published size.
    pub fn size(&self) -> Size {
        let Some(published) = self.size else { return Size::NonePublished };
        match self.estimate.as_ref().ok().and_then(|one| one.interval) {
            None => Size::NotKnown,
            Some(interval) if interval.contains(published) => Size::Compatible,
            Some(interval) if interval.high < published => Size::Smaller,
            Some(_) => Size::Larger,
        }
    }

    /// Returns the result of the test whether the interval excludes the bound.
    pub fn significance(&self) -> Significance {
        let Ok(estimate) = &self.estimate else { return Significance::NotMeasured };
        match (estimate.interval, estimate.p_value(self.says.bound(estimate))) {
            (None, _) => Significance::OneSeed,
            (_, None) => Significance::SeedsAgree,
            (_, Some(p)) if p < 1.0 - CONFIDENCE => Significance::Significant { p },
            (_, Some(p)) => Significance::NotSignificant { p },
        }
    }

    /// Returns the cells of a row: published, ours, direction, size, significance.
    pub fn cells(&self) -> Vec<String> {
        let published = match self.size {
            Some(size) => format!("{}: {}", self.published, self.unit.named(size)),
            None => self.published.clone(),
        };
        let significance = match self.says.margin(self.unit) {
            Some(margin) => format!("{}, {margin}", self.significance()),
            None => self.significance().to_string(),
        };
        vec![published, self.ours(), self.direction().to_string(), self.size_in_words(), significance]
    }

    fn ours(&self) -> String {
        let arms = if self.arms.is_empty() { String::new() } else { format!("{}; ", self.arms) };
        let shown = match &self.estimate {
            Err(why) => why.clone(),
            Ok(Estimate { value, interval: None, .. }) => {
                format!("{} (one seed: no interval)", self.unit.named(*value))
            }
            Ok(Estimate { value, interval: Some(Interval { low, high }), .. }) => {
                let unit = self.unit.telling(*low, *high);
                format!("{} ({} to {})", unit.named(*value), unit.show(*low), unit.show(*high))
            }
        };
        arms + &shown
    }

    fn size_in_words(&self) -> String {
        let than = || self.unit.named(self.size.unwrap_or_default());
        match self.size() {
            Size::Compatible => format!("compatible with {}", than()),
            Size::Smaller => format!("**smaller** than {}", than()),
            Size::Larger => format!("**larger** than {}", than()),
            Size::NotKnown => "not known".to_owned(),
            Size::NonePublished => "none to compare".to_owned(),
        }
    }
}

/// The stored form of a claim. The marks are not stored; they are computed again.
#[derive(Deserialize)]
struct Kept {
    published: String,
    published_size: Option<f64>,
    unit: Unit,
    says: Says,
    arms: String,
    estimate: Option<Estimate>,
    why_not_measured: Option<String>,
}

impl From<Kept> for Claim {
    fn from(kept: Kept) -> Self {
        let Kept { published, published_size, unit, says, arms, estimate, why_not_measured } = kept;
        let estimate = estimate.ok_or(why_not_measured.unwrap_or_default());
        Self { published, unit, says, size: published_size, arms, estimate }
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            published: &'a str,
            published_size: Option<f64>,
            unit: Unit,
            says: Says,
            arms: &'a str,
            confidence: f64,
            estimate: Option<&'a Estimate>,
            why_not_measured: Option<&'a String>,
            direction: Direction,
            size: Size,
            significance: Significance,
        }
        Row {
            published: &self.published,
            published_size: self.size,
            unit: self.unit,
            says: self.says,
            arms: &self.arms,
            confidence: CONFIDENCE,
            estimate: self.estimate.as_ref().ok(),
            why_not_measured: self.estimate.as_ref().err(),
            direction: self.direction(),
            size: self.size(),
            significance: self.significance(),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::estimate::Sample;

    fn factor(values: &[f64]) -> Result<Estimate, String> {
        Estimate::factor(&Sample::of(values), &Sample::of(&vec![1.0; values.len()]))
    }

    fn marks(claim: &Claim) -> (Direction, Size, bool) {
        let is_significant = matches!(claim.significance(), Significance::Significant { .. });
        (claim.direction(), claim.size(), is_significant)
    }

    /// The interval around a measured factor of 3.8 must not count as a reproduction of a published factor of 31.3,
    /// although both factors are above 1.
    #[test]
    fn an_interval_shows_its_width() {
        let shown = |low, high| {
            let unit = Unit::TIMES.telling(low, high);
            format!("{} to {}", unit.show(low), unit.named(high))
        };
        assert_eq!(shown(0.98, 1.01), "0.98 to 1.01×");
        assert_eq!(shown(2.1, 5.1), "2.1 to 5.1×");
        assert_eq!(shown(1.0, 1.0), "1.0 to 1.0×");
    }

    #[test]
    fn the_right_direction_is_not_the_published_size() {
        let claim =
            Claim::new("local work saves rounds", Unit::TIMES, Says::Above(1.0), factor(&[3.2, 3.8, 4.5]))
                .sized(31.3);
        assert_eq!(marks(&claim), (Direction::AsPublished, Size::Smaller, true));
        assert_eq!(
            claim.cells()[1..4],
            ["3.8× (2.5 to 5.8)", "as published", "**smaller** than 31.3×"].map(str::to_owned)
        );
        assert_eq!(claim.cells()[0], "local work saves rounds: 31.3×");
    }

    /// With five seeds, means of 84.6 and 85.7 with standard deviations of 2.3 and 2.4 cannot be distinguished.
    #[test]
    fn means_within_the_noise_of_their_seeds_are_not_significant() {
        let bounded = Sample::of(&[0.823, 0.834, 0.846, 0.858, 0.869]);
        let plain = Sample::of(&[0.833, 0.845, 0.857, 0.869, 0.881]);
        let estimate = Estimate::difference(&bounded, &plain);
        let claim = Claim::new("a bound helps", Unit::POINTS, Says::Below(0.0), estimate);
        assert_eq!(marks(&claim), (Direction::AsPublished, Size::NonePublished, false));
        assert!(claim.cells()[4].starts_with("**not significant** (p = 0."), "{:?}", claim.cells());
    }

    #[test]
    fn what_is_significant_may_be_the_opposite() {
        let claim =
            Claim::new("fewer rounds", Unit::TIMES, Says::Below(1.0), factor(&[1.6, 1.7, 1.8])).sized(0.5);
        assert_eq!(marks(&claim), (Direction::Opposite, Size::Larger, true));
    }

    #[test]
    fn one_seed_says_that_it_has_no_interval() {
        let claim = Claim::new("faster", Unit::TIMES, Says::Above(1.0), factor(&[3.0])).sized(2.0);
        let cells = claim.cells();
        assert_eq!(
            cells[1..],
            ["3.0× (one seed: no interval)", "as published", "not known", "no test: one seed"]
                .map(str::to_owned)
        );
    }

    #[test]
    fn a_margin_is_tested_and_said() {
        let lost = |values: &[f64]| Estimate::mean(&Sample::of(values));
        let claim =
            |values: &[f64]| Claim::new("little is lost", Unit::POINTS, Says::Below(0.1), lost(values));
        assert_eq!(marks(&claim(&[0.01, 0.02, 0.03])), (Direction::AsPublished, Size::NonePublished, true));
        assert_eq!(marks(&claim(&[0.01, 0.09, 0.15])), (Direction::AsPublished, Size::NonePublished, false));
        assert!(claim(&[0.01, 0.02, 0.03]).cells()[4].ends_with(", below 10.0 points"));
        let within =
            |values: &[f64]| Claim::new("it tracks", Unit::TIMES, Says::Within(0.75, 1.34), lost(values));
        assert!(marks(&within(&[1.0, 1.01, 1.02])).2);
        assert!(!marks(&within(&[0.8, 1.0, 1.2])).2);
    }

    #[test]
    fn what_was_not_measured_says_why() {
        let claim = Claim::new("faster", Unit::TIMES, Says::Above(1.0), Err("refused".into()));
        assert_eq!(
            claim.cells()[1..],
            ["refused", "not measured", "none to compare", "no test"].map(str::to_owned)
        );
    }

    #[test]
    fn json_has_the_interval_each_seed_and_the_marks() {
        let claim =
            Claim::new("local work saves rounds", Unit::TIMES, Says::Above(1.0), factor(&[3.2, 3.8, 4.5]))
                .sized(31.3);
        let json = serde_json::to_value(&claim).unwrap();
        assert_eq!((&json["direction"], &json["size"]), (&"as_published".into(), &"smaller".into()));
        assert_eq!(json["significance"]["kind"], "significant");
        assert!(json["estimate"]["interval"]["low"].as_f64().unwrap() > 2.0);
        assert_eq!(json["estimate"]["samples"][0][1]["values"], serde_json::json!([3.2, 3.8, 4.5]));
        assert_eq!((&json["confidence"], &json["unit"]), (&0.95.into(), &"×".into()));
        assert_eq!(serde_json::from_value::<Claim>(json).unwrap(), claim);
    }
}
