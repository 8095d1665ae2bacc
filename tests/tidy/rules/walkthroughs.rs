//! The walkthroughs link to definitions in files. Every link must be valid, and the walk of an update must go through
//! few files.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::repository::Repository;

const PAGE: &str = "docs/walkthroughs.md";
/// The heading of the walk that may name at most [`FILES_MAX`] different files.
const COUNTED: &str = "## An update, from the socket to the published version";
const FILES_MAX: usize = 11;

/// Finds links to missing files or definitions, and a walk through too many files.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.file(PAGE) else { return vec![Finding::on(PAGE, "is missing. Restore it")] };
    let (mut findings, mut counted, mut is_counted) = (Vec::new(), BTreeSet::new(), false);
    for (index, line) in page.text().lines().enumerate() {
        if line.starts_with("## ") {
            is_counted = line == COUNTED;
        }
        for (name, path) in links(line) {
            if is_counted {
                counted.insert(path.to_owned());
            }
            let message = match repository.file(path) {
                None => format!("the linked file {path} does not exist. Correct the link"),
                Some(file) if !defines(file.text(), name) => {
                    format!("the linked file {path} does not define {name}. Correct the link")
                }
                Some(_) => continue,
            };
            findings.push(Finding::at(PAGE, index + 1, message));
        }
    }
    if counted.is_empty() {
        let message = format!(
            "has no links under the heading `{COUNTED}`. If you renamed it, change COUNTED in this rule"
        );
        findings.push(Finding::on(PAGE, message));
    }
    if counted.len() > FILES_MAX {
        let message = format!(
            "the walk of an update has {} files; {FILES_MAX} are allowed. Simplify the code's path or leave steps out",
            counted.len()
        );
        findings.push(Finding::on(PAGE, message));
    }
    findings
}

/// Returns the links of a line to definitions: ``[`name`](../path.rs)``.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split("[`").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once("`](../")?;
        let path = rest.split(')').next()?;
        path.ends_with(".rs").then_some((name, path))
    })
}

/// Returns `true` if the source defines `name`. For `Type::method`, only the method is searched.
fn defines(source: &str, name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    ["fn ", "struct ", "enum ", "trait "].iter().any(|kind| {
        source.match_indices(&format!("{kind}{last}")).any(|(at, found)| {
            let after = source[at + found.len()..].chars().next();
            after.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let files = [(PAGE, page), ("a/b.rs", "impl Upload { pub async fn push<T>(&self) {} }")];
        check(&Repository::from_texts(&files)).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn what_a_walk_names_has_to_be_there() {
        let walk = |line: &str| findings(&format!("{COUNTED}\n\n1. {line}\n"));
        assert_eq!(walk("[`Upload::push`](../a/b.rs) takes bytes"), [""; 0]);
        assert_eq!(
            walk("[`Upload::pus`](../a/b.rs)"),
            ["the linked file a/b.rs does not define Upload::pus. Correct the link"]
        );
        assert_eq!(walk("[`push`](../a/c.rs)"), ["the linked file a/c.rs does not exist. Correct the link"]);
    }

    #[test]
    fn a_long_walk_is_found() {
        let links: String = (0..=FILES_MAX).map(|index| format!("[`f`](../a/{index}.rs)\n")).collect();
        let found = findings(&format!("{COUNTED}\n{links}"));
        assert!(found.iter().any(|message| message.contains("has 12 files")), "{found:?}");
        let elsewhere = findings(&format!("{COUNTED}\n[`push`](../a/b.rs)\n## Another\n{links}"));
        assert!(!elsewhere.iter().any(|message| message.contains("12 files")));
        assert_eq!(findings("## Another\n").len(), 1);
    }
}
