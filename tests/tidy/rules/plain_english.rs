//! Plain English: some phrases may not come back, because readers stumbled over them.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::words::contains_words;

/// Rejected words and phrases, each with its replacement. They have no other legitimate meaning in this repository.
const PHRASES: [(&str, &str); 21] = [
    ("anew", "again"),
    ("nobody has told", "which attribute is unknown"),
    ("goes on with", "continues"),
    ("gone on with", "continued"),
    ("in order of it", "`sorted by` and the key"),
    ("believes", "`verifies`, `trusts` or `accepts`"),
    ("believed", "`verified`, `trusted` or `accepted`"),
    ("lets in", "`accepts`"),
    ("under way", "`in progress`"),
    ("taken off", "`subtracted` or `removed`"),
    ("one another", "`each other`"),
    ("those who", "`people who` or `clients that`"),
    ("that which", "the noun"),
    ("held back", "`withheld` or `delayed`"),
    ("leave it to", "who decides"),
    ("turned away", "`refused`"),
    ("turns away", "`refuses`"),
    ("thereof", "`of` and the noun"),
    ("therein", "`in` and the noun"),
    ("whereof", "`of which`"),
    ("wherein", "`in which`"),
];

/// Words that make a clause into a riddle when a comment begins with it: "What a client may do" instead of "The actions
/// that a client may perform".
const HEADLESS: [&str; 5] = ["How", "What", "Which", "Whose", "Who"];

/// The marks of comments, the longest first.
const COMMENTS: [&str; 6] = ["///", "//!", "/**", "//", "#", "*"];

const EXTENSIONS: [&str; 11] = ["rs", "wgsl", "sql", "ts", "tsx", "mjs", "kt", "swift", "py", "md", "toml"];

/// Files that quote rejected phrases.
const EXCEPTIONS: [&str; 2] = ["docs/glossary.md", "tests/tidy/"];

/// Finds rejected phrases anywhere, and comments that begin with a clause instead of its subject.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let files = repository.files.iter();
    files
        .filter(|file| file.has_extension(&EXTENSIONS))
        .filter(|file| !EXCEPTIONS.iter().any(|path| file.path.starts_with(path)))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has_comments = !file.has_extension(&["md", "toml"]);
    let mut in_comment = false;
    for (index, line) in file.text().lines().enumerate() {
        let at = |message: String| Finding::at(&file.path, index + 1, message);
        let lower = line.to_lowercase();
        findings.extend(PHRASES.iter().filter(|(phrase, _)| contains_words(&lower, phrase)).map(
            |(phrase, instead)| at(format!("\"{phrase}\" makes readers stumble. Say instead: {instead}")),
        ));
        let comment = has_comments.then(|| comment(line)).flatten();
        if let Some(text) = comment.filter(|_| !in_comment) {
            let first = text.split_whitespace().next().unwrap_or_default();
            if HEADLESS.contains(&first) && !text.contains('?') {
                findings.push(at(format!(
                    "The comment begins with \"{first}\" and is no question. Begin with a noun or a verb"
                )));
            }
        }
        in_comment = comment.is_some();
    }
    findings
}

/// Returns the text of a line that is only a comment.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = COMMENTS.iter().find_map(|mark| line.strip_prefix(mark))?;
    // `#[test]`, `#!/bin/sh` and `*pointer` are no comments.
    (text.is_empty() || text.starts_with(' ')).then(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Repository::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn phrases_are_found_in_comments_strings_and_documents() {
        assert_eq!(findings("a.rs", "// It begins Anew.\nfn f() { g(\"nobody has told\") }"), 2);
        assert_eq!(findings("docs/a.md", "The run goes on with it."), 1);
        assert_eq!(findings("docs/a.md", "A retold story; renewal."), 0);
        assert_eq!(findings("a.rs", "fn begins_anew() {}"), 0);
        assert_eq!(findings("docs/glossary.md", "not: anew"), 0);
    }

    #[test]
    fn a_comment_begins_with_its_subject() {
        assert_eq!(findings("a.rs", "/// What a client may do.\nfn f() {}"), 1);
        assert_eq!(findings("a.kt", "/**\n * Returns the number.\n * Which is odd.\n */"), 0);
        assert_eq!(findings("a.py", "# Who may do it."), 1);
        assert_eq!(findings("a.rs", "/// The reason\n/// Which is long.\nfn f() {}"), 0);
        assert_eq!(findings("a.rs", "// What if it fails? Then it ends.\n#[test]\nfn f() {}"), 0);
    }
}
