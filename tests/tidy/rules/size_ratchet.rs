//! Files, functions, folders and packages must stay small. Those above the limit may only shrink.
//!
//! `tests/tidy/ratchet.toml` contains the limits and the exceptions. `TIDY_BLESS=1` replaces the exceptions with the
//! measured sizes, so that the diff shows which have grown. A package has no exceptions: one that is too large must be
//! split.

use crate::finding::Finding;
use crate::manifest::packages;
use crate::repository::{File, Repository};
use crate::rust_source::functions;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};
use toml::{Table, Value};

const RATCHET: &str = "tests/tidy/ratchet.toml";

/// Extensions of handwritten sources. Generated files and data have others.
const EXTENSIONS: [&str; 14] =
    ["rs", "wgsl", "sql", "ts", "tsx", "js", "mjs", "css", "html", "kt", "kts", "swift", "py", "sh"];

/// An exception must be lowered if the measured size is less than this percentage of it.
const SLACK_PERCENT: usize = 90;

/// A kind of thing with a size limit: its name, its section and key in the ratchet, and its unit.
struct Kind {
    name: &'static str,
    section: &'static str,
    limit: &'static str,
    counted: &'static str,
    has_exceptions: bool,
}

const KINDS: [Kind; 4] = [
    Kind { name: "file", section: "files", limit: "lines_max", counted: "lines", has_exceptions: true },
    Kind {
        name: "function",
        section: "functions",
        limit: "lines_max",
        counted: "lines",
        has_exceptions: true,
    },
    Kind {
        name: "folder",
        section: "folders",
        limit: "files_max",
        counted: "files side by side",
        has_exceptions: true,
    },
    Kind {
        name: "package",
        section: "packages",
        limit: "lines_max",
        counted: "lines of Rust under src",
        has_exceptions: false,
    },
];

/// Sizes by name. The size of a file (`path`), a function (`path::function`) or a package (its folder) is in lines, and
/// the size of a folder is in files.
type Sizes = BTreeMap<String, usize>;

/// A limit and its exceptions.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    most: usize,
    exceptions: Sizes,
}

/// Compares the sizes of all files, functions, folders and packages with the ratchet.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let limits = parse(repository.file(RATCHET).map(File::text).unwrap_or_default());
    let measured = measure(repository);
    if env::var_os("TIDY_BLESS").is_some_and(|value| value == "1") {
        let path = repository.root.join(RATCHET);
        let blessed = render(&limits, &measured);
        fs::write(&path, &blessed).expect("the ratchet can be written");
        return compare_all(&parse(&blessed), &measured);
    }
    compare_all(&limits, &measured)
}

fn parse(text: &str) -> [Limit; 4] {
    let table: Table = text.parse().expect("tests/tidy/ratchet.toml is TOML");
    KINDS.map(|kind| {
        let number = |value: &Value| value.as_integer().and_then(|number| usize::try_from(number).ok());
        let section =
            table.get(kind.section).and_then(Value::as_table).expect("the ratchet has every section");
        let most = section.get(kind.limit).and_then(number).expect("a section has its limit");
        assert!(
            kind.has_exceptions || !section.contains_key("exceptions"),
            "{RATCHET}: a {} has no exceptions. Split it instead of listing it",
            kind.name
        );
        let listed = section.get("exceptions").and_then(Value::as_table).into_iter().flatten();
        let exceptions =
            listed.map(|(name, value)| (name.clone(), number(value).expect("a size is a number")));
        Limit { most, exceptions: exceptions.collect() }
    })
}

fn measure(repository: &Repository) -> [Sizes; 4] {
    let [mut files, mut functions, mut folders] = [Sizes::new(), Sizes::new(), Sizes::new()];
    for file in repository.files.iter().filter(|file| file.has_extension(&EXTENSIONS)) {
        files.insert(file.path.clone(), file.text().lines().count());
        if file.has_extension(&["rs"]) {
            measure_functions(file, &mut functions);
        }
        let folder = file.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        // Migrations are a log: each change adds a file, and none may be merged or moved.
        if !folder.contains("/migrations/") {
            *folders.entry(folder.to_owned()).or_default() += 1;
        }
    }
    let packages = packages(repository).into_iter().map(|package| {
        let sources = format!("{}/src/", package.folder);
        let within = repository.rust_files().filter(|file| file.path.starts_with(&sources));
        (package.folder, within.map(|file| file.text().lines().count()).sum())
    });
    [files, functions, folders, packages.collect()]
}

/// Measures the functions of a file. If several have the same name, the longest one is measured.
fn measure_functions(file: &File, lines: &mut Sizes) {
    for function in functions(file.tokens().unwrap_or_default()) {
        let longest = lines.entry(format!("{}::{}", file.path, function.name)).or_default();
        *longest = function.lines.max(*longest);
    }
}

fn compare_all(limits: &[Limit; 4], measured: &[Sizes; 4]) -> Vec<Finding> {
    let kinds = KINDS.iter().zip(limits).zip(measured);
    kinds.flat_map(|((kind, limit), measured)| compare(kind, limit, measured)).collect()
}

fn compare(kind: &Kind, limit: &Limit, measured: &Sizes) -> Vec<Finding> {
    let Kind { name: what, counted, .. } = kind;
    let too_large = measured.iter().filter(|(name, size)| **size > limit.allowed(name));
    let grown = too_large.map(|(name, size)| {
        let allowed = limit.allowed(name);
        Finding::on(name, format!("a {what} of {size} {counted}; {allowed} are allowed. Split it"))
    });
    let slack = limit.exceptions.iter().filter_map(|(name, listed)| {
        let advice = limit.advice(kind, measured.get(name), *listed)?;
        let command = "TIDY_BLESS=1 cargo test -p folkmoot-tidy size_ratchet";
        Some(Finding::on(name, format!("{advice}, or run `{command}`")))
    });
    grown.chain(slack).collect()
}

impl Limit {
    fn allowed(&self, name: &str) -> usize {
        self.exceptions.get(name).copied().unwrap_or(self.most)
    }

    /// Returns advice on lowering a listed exception; `None` if the exception still fits.
    fn advice(&self, kind: &Kind, measured: Option<&usize>, listed: usize) -> Option<String> {
        match measured {
            None => Some(format!("no longer exists. Remove its exception from {RATCHET}")),
            Some(size) if *size <= self.most => {
                Some(format!("is now within the limit. Remove its exception from {RATCHET}"))
            }
            Some(size) if size * 100 < listed * SLACK_PERCENT => {
                let counted = kind.counted;
                Some(format!("shrank from {listed} to {size} {counted}. Lower its exception in {RATCHET}"))
            }
            Some(_) => None,
        }
    }
}

fn render(limits: &[Limit; 4], measured: &[Sizes; 4]) -> String {
    let mut text = String::from(
        "# The maximum lines of a file, a function and a package, the maximum sources of a folder, and the exceptions.\n\
         # Exceptions may only shrink. `TIDY_BLESS=1 cargo test -p folkmoot-tidy size_ratchet` rewrites them.\n",
    );
    for (kind, (limit, sizes)) in KINDS.iter().zip(limits.iter().zip(measured)) {
        let Kind { section, limit: key, .. } = kind;
        let _ = write!(text, "\n[{section}]\n{key} = {}\n", limit.most);
        if !kind.has_exceptions {
            continue;
        }
        let _ = write!(text, "\n[{section}.exceptions]\n");
        for (name, size) in sizes.iter().filter(|(_, size)| **size > limit.most) {
            let _ = writeln!(text, "\"{name}\" = {size}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "[files]\nlines_max = 10\n[files.exceptions]\n'old.rs' = 20\n[functions]\nlines_max = 3\n[folders]\nfiles_max = 3\n[packages]\nlines_max = 30\n";

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let measured = measure(&Repository::from_texts(files));
        compare_all(&parse(LIMITS), &measured).iter().map(Finding::to_string).collect()
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
        assert!(messages(&[("old.rs", &"\n".repeat(17))])[0].contains("Lower its exception"));
        assert!(messages(&[("old.rs", "\n")])[0].contains("is now within the limit"));
        assert!(messages(&[])[0].contains("no longer exists"));
    }

    #[test]
    fn a_long_function_is_found() {
        let found = messages(&[("old.rs", &format!("fn f() {{\n\n\n}}\nfn g() {{\n}}{}", "\n".repeat(14)))]);
        assert!(found[0].starts_with("old.rs::f: a function of 4 lines") && found.len() == 1, "{found:?}");
    }

    #[test]
    fn a_crowded_folder_is_found() {
        let names: Vec<String> = (0..4).map(|number| format!("a/b/{number}.rs")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let crowded = |files: &[(&str, &str)]| {
            let lines = "\n".repeat(18);
            let mut files = files.to_vec();
            files.push(("old.rs", &lines));
            messages(&files)
        };
        let found = crowded(&files);
        assert!(found[0].starts_with("a/b: a folder of 4 files side by side; 3 are allowed"), "{found:?}");
        assert_eq!((found.len(), crowded(&files[..3]).len()), (1, 0));
    }

    #[test]
    fn a_large_package_is_found_and_cannot_be_listed() {
        let lines = |count: usize| "\n".repeat(count);
        let package = |last: usize| {
            messages(&[
                ("a/Cargo.toml", "[package]\nname = 'folkmoot-a'"),
                ("a/src/lib.rs", &lines(10)),
                ("a/src/b/c.rs", &lines(10)),
                ("a/src/d.rs", &lines(last)),
                // Tests, other languages, and packages with a similar name must not be counted.
                ("a/tests/e.rs", &lines(10)),
                ("a/src/f.py", &lines(10)),
                ("ab/src/g.rs", &lines(10)),
                ("old.rs", &lines(18)),
            ])
        };
        assert_eq!(package(10), [""; 0]);
        let found = package(11);
        let expected = "a: a package of 31 lines of Rust under src; 30 are allowed. Split it";
        assert!(found.contains(&expected.to_owned()), "{found:?}");
        let listed = format!("{LIMITS}[packages.exceptions]\n'a' = 31\n");
        assert!(std::panic::catch_unwind(|| parse(&listed)).is_err());
    }

    #[test]
    fn what_bless_writes_is_what_check_reads() {
        let limits = parse(LIMITS);
        let files = Sizes::from([("big.rs".to_owned(), 30), ("small.rs".to_owned(), 3)]);
        let packages = Sizes::from([("a".to_owned(), 31)]);
        let measured = [files, Sizes::new(), Sizes::new(), packages];
        let [files, functions, _, packages] = parse(&render(&limits, &measured));
        assert_eq!(files.exceptions, Sizes::from([("big.rs".to_owned(), 30)]));
        assert_eq!((files.most, functions), (10, Limit { most: 3, exceptions: Sizes::new() }));
        assert_eq!(packages, Limit { most: 30, exceptions: Sizes::new() });
    }
}
