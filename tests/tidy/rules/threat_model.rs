//! Each threat of the threat model names the tests of its defence, and each named test exists.

use crate::finding::Finding;
use crate::repository::Repository;

const PAGE: &str = "docs/threat-model.md";
/// The heading of the table's column with the defences.
const DEFENCE: &str = "defence today";
/// The smallest number of underscores in the name of a test, which is a sentence. Settings have fewer.
const UNDERSCORES_MIN: usize = 4;

/// Finds threats without a test, and names of tests and files that do not exist.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.file(PAGE) else { return vec![Finding::on(PAGE, "is missing. Restore it")] };
    let (mut findings, mut column, mut threats) = (Vec::new(), None, 0);
    for (index, line) in page.text().lines().enumerate() {
        let mut found = |message: String| findings.push(Finding::at(PAGE, index + 1, message));
        for span in spans(line) {
            if let Some(message) = missing(repository, span) {
                found(message);
            }
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if let Some(position) = cells.iter().position(|cell| *cell == DEFENCE) {
            column = Some(position);
        } else if line.starts_with("| ") {
            threats += 1;
            let defence = column.and_then(|column| cells.get(column)).copied().unwrap_or_default();
            if !spans(defence).any(|span| is_test(span) || is_file(span)) {
                found(format!("the defence against `{}` names no test. Name one, or write one", cells[0]));
            }
        }
    }
    if threats == 0 {
        findings.push(Finding::on(PAGE, format!("has no table with a column `{DEFENCE}`. Restore it")));
    }
    findings
}

/// Returns the texts between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_file(span: &str) -> bool {
    span.ends_with(".rs") || span.ends_with(".mjs")
}

fn is_test(span: &str) -> bool {
    let is_word =
        span.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    is_word && span.matches('_').count() >= UNDERSCORES_MIN
}

/// Returns the finding about a file or test that does not exist. A path may lack its first folders.
fn missing(repository: &Repository, span: &str) -> Option<String> {
    if is_file(span) {
        let end = format!("/{span}");
        let exists = repository.files.iter().any(|file| file.path == span || file.path.ends_with(&end));
        return (!exists).then(|| format!("no file's path ends with {span}. Correct it"));
    }
    let head = format!("fn {span}(");
    let is_missing = is_test(span) && !repository.rust_files().any(|file| file.text().contains(&head));
    is_missing.then(|| format!("there is no test {span}. Correct the name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "| adversary | can | defence today | gaps |\n|---|---|---|---|\n";

    fn findings(page: &str) -> Vec<String> {
        let test = ("a/b/tests.rs", "#[test]\nfn a_thief_is_sent_away() {}");
        let page = format!("{HEAD}{page}");
        let repository = Repository::from_texts(&[(PAGE, &page), test]);
        check(&repository).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_threat_names_tests_that_exist() {
        assert_eq!(findings("| thief | steal | locks (`b/tests.rs`: `a_thief_is_sent_away`) | |\n"), [""; 0]);
        assert_eq!(findings("| thief | steal | locks (`a_thief_is_sent_away`) | |\n"), [""; 0]);
        assert_eq!(
            findings("| thief | steal | a `lock` | `a_thief_is_sent_away` |\n"),
            ["the defence against `thief` names no test. Name one, or write one"]
        );
        assert_eq!(
            findings("| thief | steal | `c/tests.rs`, `a_thief_is_not_sent_away` | |\n"),
            [
                "no file's path ends with c/tests.rs. Correct it",
                "there is no test a_thief_is_not_sent_away. Correct the name"
            ]
        );
    }

    #[test]
    fn a_page_without_threats_is_found() {
        assert_eq!(findings("").len(), 1);
        assert_eq!(findings("Nothing.\n\n`a_thief_is_at_the_door`\n").len(), 2);
    }
}
