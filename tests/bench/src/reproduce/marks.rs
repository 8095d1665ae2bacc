//! The marks of a claim: direction, size and significance. They are independent of each other.

use std::fmt;

use serde::Serialize;

/// The side of the bound on which the estimate lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    AsPublished,
    Opposite,
    NoDifference,
    NotMeasured,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::AsPublished => "as published",
            Direction::Opposite => "**opposite**",
            Direction::NoDifference => "**no difference**",
            Direction::NotMeasured => "not measured",
        })
    }
}

/// The result of comparing the interval with the published size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// The interval contains the published size. A wide interval is compatible with many sizes.
    Compatible,
    Smaller,
    Larger,
    /// There is no interval.
    NotKnown,
    /// The source gives no size, or a size for a task that is not comparable.
    NonePublished,
}

/// The result of the significance test of the estimate against the bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Significance {
    Significant {
        p: f64,
    },
    NotSignificant {
        p: f64,
    },
    /// All seeds have the same result, so the variance is 0 and no test is possible.
    SeedsAgree,
    OneSeed,
    NotMeasured,
}

impl fmt::Display for Significance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Significance::Significant { p } if *p < 0.001 => f.write_str("p < 0.001"),
            Significance::Significant { p } => write!(f, "p = {p:.3}"),
            Significance::NotSignificant { p } => write!(f, "**not significant** (p = {p:.2})"),
            Significance::SeedsAgree => f.write_str("no test: all seeds agree"),
            Significance::OneSeed => f.write_str("no test: one seed"),
            Significance::NotMeasured => f.write_str("no test"),
        }
    }
}
