//! A package's README is also its crate documentation.

use crate::finding::Finding;
use crate::manifest::{Package, packages};
use crate::repository::Repository;
use crate::rust_source::{Kind, tokens};

/// Top-level folders whose packages need a README.
const ROOMS: [&str; 4] = ["server", "client-sdk", "mobile-bindings", "wasm"];

/// Finds packages without a README, and READMEs that the crate documentation does not include.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let packages = packages(repository);
    let public = packages.iter().filter(|package| {
        let room = package.folder.split('/').next().unwrap_or_default();
        ROOMS.contains(&room)
    });
    public.filter_map(|package| check_package(repository, package)).collect()
}

fn check_package(repository: &Repository, package: &Package) -> Option<Finding> {
    let readme = format!("{}/README.md", package.folder);
    if repository.file(&readme).is_none_or(|file| file.text().trim().is_empty()) {
        return Some(Finding::on(&readme, format!("package {} has no README; write one here", package.name)));
    }
    let entry = repository.file(&package.entry).map(|file| file.text()).unwrap_or_default();
    if includes_readme(entry) {
        return None;
    }
    let advice = "the crate documentation does not include the README. \
                  Begin the file with `#![doc = include_str!(\"../README.md\")]`";
    Some(Finding::on(&package.entry, advice))
}

fn includes_readme(source: &str) -> bool {
    let tokens = tokens(source).unwrap_or_default();
    tokens.windows(5).any(|window| {
        window[0].ident() == Some("doc")
            && window[2].ident() == Some("include_str")
            && window[4].kind == Kind::Open('(')
    }) && tokens
        .iter()
        .any(|token| matches!(&token.kind, Kind::Literal(text) if text.ends_with("README.md\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("server/a/Cargo.toml", "[package]\nname = 'folkmoot-a'");
    const README: (&str, &str) = ("server/a/README.md", "# A");

    #[test]
    fn a_missing_readme_is_found() {
        assert_eq!(check(&Repository::from_texts(&[MANIFEST, ("server/a/src/lib.rs", "")])).len(), 1);
    }

    #[test]
    fn a_readme_that_is_not_included_is_found() {
        let source = ("server/a/src/lib.rs", "//! include_str!(\"../README.md\")");
        assert_eq!(check(&Repository::from_texts(&[MANIFEST, README, source])).len(), 1);
    }

    #[test]
    fn an_included_readme_passes() {
        let source = ("server/a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]");
        assert_eq!(check(&Repository::from_texts(&[MANIFEST, README, source])), []);
    }
}
