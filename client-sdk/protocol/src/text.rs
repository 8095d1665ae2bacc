//! Checks of text for people to read.

use std::{fmt, ops::Deref, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES_MAX;

/// Why a text cannot be displayed safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// It contains only spaces.
    #[error("it is empty; give it 1 to {NAME_BYTES_MAX} bytes")]
    Empty,
    /// It is too long.
    #[error("it has {0} bytes; give it 1 to {NAME_BYTES_MAX}")]
    TooLong(usize),
    /// A character moves the cursor, ends the line, or changes the order of nearby text.
    #[error("it has the character U+{0:04X}, which controls how text is shown; leave it out")]
    Control(u32),
}

/// Returns whether a character only controls how text is displayed: control characters (NUL, ESC, line ends), line and
/// paragraph separators, and the marks, embeddings, overrides and isolates of bidirectional text.
pub fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}'
        )
}

/// Refuses characters for which [`is_control`] is true.
///
/// # Errors
/// [`TextFault::Control`] with the first such character.
pub fn check_characters(text: &str) -> Result<(), TextFault> {
    text.chars()
        .find(|character| is_control(*character))
        .map_or(Ok(()), |found| Err(TextFault::Control(found.into())))
}

/// A display name: 1 to [`NAME_BYTES_MAX`] bytes, not only spaces, and no control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DisplayName(String);

impl DisplayName {
    /// Checks a name that is stored as plain text.
    ///
    /// # Errors
    /// The first [`TextFault`].
    pub fn check(text: &str) -> Result<(), TextFault> {
        if text.trim().is_empty() {
            return Err(TextFault::Empty);
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(TextFault::TooLong(text.len()));
        }
        check_characters(text)
    }
}

impl Deref for DisplayName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl FromStr for DisplayName {
    type Err = TextFault;

    fn from_str(text: &str) -> Result<Self, TextFault> {
        Self::check(text).map(|()| Self(text.to_owned()))
    }
}

impl TryFrom<String> for DisplayName {
    type Error = TextFault;

    fn try_from(text: String) -> Result<Self, TextFault> {
        Self::check(&text).map(|()| Self(text))
    }
}

impl From<DisplayName> for String {
    fn from(name: DisplayName) -> String {
        name.0
    }
}

impl fmt::Display for DisplayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_human_can_read() {
        for good in ["digits", "Zähler 2", "数字", "نموذج", "👩‍🔬 lab", &"a".repeat(NAME_BYTES_MAX)]
        {
            assert_eq!(DisplayName::check(good), Ok(()), "{good}");
        }
        let controls = [
            "\0",
            "a\0b",
            "\u{1b}[2J",
            "two\nlines",
            "tab\t",
            "bell\u{7}",
            "\u{7f}",
            "\u{9b}31m",
            "\u{202e}fdp",
            "\u{2066}x",
            "\u{200f}x",
            "\u{61c}x",
            "line\u{2028}",
            "\u{feff}x",
        ];
        for bad in controls {
            assert!(matches!(DisplayName::check(bad), Err(TextFault::Control(_))), "{bad:?}");
            assert!(serde_json::from_value::<DisplayName>(bad.into()).is_err(), "{bad:?}");
        }
        for empty in ["", " ", "\u{3000}"] {
            assert_eq!(DisplayName::check(empty), Err(TextFault::Empty));
        }
        assert_eq!(DisplayName::check(&"ä".repeat(65)), Err(TextFault::TooLong(130)));
        assert_eq!(
            "\u{202e}x".parse::<DisplayName>().unwrap_err().to_string(),
            "it has the character U+202E, which controls how text is shown; leave it out"
        );
    }
}
