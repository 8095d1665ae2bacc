use semver::Version;
use serde::{Deserialize, Serialize};

use super::shortened;

/// A range of SDK versions, in the order of Semantic Versioning 2.0.0, section 11: `1.10.0` comes after `1.9.0`,
/// and `2.0.0-rc.1` before `2.0.0`, so `below = "2.0.0"` still includes the release candidate.
///
/// A version may have fewer than three numbers: `1.2` means `1.2.0`. A version that cannot be parsed is in no
/// range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// The oldest allowed version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["1.2.0"])))]
    pub at_least: Option<String>,
    /// The first version that is too new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["2.0.0"])))]
    pub below: Option<String>,
}

impl VersionRange {
    /// Returns whether a client's version is in the range.
    pub fn contains(&self, version: &str) -> bool {
        let Some(version) = read(version) else { return false };
        let compare = |bound: &String| read(bound).map(|bound| version.cmp_precedence(&bound));
        // Validation rejects bounds that cannot be parsed. If one got here, it would match no version.
        self.at_least.as_ref().is_none_or(|bound| compare(bound).is_some_and(|order| order.is_ge()))
            && self.below.as_ref().is_none_or(|bound| compare(bound).is_some_and(|order| order.is_lt()))
    }

    /// Validates the range.
    ///
    /// # Errors
    /// The problem and the remedy.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        for bound in [&self.at_least, &self.below].into_iter().flatten() {
            if read(bound).is_none() {
                let message = format!("`{}` is not a version", shortened(bound));
                return Err((message, "write it as 1.2.3".into()));
            }
        }
        let bounds = (self.at_least.as_deref().and_then(read), self.below.as_deref().and_then(read));
        match bounds {
            (None, None) => {
                Err(("it has no bound".into(), "set `at_least` or `below`, or remove sdk_version".into()))
            }
            (Some(at_least), Some(below)) if at_least.cmp_precedence(&below).is_ge() => Err((
                format!("no version is at least {at_least} and below {below}"),
                "raise `below` or lower `at_least`".into(),
            )),
            _ => Ok(()),
        }
    }
}

/// Parses a version. Missing numbers become 0.
fn read(text: &str) -> Option<Version> {
    let text = text.trim();
    let numbers_end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, suffix) = text.split_at(numbers_end);
    let missing = 2usize.saturating_sub(numbers.matches('.').count());
    Version::parse(&format!("{numbers}{}{suffix}", ".0".repeat(missing))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_order_of_semantic_versioning() {
        // The sequence from section 11.4.4, with more numbers around it.
        let chain = [
            "0.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1",
            "1.0.1",
            "1.9",
            "1.10.0",
            "10",
        ];
        for (place, version) in chain.iter().enumerate() {
            for (other_place, other) in chain.iter().enumerate() {
                let at_least = VersionRange { at_least: Some((*other).into()), below: None };
                let below = VersionRange { at_least: None, below: Some((*other).into()) };
                assert_eq!(at_least.contains(version), place >= other_place, "{version} {other}");
                assert_eq!(below.contains(version), place < other_place, "{version} {other}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_in_no_range() {
        let range = VersionRange { at_least: Some("0".into()), below: None };
        for version in ["", "x", "1.2.3.4", "1..2", "-1", "v1.0.0", "1.0.0-", "99999999999999999999.0"] {
            assert!(!range.contains(version), "{version}");
        }
        assert!(range.contains("1.2.3+build.7"));
        let unreadable = VersionRange { at_least: Some("x".into()), below: None };
        assert!(!unreadable.contains("1.0.0"));
    }
}
