//! Verbal ratings of an epsilon.

use std::fmt;

use serde::Serialize;

use crate::budget::{Delta, Epsilon, Unit};

/// The strength of a guarantee.
///
/// Ponomareva, Hazimeh, Kurakin, Xu, Denison, McMahan, Vassilvitskii, Chien and Thakurta 2023, "How to DP-fy ML: a
/// practical guide to machine learning with differential privacy", section 5.2: three tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Epsilon is at most 1.
    Strong,
    /// Epsilon is at most 10, as in most deployed models.
    Reasonable,
    /// Epsilon is above 10, or delta is not below 1 / units: the numbers alone guarantee little.
    Weak,
}

/// A rating of a guarantee. Its text always states delta and the privacy unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Opinion {
    epsilon: Epsilon,
    delta: Delta,
    unit: Unit,
    units: u64,
    strength: Strength,
}

impl Opinion {
    /// Rates (epsilon, delta) for a population of `units` clients or users.
    pub fn new(epsilon: Epsilon, delta: Delta, unit: Unit, units: u64) -> Self {
        let strength = if delta.get() * units as f64 >= 1.0 || epsilon.get() > 10.0 {
            Strength::Weak
        } else if epsilon.get() > 1.0 {
            Strength::Reasonable
        } else {
            Strength::Strong
        };
        Self { epsilon, delta, unit, units, strength }
    }

    /// Returns the tier of the guarantee.
    pub fn strength(&self) -> Strength {
        self.strength
    }
}

impl fmt::Display for Opinion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epsilon, delta, unit, units, strength } = self;
        let word = match strength {
            Strength::Strong => "strong",
            Strength::Reasonable => "reasonable",
            Strength::Weak => "weak",
        };
        write!(formatter, "{word}: epsilon {epsilon:.3} at delta {delta:e} per {unit}")?;
        if delta.get() * *units as f64 >= 1.0 {
            write!(formatter, "; delta is not below 1 / {units}, so all data of one {unit} may be revealed")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(epsilon: f64, delta: f64) -> Opinion {
        Opinion::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap(), Unit::Client, 100_000)
    }

    #[test]
    fn the_tiers_are_those_of_the_guide() {
        for (epsilon, strength) in [
            (0.0, Strength::Strong),
            (1.0, Strength::Strong),
            (1.01, Strength::Reasonable),
            (10.0, Strength::Reasonable),
            (10.1, Strength::Weak),
        ] {
            assert_eq!(opinion(epsilon, 1e-6).strength(), strength);
        }
        assert_eq!(opinion(0.5, 1e-5).strength(), Strength::Weak);
    }

    #[test]
    fn a_number_is_never_without_delta_and_unit() {
        assert_eq!(opinion(2.0, 1e-6).to_string(), "reasonable: epsilon 2.000 at delta 1e-6 per client");
        assert!(
            opinion(0.5, 1e-4)
                .to_string()
                .starts_with("weak: epsilon 0.500 at delta 1e-4 per client; delta is not")
        );
    }
}
