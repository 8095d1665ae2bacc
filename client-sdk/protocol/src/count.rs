use serde::{Deserialize, Deserializer, Serialize};

use crate::limits::COUNT_MAX;

/// An integer in messages and in the API, from 0 to [`COUNT_MAX`].
///
/// JSON represents all of these integers exactly, and both databases can store them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Count(u64);

/// The number is above [`COUNT_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is too large: a number may be at most {COUNT_MAX} (2^53)")]
pub struct CountTooLargeError(u64);

impl Count {
    /// Returns the number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// Deserializes a JSON field into a plain number: `#[serde(deserialize_with = "Count::read")]`.
    ///
    /// # Errors
    /// Fails unless it is an integer from 0 to [`COUNT_MAX`].
    pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        Count::deserialize(deserializer).map(Count::get)
    }

    /// Deserializes a JSON field that may be null.
    ///
    /// # Errors
    /// As [`Count::read`].
    pub fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        Ok(Option::<Count>::deserialize(deserializer)?.map(Count::get))
    }
}

impl TryFrom<u64> for Count {
    type Error = CountTooLargeError;

    fn try_from(number: u64) -> Result<Self, CountTooLargeError> {
        if number > COUNT_MAX { Err(CountTooLargeError(number)) } else { Ok(Self(number)) }
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> u64 {
        count.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_exact_in_json() {
        for (text, expected) in [("0", 0), ("1", 1), ("9007199254740992", COUNT_MAX)] {
            let count: Count = serde_json::from_str(text).unwrap();
            assert_eq!((count.get(), serde_json::to_string(&count).unwrap().as_str()), (expected, text));
        }
        let wrong =
            ["-1", "0.5", "9007199254740993", "9223372036854775808", "18446744073709551615", "1e400", "null"];
        for text in wrong {
            assert!(serde_json::from_str::<Count>(text).is_err(), "{text}");
        }
        let error = serde_json::from_str::<Count>("9007199254740993").unwrap_err();
        assert!(error.to_string().contains("at most 9007199254740992 (2^53)"), "{error}");
    }
}
