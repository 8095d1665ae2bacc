//! Committed code must be finished. Unfinished work belongs in an issue, not behind a marker.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::rust_source::{Kind, Token};
use crate::words::contains_words;

/// Markers, split so that this rule does not match its own source.
const MARKERS: [(&str, &str); 4] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK")];

/// Macros that are placeholders for missing code.
const UNFINISHED_MACROS: [&str; 2] = ["todo", "unimplemented"];

/// Extensions of the files that are searched for markers.
const EXTENSIONS: [&str; 22] = [
    "rs", "wgsl", "sql", "ts", "tsx", "js", "mjs", "css", "html", "kt", "kts", "swift", "py", "sh", "c", "h",
    "md", "toml", "yml", "yaml", "proto", "gradle",
];

/// Finds markers, macros for missing code, and tests with `#[ignore]` but no reason.
pub fn check(repository: &Repository) -> Vec<Finding> {
    repository.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.has_extension(&EXTENSIONS) || file.path.starts_with(".ci/") {
        findings.extend(markers(file));
    }
    if file.has_extension(&["rs"]) {
        match file.tokens() {
            Ok(tokens) => findings.extend(unfinished_code(&file.path, tokens)),
            Err(error) => findings.push(Finding::on(&file.path, error)),
        }
    }
    findings
}

fn markers(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text().lines().enumerate() {
        for marker in MARKERS.map(|(first, second)| format!("{first}{second}")) {
            if contains_words(line, &marker) {
                findings.push(Finding::at(
                    &file.path,
                    index + 1,
                    format!(
                        "{marker} marks unfinished work. Finish it, or open an issue and remove the marker"
                    ),
                ));
            }
        }
    }
    findings
}

fn unfinished_code(path: &str, tokens: &[Token]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for window in tokens.windows(4) {
        let name = window[0].ident().unwrap_or_default();
        let is_call = window[1].is_punct('!') && matches!(window[2].kind, Kind::Open(_));
        if UNFINISHED_MACROS.contains(&name) && is_call {
            findings.push(Finding::at(
                path,
                window[0].line,
                format!("`{name}!` stands for missing code. Write it"),
            ));
        }
        if is_bare_ignore(window) {
            let message = "the test is ignored without a reason. Write `#[ignore = \"reason\"]`";
            findings.push(Finding::at(path, window[0].line, message));
        }
    }
    findings
}

fn is_bare_ignore(window: &[Token]) -> bool {
    window[0].is_punct('#')
        && window[1].kind == Kind::Open('[')
        && window[2].ident() == Some("ignore")
        && window[3].kind == Kind::Close(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Repository::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn every_marker_is_found() {
        for (first, second) in MARKERS {
            assert_eq!(findings("a.rs", &format!("// {first}{second}: later")), 1);
            assert_eq!(findings("docs/a.md", &format!("({first}{second})")), 1);
            assert_eq!(findings("a.rs", &format!("// {first}{second}ER and mktemp.XXXXXX")), 0);
        }
    }

    #[test]
    fn missing_code_is_found() {
        assert_eq!(findings("a.rs", "fn f() { todo!() }\nfn g() { unimplemented!(\"later\") }"), 2);
        assert_eq!(findings("a.rs", "fn todo() { let unimplemented = 1; }"), 0);
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        assert_eq!(findings("a.rs", "#[test]\n#[ignore]\nfn f() {}"), 1);
        assert_eq!(findings("a.rs", "#[test]\n#[ignore = \"needs a GPU\"]\nfn f() {}"), 0);
    }

    #[test]
    fn a_file_that_is_not_rust_is_found() {
        assert_eq!(findings("a.rs", "fn f( {"), 1);
    }
}
