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

/// Returns whether the line contains this path. The package `client-sdk/work/` is no such path.
fn mentions(line: &str, path: &str) -> bool {
    line.replace("client-sdk/work/", "").contains(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_paths_are_found() {
        for parts in FORBIDDEN {
            for before in ["", "../x", "$HOME"] {
                let text = format!("first\nsee {before}{}notes.md", parts.concat());
                let findings = check(&Repository::from_texts(&[("docs/a.md", &text)]));
                assert_eq!(findings.first().map(|finding| finding.line), Some(2), "{text}");
            }
        }
    }

    #[test]
    fn ordinary_paths_pass() {
        let text = "network/, shader/shared/reduce.wgsl, /var/lib/folkmoot, client-sdk/work/src";
        assert_eq!(check(&Repository::from_texts(&[("docs/a.md", text)])), []);
    }
}
