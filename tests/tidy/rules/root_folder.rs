//! The root folder shows the structure of the repository, so it may not grow by accident.

use crate::finding::Finding;
use crate::repository::Repository;
use std::collections::BTreeMap;

/// The allowed folders, for sources and for tools.
const FOLDERS: [&str; 11] = [
    "server",
    "client-sdk",
    "mobile-bindings",
    "wasm",
    "tests",
    "examples",
    "docs",
    ".cargo",
    ".ci",
    ".config",
    ".github",
];

/// The allowed files. Files whose names begin with a dot belong to tools and are always allowed.
const FILES: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "rust-toolchain.toml"];

/// Files that must exist.
const REQUIRED: [&str; 4] = ["Cargo.toml", "Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE"];

/// Finds files and folders that do not belong at the root, and required files that are missing.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let paths = repository.files.iter().map(|file| file.path.as_str());
    // Use a map, so that a folder gives one finding instead of one for each of its files.
    let tops: BTreeMap<&str, bool> =
        paths.map(|path| path.split_once('/').map_or((path, false), |(folder, _)| (folder, true))).collect();
    let strangers = tops.iter().filter(|(name, is_folder)| !belongs(name, **is_folder));
    let missing = REQUIRED.iter().filter(|name| !tops.contains_key(*name));
    strangers
        .map(|(name, _)| {
            Finding::on(name, "does not belong at the root. Move it into the folder that it is about")
        })
        .chain(missing.map(|name| Finding::on(name, "is missing from the root. Restore it")))
        .collect()
}

fn belongs(name: &str, is_folder: bool) -> bool {
    if is_folder { FOLDERS.contains(&name) } else { FILES.contains(&name) || name.starts_with('.') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_and_gaps_are_found() {
        let files = [
            "Cargo.toml",
            "Cargo.lock",
            "LICENSE-MIT",
            ".gitignore",
            "server/a",
            "utils/a",
            "utils/b",
            "CHANGES.md",
        ];
        let findings = check(&Repository::from_texts(&files.map(|path| (path, ""))));
        let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["CHANGES.md", "utils", "LICENSE-APACHE"]);
    }
}
