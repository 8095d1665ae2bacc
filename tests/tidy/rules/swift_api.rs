//! The public API of the Swift package is the reviewed one: every declaration is a line of `mobile-bindings/swift/api.txt`.
//!
//! The declarations are read from the sources, because only a Mac can compile all of them.
//! `TIDY_BLESS=1 cargo test -p folkmoot-tidy swift_api` rewrites the list, so that the diff shows the changes.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::swift_source::declarations;
use std::collections::BTreeSet;
use std::{env, fs};

const LIST: &str = "mobile-bindings/swift/api.txt";
const SOURCES: &str = "mobile-bindings/swift/Sources/Folkmoot/";

/// Compares the declarations with the list.
pub fn check(repository: &Repository) -> Vec<Finding> {
    if env::var_os("TIDY_BLESS").is_some_and(|value| value == "1") {
        let text: String = listed(repository).iter().map(|line| format!("{line}\n")).collect();
        fs::write(repository.root.join(LIST), text).expect("the list can be written");
        return Vec::new();
    }
    changes(repository)
}

fn listed(repository: &Repository) -> BTreeSet<String> {
    let sources: Vec<&str> =
        repository.files.iter().filter(|file| file.path.starts_with(SOURCES)).map(File::text).collect();
    let internal: Vec<String> = sources
        .iter()
        .flat_map(|source| source.lines().filter_map(|line| line.strip_prefix("protocol ")))
        .filter_map(|rest| rest.split([':', ' ', '{']).next())
        .map(|name| format!(": {name}"))
        .collect();
    let declared = sources.iter().flat_map(|source| declarations(source));
    declared
        .filter(|line| !(line.contains(": extension ") && internal.iter().any(|end| line.ends_with(end))))
        .collect()
}

fn changes(repository: &Repository) -> Vec<Finding> {
    let now = listed(repository);
    let reviewed = repository.file(LIST).map(File::text).unwrap_or_default();
    let reviewed: BTreeSet<String> = reviewed.lines().map(str::to_owned).collect();
    let removed = reviewed.difference(&now).map(|line| format!("- {line}"));
    let added = now.difference(&reviewed).map(|line| format!("+ {line}"));
    let changes: Vec<String> = removed.chain(added).collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let advice = "is not the package's API. If you want these changes, run \
                  `TIDY_BLESS=1 cargo test -p folkmoot-tidy swift_api`";
    vec![Finding::on(LIST, format!("{advice}:\n{}", changes.join("\n")))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_for_an_internal_protocol_is_no_change() {
        let source = "public class Client {}\nprotocol Stops: Sendable {}\nextension Client: Stops {}\nextension Client: Equatable {}\n";
        let files = [(&*format!("{SOURCES}Client.swift"), source), (LIST, "")];
        let found = changes(&Repository::from_texts(&files));
        assert!(
            found[0].message.ends_with("+ Folkmoot: class Client\n+ Folkmoot: extension Client: Equatable")
        );
    }

    #[test]
    fn a_renamed_parameter_is_found() {
        let source = "public struct Size {\n    public func scaled(by factor: Int) -> Size { self }\n}\n";
        let list = "Folkmoot: struct Size\nSize: func scaled(by factor: Int) -> Size\n";
        let found = |source: &str| {
            changes(&Repository::from_texts(&[(&format!("{SOURCES}Size.swift"), source), (LIST, list)]))
        };
        assert_eq!(found(source), []);
        let changed = found(&source.replace("by factor", "with factor"));
        assert_eq!(changed.len(), 1);
        let message = &changed[0].message;
        assert!(
            message.contains("- Size: func scaled(by factor: Int) -> Size\n+ Size: func scaled(with"),
            "{message}"
        );
        assert!(message.contains("TIDY_BLESS=1"), "{message}");
    }
}
