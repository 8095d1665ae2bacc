//! Files and functions stay small; those that are large may only shrink.
//!
//! `tests/tidy/ratchet.toml` holds the limits and the exceptions. `TIDY_BLESS=1` writes the
//! exceptions anew from what is measured: the diff shows a reviewer what grew.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::rust_source::functions;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};
use toml::{Table, Value};

const RATCHET: &str = "tests/tidy/ratchet.toml";

/// Sources that people write. Generated files and data have other extensions.
const EXTENSIONS: [&str; 14] =
    ["rs", "wgsl", "sql", "ts", "tsx", "js", "mjs", "css", "html", "kt", "kts", "swift", "py", "sh"];

/// A listed exception must be lowered when it is less than this share (in percent) of its limit.
const SLACK_PERCENT: usize = 90;

/// Lines by name: `path` for a file, `path::function` for a function.
type Lines = BTreeMap<String, usize>;

/// One limit, and the exceptions from it.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    lines_max: usize,
    exceptions: Lines,
}

/// Compares the sizes of all files and functions with the ratchet.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let ratchet = repository.file(RATCHET).map(File::text).unwrap_or_default();
    let [files, functions] = parse(ratchet);
    let (file_lines, function_lines) = measure(repository);
    if env::var_os("TIDY_BLESS").is_some_and(|value| value == "1") {
        bless(repository, [&files, &functions], [&file_lines, &function_lines]);
        return Vec::new();
    }
    let mut findings = compare("file", &files, &file_lines);
    findings.extend(compare("function", &functions, &function_lines));
    findings
}

fn parse(text: &str) -> [Limit; 2] {
    let table: Table = text.parse().expect("tests/tidy/ratchet.toml is TOML");
    ["files", "functions"].map(|kind| {
        let lines = |value: &Value| value.as_integer().and_then(|lines| usize::try_from(lines).ok());
        let section = table.get(kind).and_then(Value::as_table).expect("the ratchet has both sections");
        let lines_max = section.get("lines_max").and_then(lines).expect("a section has `lines_max`");
        let listed = section.get("exceptions").and_then(Value::as_table).into_iter().flatten();
        let exceptions =
            listed.map(|(name, value)| (name.clone(), lines(value).expect("lines are a number")));
        Limit { lines_max, exceptions: exceptions.collect() }
    })
}

fn measure(repository: &Repository) -> (Lines, Lines) {
    let mut file_lines = Lines::new();
    let mut function_lines = Lines::new();
    for file in repository.files.iter().filter(|file| file.has_extension(&EXTENSIONS)) {
        file_lines.insert(file.path.clone(), file.text().lines().count());
        if file.has_extension(&["rs"]) {
            measure_functions(file, &mut function_lines);
        }
    }
    (file_lines, function_lines)
}

/// Of several functions with one name in a file, the longest counts.
fn measure_functions(file: &File, lines: &mut Lines) {
    for function in functions(file.tokens().unwrap_or_default()) {
        let longest = lines.entry(format!("{}::{}", file.path, function.name)).or_default();
        *longest = function.lines.max(*longest);
    }
}

fn compare(kind: &str, limit: &Limit, measured: &Lines) -> Vec<Finding> {
    let too_large = measured.iter().filter(|(name, lines)| **lines > limit.allowed(name));
    let grown = too_large.map(|(name, lines)| {
        let allowed = limit.allowed(name);
        Finding::on(name, format!("a {kind} of {lines} lines, {allowed} are allowed: split it"))
    });
    let slack = limit.exceptions.iter().filter_map(|(name, listed)| {
        Some(Finding::on(
            name,
            format!("{}; TIDY_BLESS=1 does it", limit.advice(measured.get(name), *listed)?),
        ))
    });
    grown.chain(slack).collect()
}

impl Limit {
    fn allowed(&self, name: &str) -> usize {
        self.exceptions.get(name).copied().unwrap_or(self.lines_max)
    }

    /// Says how a listed exception must be tightened; `None` if it still fits.
    fn advice(&self, measured: Option<&usize>, listed: usize) -> Option<String> {
        match measured {
            None => Some(format!("is gone: take it off {RATCHET}")),
            Some(lines) if *lines <= self.lines_max => Some(format!("is small now: take it off {RATCHET}")),
            Some(lines) if lines * 100 < listed * SLACK_PERCENT => {
                Some(format!("shrank from {listed} to {lines} lines: lower it in {RATCHET}"))
            }
            Some(_) => None,
        }
    }
}

fn bless(repository: &Repository, limits: [&Limit; 2], measured: [&Lines; 2]) {
    let path = repository.root.join(RATCHET);
    fs::write(&path, render(limits, measured)).expect("the ratchet can be written");
}

fn render(limits: [&Limit; 2], measured: [&Lines; 2]) -> String {
    let mut text = String::from(
        "# Lines allowed in a file and in a function, and the exceptions, which may only shrink.\n\
         # `TIDY_BLESS=1 cargo test -p folkmoot-tidy size_ratchet` writes the exceptions anew.\n",
    );
    for (kind, (limit, lines)) in ["files", "functions"].iter().zip(limits.into_iter().zip(measured)) {
        let _ = write!(text, "\n[{kind}]\nlines_max = {}\n\n[{kind}.exceptions]\n", limit.lines_max);
        for (name, lines) in lines.iter().filter(|(_, lines)| **lines > limit.lines_max) {
            let _ = writeln!(text, "\"{name}\" = {lines}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str =
        "[files]\nlines_max = 10\n[files.exceptions]\n'old.rs' = 20\n[functions]\nlines_max = 3\n";

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let repository = Repository::from_texts(files);
        let (file_lines, function_lines) = measure(&repository);
        let [files, functions] = parse(LIMITS);
        let mut findings = compare("file", &files, &file_lines);
        findings.extend(compare("function", &functions, &function_lines));
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn growth_is_found() {
        let lines = "\n".repeat(21);
        let found = messages(&[("old.rs", &lines), ("new.py", &lines), ("data.json", &lines)]);
        assert!(found[0].contains("new.py") && found[1].contains("old.rs") && found.len() == 2, "{found:?}");
    }

    #[test]
    fn an_exception_may_only_shrink() {
        assert!(messages(&[("old.rs", &"\n".repeat(18))]).is_empty());
        assert!(messages(&[("old.rs", &"\n".repeat(17))])[0].contains("lower it"));
        assert!(messages(&[("old.rs", "\n")])[0].contains("is small now"));
        assert!(messages(&[])[0].contains("is gone"));
    }

    #[test]
    fn a_long_function_is_found() {
        let found = messages(&[("old.rs", &format!("fn f() {{\n\n\n}}\nfn g() {{\n}}{}", "\n".repeat(14)))]);
        assert!(found[0].starts_with("old.rs::f: a function of 4 lines") && found.len() == 1, "{found:?}");
    }

    #[test]
    fn what_bless_writes_is_what_check_reads() {
        let limits = parse(LIMITS);
        let measured = Lines::from([("big.rs".to_owned(), 30), ("small.rs".to_owned(), 3)]);
        let [files, functions] = parse(&render([&limits[0], &limits[1]], [&measured, &Lines::new()]));
        assert_eq!(files.exceptions, Lines::from([("big.rs".to_owned(), 30)]));
        assert_eq!((files.lines_max, functions), (10, Limit { lines_max: 3, exceptions: Lines::new() }));
    }
}
