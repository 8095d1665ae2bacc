//! The noise multiplier, which always records the neighbouring relation whose sensitivity it is relative to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::budget::RangeError;

/// The smallest accounted noise multiplier. Smaller ones hide nothing: their epsilon is too large to mean anything.
pub const NOISE_MULTIPLIER_MIN: f64 = 1e-3;

/// The largest accounted noise multiplier.
pub const NOISE_MULTIPLIER_MAX: f64 = 1e9;

/// The neighbouring relation (adjacency). It says which two runs must be hard to tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Zero-out: a client's updates are replaced by zero, as is its part in the count that adapts a clipping norm. The
    /// rounds that it takes part in stay the same: the relation does not hide that a client took part.
    #[default]
    ZeroOut,
    /// Add or remove one: a client is in the population or is not.
    AddOrRemove,
    /// Replace one: a client's updates are replaced by any other clipped updates.
    ReplaceOne,
}

impl Relation {
    /// Returns the sensitivity of a sum of updates to one participation, in clipping norms.
    ///
    /// Leaving an update out moves the sum by at most the clipping norm C. Replacing it by an opposite one moves it by
    /// up to 2C.
    pub fn sensitivity_per_clipping_norm(self) -> f64 {
        match self {
            Self::ZeroOut | Self::AddOrRemove => 1.0,
            Self::ReplaceOne => 2.0,
        }
    }

    /// Describes in words which two runs the relation compares.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::ZeroOut => {
                "the client's updates are replaced by zero, as is its part in the count that adapts a clipping norm; its \
                 schedule stays, so this does not hide that somebody took part"
            }
            Self::AddOrRemove => "the client is in the population or is not",
            Self::ReplaceOne => "the client's updates are replaced by any others within the clipping norm",
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ZeroOut => "zero-out",
            Self::AddOrRemove => "add or remove one",
            Self::ReplaceOne => "replace one",
        })
    }
}

/// The noise's standard deviation divided by the L2 sensitivity under a neighbouring relation.
///
/// Under [`Relation::ReplaceOne`] the same noise has half the multiplier; [`NoiseMultiplier::under`] converts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct NoiseMultiplier {
    value: f64,
    relation: Relation,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    value: f64,
    relation: Relation,
}

impl NoiseMultiplier {
    /// Creates a multiplier relative to the sensitivity of `relation`.
    ///
    /// # Errors
    /// [`RangeError`] if `value` is not between [`NOISE_MULTIPLIER_MIN`] and [`NOISE_MULTIPLIER_MAX`].
    pub fn new(value: f64, relation: Relation) -> Result<Self, RangeError> {
        let is_right = (NOISE_MULTIPLIER_MIN..=NOISE_MULTIPLIER_MAX).contains(&value);
        RangeError::unless(is_right, "noise multiplier", value, "at least 0.001 and at most 1e9")?;
        Ok(Self { value, relation })
    }

    /// Creates the multiplier of noise whose standard deviation is `value` times the clipping norm.
    ///
    /// # Errors
    /// As for [`NoiseMultiplier::new`].
    pub fn per_clipping_norm(value: f64, relation: Relation) -> Result<Self, RangeError> {
        Self::new(value / relation.sensitivity_per_clipping_norm(), relation)
    }

    /// Returns the standard deviation divided by the sensitivity under its relation.
    pub fn get(self) -> f64 {
        self.value
    }

    /// Returns the relation whose sensitivity the multiplier is relative to.
    pub fn relation(self) -> Relation {
        self.relation
    }

    /// Returns the standard deviation of the noise on the sum, in clipping norms.
    pub fn standard_deviation_per_clipping_norm(self) -> f64 {
        self.value * self.relation.sensitivity_per_clipping_norm()
    }

    /// Returns the multiplier that describes the same noise under another relation: the noise's standard deviation
    /// divided by that relation's sensitivity.
    pub fn under(self, relation: Relation) -> Self {
        let value = self.standard_deviation_per_clipping_norm() / relation.sensitivity_per_clipping_norm();
        Self { value, relation }
    }
}

impl TryFrom<Parts> for NoiseMultiplier {
    type Error = RangeError;

    fn try_from(parts: Parts) -> Result<Self, RangeError> {
        Self::new(parts.value, parts.relation)
    }
}

impl From<NoiseMultiplier> for Parts {
    fn from(multiplier: NoiseMultiplier) -> Self {
        Self { value: multiplier.value, relation: multiplier.relation }
    }
}

impl fmt::Display for NoiseMultiplier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(formatter)?;
        write!(formatter, " ({})", self.relation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_doubles_the_sensitivity() {
        let zero_out = NoiseMultiplier::per_clipping_norm(3.0, Relation::ZeroOut).unwrap();
        let replace = zero_out.under(Relation::ReplaceOne);
        assert_eq!((zero_out.get(), replace.get()), (3.0, 1.5));
        assert_eq!(replace.standard_deviation_per_clipping_norm(), 3.0);
        assert_eq!(replace, NoiseMultiplier::per_clipping_norm(3.0, Relation::ReplaceOne).unwrap());
        assert_eq!(replace.under(Relation::AddOrRemove).get(), 3.0);
        assert_eq!(replace.to_string(), "1.5 (replace one)");
    }

    #[test]
    fn a_multiplier_without_noise_is_refused() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-4, 1e10] {
            assert!(NoiseMultiplier::new(value, Relation::ZeroOut).is_err(), "{value}");
        }
        let json = r#"{"value":1.5,"relation":"replace_one"}"#;
        let multiplier: NoiseMultiplier = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&multiplier).unwrap(), json);
        assert!(serde_json::from_str::<NoiseMultiplier>(r#"{"value":0,"relation":"zero_out"}"#).is_err());
    }
}
