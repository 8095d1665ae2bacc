//! The repository contains no paths of a particular machine.

use crate::finding::Finding;
use crate::repository::{File, Repository};

/// Fragments of forbidden paths, split so that this rule does not match its own source.
const FORBIDDEN: [&[&str]; 2] = [&["/wo", "rk/"], &["../sha", "red"]];

/// Finds forbidden paths in every text of the repository.
pub fn check(repository: &Repository) -> Vec<Finding> {
    repository.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let forbidden = FORBIDDEN.map(|parts| parts.concat());
    let mut findings = Vec::new();
    for (index, line) in file.text().lines().enumerate() {
        for path in forbidden.iter().filter(|path| mentions(line, path)) {
            findings.push(Finding::at(
                &file.path,
                index + 1,
                format!("`{path}` does not exist on other machines. Use a path inside the repository"),
            ));
        }
    }
    findings
}

/// Returns whether the line contains this path. A folder of the same name below another one does not count.
fn mentions(line: &str, path: &str) -> bool {
    let continues = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    line.match_indices(path).any(|(at, _)| !path.starts_with('/') || !line[..at].ends_with(continues))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_paths_are_found() {
        for parts in FORBIDDEN {
            let text = format!("first\nsee {}notes.md", parts.concat());
            let findings = check(&Repository::from_texts(&[("docs/a.md", &text)]));
            assert_eq!(findings.first().map(|finding| finding.line), Some(2));
        }
    }

    #[test]
    fn ordinary_paths_pass() {
        let text = "network/, shader/shared/reduce.wgsl, /var/lib/folkmoot, client-sdk/work/src";
        assert_eq!(check(&Repository::from_texts(&[("docs/a.md", text)])), []);
    }
}
