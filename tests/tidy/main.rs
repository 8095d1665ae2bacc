//! Tests of the style rules.
//!
//! `cargo test -p folkmoot-tidy` reads every file of the repository and checks the rules that a
//! machine can check: the direction of dependencies, import cycles between modules, impure code in
//! pure packages, words that the glossary rejects, phrases that readers stumble over, the size of files, functions, folders and packages,
//! repetitions, unfinished work, names of settings that differ between languages, files for
//! deployment that do not fit the code, unreviewed changes of the Swift package's API, and the contents of the
//! root folder.
//!
//! # How to add another rule
//! Write `rules/<name>.rs` with `pub fn check(&Repository) -> Vec<Finding>` and a unit test that
//! shows it failing on a made-up repository; then add one line to `rules!` below.

mod finding;
mod manifest;
mod modules;
mod repository;
mod rules;
mod rust_source;
mod significant_lines;
mod swift_source;
mod words;

use finding::Finding;
use repository::Repository;

/// Declares one test for each rule, run over the real repository.
macro_rules! rules {
    ($($rule:ident),+ $(,)?) => {
        $(
            #[test]
            fn $rule() {
                report(stringify!($rule), &rules::$rule::check(Repository::open()));
            }
        )+
    };
}

rules!(
    acyclic_modules,
    banned_words,
    crate_readme,
    dependency_direction,
    deployment,
    kernel_twins,
    plain_english,
    provenance,
    purity,
    registries,
    repetition,
    root_folder,
    setting_names,
    size_ratchet,
    swift_api,
    threat_model,
    unfinished,
    walkthroughs,
);

/// Fails the running test if there are findings, and prints them all at once.
fn report(rule: &str, findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{rule}: {} finding(s)\n  {}\n", lines.len(), lines.join("\n  "));
}
