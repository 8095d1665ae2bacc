//! One word per thing: identifiers may not use the words in the right column of the glossary.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::rust_source::Token;
use std::collections::BTreeSet;

/// The rejected words, each with its replacement. They have no legitimate meaning in this code.
///
/// These words of the glossary are not rejected, because they have another legitimate meaning: node (of a graph), peer
/// (of a socket), group, project, iteration, script, batch, gradient, result, payload, snapshot, strength, encryption.
const BANNED: [(&str, &str); 11] = [
    ("fleet", "population"),
    ("participant", "client"),
    ("worker", "client"),
    ("job", "task"),
    ("ticket", "assignment or check-in"),
    ("heartbeat", "check-in"),
    ("reducer", "aggregator"),
    ("updater", "finalizer"),
    ("sigma", "noise multiplier"),
    ("cron", "driver"),
    ("daemon", "driver"),
];

/// Allowed third-party names: identifier, folder (empty means anywhere), reason.
const EXCEPTIONS: [(&str, &str, &str); 5] = [
    ("worker_threads", "", "the name of tokio's setting"),
    ("Worker", "wasm/", "the browser's own type"),
    ("WorkerGlobalScope", "wasm/", "the browser's own type"),
    ("WorkerNavigator", "wasm/", "the browser's own type"),
    ("DedicatedWorkerGlobalScope", "wasm/", "the browser's own type"),
];

/// Finds banned words in the identifiers of Rust and SQL files.
pub fn check(repository: &Repository) -> Vec<Finding> {
    repository.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    // The set reports each identifier at most once per line.
    let identifiers: BTreeSet<(usize, String)> = if file.has_extension(&["rs"]) {
        rust_identifiers(file.tokens().unwrap_or_default())
    } else if file.has_extension(&["sql"]) {
        sql_identifiers(file.text())
    } else {
        BTreeSet::new()
    };
    let found = identifiers.into_iter().filter(|(_, identifier)| !is_excepted(identifier, &file.path));
    found
        .filter_map(|(line, identifier)| Some(Finding::at(&file.path, line, objection(&identifier)?)))
        .collect()
}

fn rust_identifiers(tokens: &[Token]) -> BTreeSet<(usize, String)> {
    tokens.iter().filter_map(|token| Some((token.line, token.ident()?.to_owned()))).collect()
}

fn sql_identifiers(text: &str) -> BTreeSet<(usize, String)> {
    let mut identifiers = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("--").next().unwrap_or_default();
        let words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        identifiers.extend(words.map(|word| (index + 1, word.to_owned())));
    }
    identifiers
}

fn is_excepted(identifier: &str, path: &str) -> bool {
    EXCEPTIONS.iter().any(|(name, folder, _)| *name == identifier && path.starts_with(folder))
}

/// Returns the message for a rejected identifier; `None` if it is allowed.
fn objection(identifier: &str) -> Option<String> {
    let parts = words(identifier);
    let (word, instead) = BANNED
        .iter()
        .find(|(word, _)| parts.iter().any(|part| part.strip_suffix('s').unwrap_or(part) == *word))?;
    Some(format!(
        "`{identifier}` contains `{word}`; the word in docs/glossary.md is {instead}. Rename the identifier"
    ))
}

/// Splits `snake_case`, `CamelCase` and `HTTPServer2` into lower-case words.
fn words(identifier: &str) -> Vec<String> {
    let letters: Vec<char> = identifier.chars().collect();
    let mut words = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        let after_lower = index > 0 && !letters[index - 1].is_uppercase();
        let before_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if !letter.is_alphabetic() || (letter.is_uppercase() && (after_lower || before_lower)) {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().expect("there is always a last word").extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Repository::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn identifiers_are_split_into_words() {
        assert_eq!(words("HTTPServer2_idle_jobMax"), ["http", "server", "idle", "job", "max"]);
        assert_eq!(words("JOB_COUNT"), ["job", "count"]);
    }

    #[test]
    fn banned_words_are_found_in_every_case() {
        assert_eq!(findings("a.rs", "struct FleetSize; fn start_jobs() {}"), 2);
        assert_eq!(findings("a.rs", "const WORKER_MAX: u8 = 1;"), 1);
        assert_eq!(findings("a.rs", "tracing::info!(participant_count = 3);"), 1);
        assert_eq!(findings("migrations/1.sql", "CREATE TABLE t (\n  ticket TEXT -- job\n);"), 1);
    }

    #[test]
    fn parts_of_words_comments_and_exceptions_pass() {
        assert_eq!(
            findings("a.rs", "// the fleet\nfn sigmoid() {} fn synchronous() { b.worker_threads(2) }"),
            0
        );
        assert_eq!(findings("wasm/a.rs", "use web_sys::Worker;"), 0);
        assert_eq!(findings("server/a.rs", "use web_sys::Worker;"), 1);
    }
}
