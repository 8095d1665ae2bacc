//! The parameters of a privacy guarantee: epsilon, delta, rho, the sampling rate and the privacy unit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A parameter outside its permitted range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}; it must be {range}")]
pub struct RangeError {
    /// The parameter's name, as it appears in the message.
    pub name: &'static str,
    /// The rejected value.
    pub value: f64,
    /// The permitted range in words, for example `above 0 and below 1`.
    pub range: &'static str,
}

impl RangeError {
    /// Returns an error that names the value and its range unless `is_right` holds.
    pub(crate) fn unless(
        is_right: bool,
        name: &'static str,
        value: f64,
        range: &'static str,
    ) -> Result<(), Self> {
        if is_right { Ok(()) } else { Err(Self { name, value, range }) }
    }
}

macro_rules! budget_number {
    ($(#[$doc:meta])* $type:ident, $name:literal, $range:literal, $is_right:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $type(f64);

        impl $type {
            /// Validates the value.
            ///
            /// # Errors
            /// [`RangeError`] if the value is out of range or NaN.
            pub fn new(value: f64) -> Result<Self, RangeError> {
                let is_right: fn(f64) -> bool = $is_right;
                RangeError::unless(is_right(value), $name, value, $range)?;
                Ok(Self(value))
            }

            /// Returns the value as a plain `f64`.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $type {
            type Error = RangeError;

            fn try_from(value: f64) -> Result<Self, RangeError> {
                Self::new(value)
            }
        }

        impl From<$type> for f64 {
            fn from(number: $type) -> f64 {
                number.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl fmt::LowerExp for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerExp::fmt(&self.0, formatter)
            }
        }
    };
}

budget_number!(
    /// The ε of (ε, δ)-differential privacy: P[M(D) ∈ S] ≤ e^ε·P[M(D′) ∈ S] + δ. Finite, at least 0.
    Epsilon, "epsilon", "finite and at least 0", |value| value >= 0.0 && value.is_finite()
);
budget_number!(
    /// The δ of (ε, δ)-differential privacy: the probability with which the bound of epsilon may fail. In (0, 1).
    /// Choose a value well below 1 / population.
    Delta, "delta", "above 0 and below 1", |value| value > 0.0 && value < 1.0
);
budget_number!(
    /// The parameter ρ of zero-concentrated differential privacy (zCDP). Finite, at least 0; additive under
    /// composition.
    ///
    /// Bun and Steinke 2016, "Concentrated differential privacy: simplifications, extensions, and lower bounds".
    Rho, "rho", "finite and at least 0", |value| value >= 0.0 && value.is_finite()
);
budget_number!(
    /// The probability with which a client is drawn for a round, in (0, 1].
    SamplingRate, "sampling rate", "above 0 and at most 1", |value| value > 0.0 && value <= 1.0
);

/// The privacy unit, which the guarantee protects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One enrolled client, with all its examples. A person with two devices is two clients.
    #[default]
    Client,
    /// One person. Valid only where enrolment ensures that all clients of a person count as one.
    User,
}

impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Client => "client",
            Self::User => "user",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_with_its_range() {
        for value in [-1e-300, f64::NAN, f64::INFINITY] {
            assert!(Epsilon::new(value).is_err() && Rho::new(value).is_err());
        }
        for value in [0.0, 1.0, f64::NAN, -0.1, 1.1] {
            assert!(Delta::new(value).is_err(), "{value}");
        }
        assert!(SamplingRate::new(0.0).is_err() && SamplingRate::new(1.0).is_ok());
        let error = Delta::new(1.5).unwrap_err();
        assert_eq!(error.to_string(), "delta is 1.5; it must be above 0 and below 1");
    }

    #[test]
    fn numbers_survive_json_and_wrong_ones_do_not() {
        let delta: Delta = serde_json::from_str("1e-6").unwrap();
        assert_eq!(serde_json::to_string(&delta).unwrap(), "1e-6");
        assert!(serde_json::from_str::<Delta>("2.0").is_err());
        assert_eq!(format!("{:.2} per {}", Epsilon::new(1.234).unwrap(), Unit::Client), "1.23 per client");
    }
}
