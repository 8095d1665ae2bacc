//! Pure packages do no I/O, read no clock and create no random number generator.

use crate::finding::Finding;
use crate::manifest::{Package, packages};
use crate::repository::{File, Repository};
use crate::rust_source::mentions;

/// Packages whose callers pass in the time and random numbers.
const PURE_PACKAGES: [&str; 15] = [
    "folkmoot-protocol",
    "folkmoot-graph",
    "folkmoot-onnx",
    "folkmoot-onnx-file",
    "folkmoot-secure-aggregation",
    "folkmoot-gpu",
    "folkmoot-engine",
    "folkmoot-loss",
    "folkmoot-update",
    "folkmoot-privacy",
    "folkmoot-session",
    "folkmoot-work",
    "folkmoot-aggregation",
    "folkmoot-coordinator",
    "folkmoot-task-file",
];

/// Runtimes, networks and databases.
const IMPURE_DEPENDENCIES: [&str; 9] =
    ["tokio", "axum", "axum-server", "sqlx", "reqwest", "hyper", "object_store", "async-std", "mio"];

/// Paths that reach the clock, the operating system's randomness or the network, each with the advice of its finding.
const IMPURE_PATHS: [(&str, &str); 11] = [
    ("SystemTime::now", "take the time as an argument"),
    ("Instant::now", "take the time as an argument"),
    ("Utc::now", "take the time as an argument"),
    ("Timestamp::now", "take the time as an argument"),
    ("rand::rng", "take the random number generator as an argument"),
    ("rand::random", "take the random number generator as an argument"),
    ("thread_rng", "take the random number generator as an argument"),
    ("ThreadRng", "take the random number generator as an argument"),
    ("OsRng", "take the random number generator as an argument"),
    ("SysRng", "take the random number generator as an argument"),
    ("std::net", "return an effect and let a driver perform it"),
];

/// Finds impure dependencies and impure paths in the pure packages.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let all = packages(repository);
    let pure = all.iter().filter(|package| PURE_PACKAGES.contains(&package.name.as_str()));
    pure.flat_map(|package| {
        let mut findings = impure_dependencies(package);
        findings.extend(sources(repository, package, &all).flat_map(impure_paths));
        findings
    })
    .collect()
}

fn impure_dependencies(package: &Package) -> Vec<Finding> {
    let impure = package.dependencies.iter().filter(|name| IMPURE_DEPENDENCIES.contains(&name.as_str()));
    impure
        .map(|name| {
            let advice = "Move the code that needs it to a package that is not pure";
            Finding::on(
                &package.manifest,
                format!("{} is pure and may not use {name}. {advice}", package.name),
            )
        })
        .collect()
}

/// Returns the Rust files of the package, except those of packages nested in its folder.
fn sources<'a>(
    repository: &'a Repository,
    package: &'a Package,
    all: &'a [Package],
) -> impl Iterator<Item = &'a File> {
    let within =
        |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let nested = move |path: &str| {
        all.iter().any(|other| within(&other.folder, &package.folder) && within(path, &other.folder))
    };
    repository.rust_files().filter(move |file| within(&file.path, &package.folder) && !nested(&file.path))
}

fn impure_paths(file: &File) -> Vec<Finding> {
    let Ok(tokens) = file.tokens() else { return Vec::new() };
    let mut findings = Vec::new();
    for (path, reason) in IMPURE_PATHS {
        let lines = mentions(tokens, path).into_iter();
        findings.extend(
            lines.map(|line| Finding::at(&file.path, line, format!("`{path}` in a pure package: {reason}"))),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &str, source: &str) -> Vec<Finding> {
        let manifest = format!("[package]\nname = '{name}'\n[dependencies]\n{dependencies}");
        check(&Repository::from_texts(&[("a/b/Cargo.toml", &manifest), ("a/b/src/deep/x.rs", source)]))
    }

    #[test]
    fn a_runtime_in_a_pure_package_is_found() {
        assert_eq!(package("folkmoot-update", "tokio = '1'", "").len(), 1);
        assert_eq!(package("folkmoot-update", "renamed = { package = 'sqlx' }", "").len(), 1);
        assert_eq!(package("folkmoot-client", "tokio = '1'", ""), []);
    }

    #[test]
    fn the_clock_randomness_and_the_network_are_found() {
        for source in [
            "fn f() { std::time::SystemTime::now(); }",
            "use std::time::Instant; fn f() { Instant::now(); }",
            "use rand::{Rng, rng};",
            "fn f() { let mut generator = rand::rngs::SysRng; }",
            "use std::{fmt, net::IpAddr};",
        ] {
            assert_eq!(package("folkmoot-session", "", source).len(), 1, "{source}");
        }
    }

    #[test]
    fn time_and_chance_as_arguments_pass() {
        let source = "// SystemTime::now\nfn f(now: SystemTime, rng: &mut impl rand::Rng) {}";
        assert_eq!(package("folkmoot-session", "rand = '0.10'", source), []);
    }
}
