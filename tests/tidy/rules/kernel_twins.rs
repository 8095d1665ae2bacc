//! Every GPU entry point has a twin on the CPU and a test that compares the two.
//!
//! `tests/tidy/kernels.toml` maps each entry point to its twins and tests. It uses file names without folders, so that
//! files can move.

use crate::{
    finding::Finding,
    repository::{File, Repository},
    rust_source::{Kind, functions},
};
use std::collections::BTreeMap;
use toml::{Table, Value};

const KERNELS: &str = "tests/tidy/kernels.toml";

/// Texts that mark an entry point: `@compute`, or a function that a template with `@compute` calls for each element.
const ENTRIES: [&str; 2] = ["@compute", "fn element("];

/// Finds entry points without a mapping, and mappings that name a missing entry point, twin or test.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let text = repository.file(KERNELS).map(File::text).unwrap_or_default();
    let table: Table = text.parse().expect("tests/tidy/kernels.toml is TOML");
    let kernels = kernels(repository);
    let unmapped = kernels.iter().filter(|(name, _)| !table.contains_key(**name));
    let mut findings: Vec<Finding> = unmapped
        .map(|(name, file)| {
            let advice = format!(
                "has an entry point without a mapping. Add `{name}` with its CPU twin and a test to {KERNELS}"
            );
            Finding::on(&file.path, advice)
        })
        .collect();
    for (name, entry) in &table {
        if !kernels.contains_key(name.as_str()) {
            findings.push(Finding::on(KERNELS, format!("`{name}` has no entry point. Remove its table")));
        }
        findings
            .extend(faults(repository, entry).map(|fault| Finding::on(KERNELS, format!("`{name}` {fault}"))));
    }
    findings
}

/// Maps file names without their extension to the files that contain an entry point.
fn kernels(repository: &Repository) -> BTreeMap<&str, &File> {
    let shaders = repository.files.iter().filter(|file| {
        file.has_extension(&["wgsl"]) && ENTRIES.iter().any(|entry| file.text().contains(entry))
    });
    let builders = repository.rust_files().filter(|file| {
        let is_kernel = file.path.contains("/gpu/src/") && !is_test(file);
        is_kernel && file.tokens().unwrap_or_default().iter().any(|token| {
            matches!(&token.kind, Kind::Literal(text) if text.contains(ENTRIES[1]) && !is_prose(text))
        })
    });
    shaders.chain(builders).map(|file| (stem(file), file)).collect()
}

/// Returns `true` for the text of a doc comment, which begins with a space. It may mention entry points.
fn is_prose(literal: &str) -> bool {
    literal.starts_with("\" ")
}

/// Describes the mistakes in one table of the mapping.
fn faults(repository: &Repository, entry: &Value) -> impl Iterator<Item = String> {
    let list = |key: &str| -> Vec<String> {
        let listed = entry.get(key).and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (twins, tests) = (list("twins"), list("tests"));
    let is_alone = entry.get("alone").and_then(Value::as_str).is_some_and(|reason| !reason.is_empty());
    let mut faults = Vec::new();
    if twins.is_empty() && !is_alone {
        faults.push("has no twin. Name one in `twins`, or explain in `alone` why there is none".to_owned());
    }
    if tests.is_empty() {
        faults.push("has no test. Name one in `tests`".to_owned());
    }
    let gone = twins.iter().filter(|twin| !has(repository, twin, |file| !file.path.contains("/gpu/")));
    faults.extend(gone.map(|twin| format!("has the twin `{twin}`, which does not exist. Correct its name")));
    let gone = tests.iter().filter(|test| !has(repository, test, is_test));
    faults.extend(gone.map(|test| format!("has the test `{test}`, which does not exist. Correct its name")));
    faults.into_iter()
}

/// Returns `true` if a file for which `is_right` is true defines `path`, which is `file::name`.
fn has(repository: &Repository, path: &str, is_right: impl Fn(&File) -> bool) -> bool {
    let Some((file_name, name)) = path.split_once("::") else { return false };
    let files = repository.rust_files().filter(|file| stem(file) == file_name && is_right(file));
    files.map(|file| file.tokens().unwrap_or_default()).any(|tokens| {
        let is_type = |pair: &[crate::rust_source::Token]| {
            pair[0].ident() == Some("struct") && pair[1].ident() == Some(name)
        };
        functions(tokens).iter().any(|function| function.name == name) || tokens.windows(2).any(is_type)
    })
}

fn is_test(file: &File) -> bool {
    file.path.contains("/tests/") || file.path.contains("_tests/")
}

fn stem(file: &File) -> &str {
    file.name().split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
        [relu]\ntwins = ['relu::run']\ntests = ['compare::relus']
        [gone]\nalone = 'no twin'\ntests = ['compare::relus']
        [rows]\ntests = ['compare::sums']
        [reduce]\ntwins = ['relu::fold']\ntests = []";

    #[test]
    fn kernels_and_mappings_that_miss_their_other_half_are_found() {
        let files = [
            (KERNELS, TABLE),
            ("a/shader/relu.wgsl", "@compute fn main() {}"),
            ("a/shader/shared/tile.wgsl", "fn tile() {}"),
            ("a/shader/norm/norm.wgsl", "fn element(i: u32) {}"),
            ("a/shader/reduce.wgsl", "fn element(i: u32) {}"),
            ("a/gpu/src/rows.rs", "const SOURCE: &str = \"fn element(i: u32) {}\";"),
            ("a/gpu/src/prose.rs", "/// Calls `fn element(i: u32)`.\nstruct Prose;"),
            ("a/src/cpu/relu.rs", "struct Relu; impl Relu { fn run() {} }"),
            ("a/gpu/src/relu.rs", "fn fold() {}"),
            ("a/gpu/src/tests/compare.rs", "#[test] fn relus() {}"),
        ];
        let mut messages: Vec<String> =
            check(&Repository::from_texts(&files)).iter().map(Finding::to_string).collect();
        messages.sort();
        let expected = [
            "`norm` with its CPU twin",
            "`gone` has no entry point",
            "`reduce` has no test",
            "`reduce` has the twin `relu::fold`",
            "`rows` has no twin",
            "`rows` has the test `compare::sums`",
        ];
        assert_eq!(messages.len(), expected.len(), "{messages:#?}");
        for (message, expected) in messages.iter().zip(expected) {
            assert!(message.contains(expected), "{message}");
        }
    }
}
