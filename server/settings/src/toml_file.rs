//! Parses TOML files of users. Errors have a position, and suggestions for misspelt words.

use std::{ops::Range, path::Path};

use serde::de::DeserializeOwned;

/// A fault in a TOML file. Lines and columns are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {message}")]
pub struct TomlFileError {
    /// The path of the file.
    pub path: String,
    /// The number of the line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// A description of the fault, for example of an unknown key.
    pub message: String,
    /// The remedy, if there is one.
    pub remedy: Option<String>,
}

/// The smallest Jaro-Winkler similarity (0 to 1) at which a word is suggested.
const LIKENESS_MIN: f64 = 0.6;

/// Parses `text`, the contents of the file `path`.
///
/// # Errors
/// [`TomlFileError`] names the line, the column and the key. For an unknown key or word, it suggests the most similar
/// one.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, TomlFileError> {
    toml::from_str(text).map_err(|error| explain(path, text, &error))
}

fn explain(path: &Path, text: &str, error: &toml::de::Error) -> TomlFileError {
    let span = error.span().unwrap_or(0..0);
    let unknown = Unknown::of(error.message());
    let at = unknown.as_ref().and_then(|unknown| find(text, &span, unknown.word)).unwrap_or(span.start);
    let (line, column) = place(text, at);
    let message = match (&unknown, key_on(text, at)) {
        (Some(unknown), _) => format!("there is no {} `{}`", unknown.kind, unknown.word),
        (None, Some(key)) => format!("{key}: {}", first_line(error.message())),
        (None, None) => first_line(error.message()).to_owned(),
    };
    let remedy = unknown.map(|unknown| unknown.remedy());
    TomlFileError { path: path.display().to_string(), line, column, message, remedy }
}

/// An unknown word in a serde error, with the known words.
struct Unknown<'a> {
    kind: &'static str,
    word: &'a str,
    known: Vec<&'a str>,
}

impl<'a> Unknown<'a> {
    /// Parses serde's messages, such as ``unknown field `x`, expected one of `a`, `b` ``.
    fn of(message: &'a str) -> Option<Self> {
        let message = first_line(message);
        let kind = match message {
            _ if message.starts_with("unknown field") => "key",
            _ if message.starts_with("unknown variant") => "choice",
            _ => return None,
        };
        let mut quoted = message.split('`').skip(1).step_by(2);
        Some(Self { kind, word: quoted.next()?, known: quoted.collect() })
    }

    fn remedy(&self) -> String {
        let likeness = |word: &str| strsim::jaro_winkler(self.word, word);
        // A part of a name stands for the first name that has it.
        let whole = self.known.iter().find(|word| self.word.len() >= 4 && word.contains(self.word));
        let closest = self.known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        match whole.or(closest) {
            Some(closest) if whole.is_some() || likeness(closest) >= LIKENESS_MIN => {
                format!("did you mean `{closest}`?")
            }
            Some(_) => format!("use one of: {}", self.known.join(", ")),
            None => "no key is allowed here; remove it".into(),
        }
    }
}

/// Finds a word inside a span or after it. An error inside a choice (`kind = …`) has only the span of its table
/// header.
fn find(text: &str, span: &Range<usize>, word: &str) -> Option<usize> {
    let part = text.get(span.start..)?;
    let is_letter =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let mut matches = part.match_indices(word).filter(|(at, _)| {
        !is_letter(part[..*at].chars().next_back()) && !is_letter(part[at + word.len()..].chars().next())
    });
    matches.next().map(|(at, _)| span.start + at)
}

/// Returns the key on the line of the offset `at`, if there is one.
fn key_on(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let (key, _) = text.get(start..)?.lines().next()?.split_once('=')?;
    let key = key.trim();
    let is_key = key.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter));
    (is_key && !key.is_empty()).then_some(key)
}

fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use folkmoot_coordinator::task::TaskDescription;

    use super::*;

    const TASK: &str = "name = \"digits\"\npopulation = \"digits\"\n\n[plan]\nloss = \"softmax_cross_entropy\"\n\
        optimizer = { sgd = { learning_rate = 0.1 } }\nepochs = 1\nbatch_size = 16\n\n\
        [scheduling]\nkind = \"synchronous\"\nreport_goal = 8\n\n[stop]\nrounds = 30\n";

    fn error(from: &str, to: &str) -> TomlFileError {
        let text = TASK.replace(from, to);
        parse::<TaskDescription>(Path::new("task.toml"), &text).unwrap_err()
    }

    #[test]
    fn a_whole_task_can_be_read() {
        assert!(parse::<TaskDescription>(Path::new("task.toml"), TASK).is_ok());
    }

    #[test]
    fn an_unknown_key_has_a_place_and_a_suggestion() {
        let error = error("epochs", "epoch");
        assert_eq!(error.to_string(), "task.toml:7:1: there is no key `epoch`");
        assert_eq!(error.remedy.as_deref(), Some("did you mean `epochs`?"));
    }

    #[test]
    fn an_unknown_key_inside_a_choice_has_its_own_line() {
        let error = error("report_goal", "report_gaol");
        assert_eq!(error.to_string(), "task.toml:12:1: there is no key `report_gaol`");
        assert_eq!(error.remedy.as_deref(), Some("did you mean `report_goal`?"));
    }

    #[test]
    fn an_unknown_choice_has_a_suggestion() {
        let error = error("softmax_cross_entropy", "cross_entropy");
        assert_eq!((error.line, error.message.as_str()), (5, "there is no choice `cross_entropy`"));
        assert_eq!(error.remedy.as_deref(), Some("did you mean `softmax_cross_entropy`?"));
    }

    #[test]
    fn a_wrong_type_names_line_and_key() {
        let error = error("epochs = 1", "epochs = \"one\"");
        assert_eq!((error.line, error.column), (7, 10));
        assert!(error.message.starts_with("epochs: invalid type: string \"one\""), "{error}");
        assert_eq!(error.remedy, None);
    }

    #[test]
    fn what_is_no_toml_names_its_line() {
        let error = error("epochs = 1", "epochs = ");
        assert_eq!(error.line, 7, "{error}");
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = error("report_goal = 8\n", "");
        assert!(error.message.contains("missing field `report_goal`"), "{error}");
    }
}
