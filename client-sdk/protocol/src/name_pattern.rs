use serde::{Deserialize, Serialize};

/// A pattern for tensor names: `*` matches any characters, `?` matches one, and all others match themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct NamePattern(pub String);

impl NamePattern {
    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the pattern matches the whole name.
    ///
    /// In the worst case, the time is proportional to the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) = (self.0.chars().collect(), name.chars().collect());
        let (mut at, mut position) = (0, 0);
        // After a mismatch, matching continues after the last star, which then covers one more character.
        let mut retry: Option<(usize, usize)> = None;
        while position < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    retry = Some((at + 1, position + 1));
                    at += 1;
                }
                Some(wanted) if *wanted == '?' || *wanted == name[position] => {
                    at += 1;
                    position += 1;
                }
                _ => {
                    let Some((behind_star, next)) = retry else { return false };
                    (at, position) = (behind_star, next);
                    retry = Some((behind_star, next + 1));
                }
            }
        }
        pattern[at..].iter().all(|letter| *letter == '*')
    }
}

impl From<&str> for NamePattern {
    fn from(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let matching = [
            ("*", ""),
            ("*", "any"),
            ("encoder.*", "encoder.weight"),
            ("*.bias", "a.b.bias"),
            ("layer_?.weight", "layer_7.weight"),
            ("*norm*", "batch_norm.scale"),
            ("a*b*c", "abcbc"),
            ("é?", "éé"),
        ];
        for (pattern, name) in matching {
            assert!(NamePattern::from(pattern).matches(name), "{pattern} {name}");
        }
        let others = [("", "a"), ("?", ""), ("encoder", "encoder.weight"), ("*.bias", "bias"), ("a?c", "ac")];
        for (pattern, name) in others {
            assert!(!NamePattern::from(pattern).matches(name), "{pattern} {name}");
        }
    }

    /// The definition, without regard to speed.
    fn matches_by_definition(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=name.len()).any(|skip| matches_by_definition(rest, &name[skip..])),
            ([b'?', rest @ ..], [_, others @ ..]) => matches_by_definition(rest, others),
            ([wanted, rest @ ..], [letter, others @ ..]) => {
                wanted == letter && matches_by_definition(rest, others)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_follows_the_definition(pattern in "[ab*?]{0,8}", name in "[ab]{0,10}") {
            let expected = matches_by_definition(pattern.as_bytes(), name.as_bytes());
            prop_assert_eq!(NamePattern(pattern).matches(&name), expected);
        }
    }
}
