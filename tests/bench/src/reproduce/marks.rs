//! What is said of a claim: direction, size and significance, each apart.

use std::fmt;

use serde::Serialize;

/// Whether the estimate lies on the published side of the bound.
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

/// Whether the interval contains the published size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// The interval contains it. A wide one contains much.
    Compatible,
    Smaller,
    Larger,
    /// There is no interval.
    NotKnown,
    /// The source gives no size, or one of a task that is not to be compared.
    NonePublished,
}

/// Whether the seeds tell the estimate from the bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Significance {
    Significant {
        p: f64,
    },
    NotSignificant {
        p: f64,
    },
    /// Every seed came to the same, so that there is nothing to test with.
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
