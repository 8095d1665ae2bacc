//! Identical code in two places must be shared, or there must be a reason why it is not.
//!
//! A repetition is a run of ten or more consecutive significant lines: blank lines, comments and imports are left out.
//! `tests/tidy/repetitions.toml` lists the accepted repetitions, each with its reason. For readers, it also lists files
//! whose code differs only in names; the rule cannot find them.

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::significant_lines::{Line, significant_lines};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use toml::{Table, Value};

const LIST: &str = "tests/tidy/repetitions.toml";

/// Extensions of the compared sources.
const EXTENSIONS: [&str; 8] = ["rs", "ts", "tsx", "mjs", "kt", "kts", "swift", "py"];

/// The shortest repetition, in significant lines.
const LINES_MIN: usize = 10;

/// The longest run of equal lines in two files, or in two places of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    lines: usize,
    /// The number of the run's first line in each of the two places.
    starts: [usize; 2],
}

/// All pairs of files with a repetition. The two paths of a pair are in order; they are equal for a repetition within
/// one file.
type Runs<'a> = BTreeMap<[&'a str; 2], Run>;

/// Accepted repetitions between any two of these files, or within the file if there is only one.
#[derive(Debug)]
struct Entry {
    files: Vec<String>,
    /// The length of the longest run, so that it cannot grow unnoticed. 0 for files that are only similar.
    lines: usize,
    reason: String,
}

/// Finds repetitions that are not listed, and entries that are out of date.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let list = repository.file(LIST).map(File::text).unwrap_or_default();
    let list: Table = list.parse().expect("tests/tidy/repetitions.toml is TOML");
    let [repeated, alike] = ["repeated", "alike"].map(|section| entries(&list, section));
    let sources: Vec<&File> =
        repository.files.iter().filter(|file| file.has_extension(&EXTENSIONS)).collect();
    let runs = runs(&sources);
    let mut findings = unlisted(&runs, &repeated);
    findings.extend(repeated.iter().filter_map(|entry| outdated(&runs, entry)));
    findings.extend(repeated.iter().chain(&alike).filter(|entry| entry.reason.trim().is_empty()).map(
        |entry| {
            Finding::on(LIST, format!("the entry of {} has no reason. Write one", entry.files.join(", ")))
        },
    ));
    for path in alike.iter().flat_map(|entry| &entry.files).filter(|path| repository.file(path).is_none()) {
        findings.push(Finding::on(LIST, format!("{path} does not exist. Remove it from its entry")));
    }
    findings
}

fn entries(list: &Table, section: &str) -> Vec<Entry> {
    let listed = list.get(section).and_then(Value::as_array).into_iter().flatten();
    let entry = |value: &Value| {
        let files = value.get("files").and_then(Value::as_array).into_iter().flatten();
        let lines = value.get("lines").and_then(Value::as_integer).unwrap_or_default();
        Entry {
            files: files.filter_map(Value::as_str).map(str::to_owned).collect(),
            lines: usize::try_from(lines).unwrap_or_default(),
            reason: value.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
    };
    listed.map(entry).collect()
}

/// Finds the longest run of each pair of files that has one.
fn runs<'a>(sources: &[&'a File]) -> Runs<'a> {
    let lines: Vec<Vec<Line<'_>>> = sources.iter().map(|file| significant_lines(file)).collect();
    let texts: Vec<Vec<&str>> =
        lines.iter().map(|lines| lines.iter().map(|line| line.text).collect()).collect();
    let mut places: HashMap<&[&str], Vec<(usize, usize)>> = HashMap::new();
    for (file, texts) in texts.iter().enumerate() {
        for (start, window) in texts.windows(LINES_MIN).enumerate() {
            places.entry(window).or_default().push((file, start));
        }
    }
    let mut equal: BTreeMap<[usize; 2], BTreeSet<[usize; 2]>> = BTreeMap::new();
    for places in places.values() {
        for (index, (first, first_start)) in places.iter().enumerate() {
            for (second, second_start) in &places[index + 1..] {
                if first != second || first_start.abs_diff(*second_start) >= LINES_MIN {
                    equal.entry([*first, *second]).or_default().insert([*first_start, *second_start]);
                }
            }
        }
    }
    let named = |([first, second], starts): ([usize; 2], BTreeSet<[usize; 2]>)| {
        let (length, [in_first, in_second]) = longest(&starts)?;
        let starts = [lines[first][in_first].number, lines[second][in_second].number];
        let paths = [sources[first].path.as_str(), sources[second].path.as_str()];
        let (paths, starts) =
            if paths[0] <= paths[1] { (paths, starts) } else { (flip(paths), flip(starts)) };
        Some((paths, Run { lines: length, starts }))
    };
    equal.into_iter().filter_map(named).collect()
}

fn flip<T>([first, second]: [T; 2]) -> [T; 2] {
    [second, first]
}

/// Returns the length and the start of the longest run. `starts` contains the starts of all equal windows of
/// [`LINES_MIN`] lines. Windows that follow each other in both places belong to one run.
fn longest(starts: &BTreeSet<[usize; 2]>) -> Option<(usize, [usize; 2])> {
    let follows = |[first, second]: [usize; 2], by: usize| starts.contains(&[first + by, second + by]);
    let begins = |[first, second]: &[usize; 2]| {
        let before = first.checked_sub(1).zip(second.checked_sub(1));
        !before.is_some_and(|(first, second)| starts.contains(&[first, second]))
    };
    let runs = starts.iter().filter(|start| begins(start)).map(|start| {
        let windows = (1..).take_while(|by| follows(*start, *by)).count() + 1;
        (windows + LINES_MIN - 1, *start)
    });
    runs.max_by_key(|(length, start)| (*length, std::cmp::Reverse(*start)))
}

impl Entry {
    fn covers(&self, [first, second]: &[&str; 2]) -> bool {
        let has = |path: &str| self.files.iter().any(|file| file == path);
        has(first) && has(second) && (first != second || self.files.len() == 1)
    }
}

fn unlisted(runs: &Runs<'_>, repeated: &[Entry]) -> Vec<Finding> {
    let missing = runs.iter().filter(|(paths, _)| !repeated.iter().any(|entry| entry.covers(paths)));
    missing
        .map(|([first, second], run)| {
            let [at, also_at] = run.starts;
            let advice = format!("Share the code, or list both files with the reason in {LIST}");
            let message =
                format!("{} lines stand again at {second}:{also_at}, word for word. {advice}", run.lines);
            Finding::at(first, at, message)
        })
        .collect()
}

/// Returns a finding if an entry is out of date; otherwise `None`.
fn outdated(runs: &Runs<'_>, entry: &Entry) -> Option<Finding> {
    let covered: Vec<_> = runs.iter().filter(|(paths, _)| entry.covers(paths)).collect();
    let takes_part = |file: &&String| covered.iter().any(|(paths, _)| paths.contains(&file.as_str()));
    if let Some(gone) = entry.files.iter().find(|file| !takes_part(file)) {
        return Some(Finding::on(
            LIST,
            format!("{gone} repeats no other file of its entry any more. Remove it"),
        ));
    }
    let lines = covered.iter().map(|(_, run)| run.lines).max().unwrap_or_default();
    let files = entry.files.join(", ");
    let message = format!(
        "the longest run of {files} has {lines} lines, and the entry says {}. Share the code",
        entry.lines
    );
    (lines != entry.lines).then(|| Finding::on(LIST, format!("{message}, or correct the number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(first: usize, count: usize) -> String {
        (first..first + count).map(|number| format!("    call_{number}();\n\n    // {count}\n")).collect()
    }

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repository::from_texts(files)).iter().map(Finding::to_string).collect()
    }

    const ADVICE: &str = "Share the code, or list both files with the reason in tests/tidy/repetitions.toml";

    #[test]
    fn ten_equal_lines_in_two_files_are_found() {
        let pair = |count: usize| {
            let (one, other) =
                (format!("one();\n{}", source(0, count)), format!("{}other();", source(0, count)));
            messages(&[("a.rs", &one), ("b.rs", &other), ("c.md", &other)])
        };
        assert_eq!(pair(9), [""; 0]);
        assert_eq!(pair(12), [format!("a.rs:2: 12 lines stand again at b.rs:1, word for word. {ADVICE}")]);
    }

    #[test]
    fn lines_apart_and_overlapping_places_are_no_repetition() {
        let [one, other] = [source(0, 6), source(0, 5)];
        let apart = format!("{one}between();\n{}", source(6, 6));
        let together = format!("{one}{}", source(6, 6));
        assert_eq!(messages(&[("a.rs", &apart), ("b.rs", &together)]), [""; 0]);
        assert_eq!(messages(&[("a.rs", &"same();\n".repeat(19)), ("b.rs", &other)]), [""; 0]);
    }

    #[test]
    fn a_repetition_within_a_file_is_found() {
        let twice = format!("{}between();\n{}", source(0, 10), source(0, 10));
        assert_eq!(
            messages(&[("a.kt", &twice)]),
            [format!("a.kt:1: 10 lines stand again at a.kt:32, word for word. {ADVICE}")]
        );
        let listed = "[[repeated]]\nfiles = ['a.kt']\nlines = 10\nreason = 'because'";
        assert_eq!(messages(&[("a.kt", &twice), (LIST, listed)]), [""; 0]);
    }

    #[test]
    fn a_listed_repetition_has_to_be_there_with_its_length_and_a_reason() {
        let listed = |count: usize, entry: &str| {
            let text = source(0, count);
            messages(&[("a.rs", &text), ("b.ts", &text), (LIST, &format!("[[repeated]]\n{entry}"))])
        };
        let right = "files = ['b.ts', 'a.rs']\nlines = 11\nreason = 'because'";
        assert_eq!(listed(11, right), [""; 0]);
        assert!(listed(9, right)[0].ends_with("b.ts repeats no other file of its entry any more. Remove it"));
        assert!(listed(12, right)[0].contains("has 12 lines, and the entry says 11"));
        assert!(listed(10, right)[0].contains("has 10 lines, and the entry says 11"));
        assert!(listed(11, "files = ['b.ts', 'a.rs']\nlines = 11")[0].contains("has no reason"));
        let another = listed(11, "files = ['a.rs', 'c.rs']\nlines = 11\nreason = 'because'");
        assert!(another[0].contains("stand again at b.ts:1") && another.len() == 2, "{another:?}");
    }

    #[test]
    fn files_that_look_alike_have_to_exist() {
        let list = "[[alike]]\nfiles = ['a.rs', 'b.rs']\nreason = 'because'";
        assert_eq!(
            messages(&[("a.rs", ""), (LIST, list)]),
            [format!("{LIST}: b.rs does not exist. Remove it from its entry")]
        );
    }
}
