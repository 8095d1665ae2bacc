//! Writes an experiment's part of `docs/experiments.md`, which lies between two marks.

use std::{fs, path::PathBuf};

use super::finding::Finding;
use crate::Failure;

/// The mark that ends every part.
const END: &str = "<!-- made by a command until here -->\n";

fn begin(name: &str) -> String {
    format!("<!-- made by cargo xtask reproduce {name} --document -->\n")
}

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Replaces an experiment's part of `docs/experiments.md`, its stored figures of each seed, and its plot.
///
/// # Errors
/// If the page has no marks for the experiment, or a file cannot be read or written.
pub fn write(finding: &Finding) -> Result<(), Failure> {
    let (page, record) = (docs().join("experiments.md"), finding.record());
    let text = replaced(&fs::read_to_string(&page)?, finding.name, &record.markdown()).ok_or_else(|| {
        format!("docs/experiments.md has no marks for the experiment {}. Add its two marks", finding.name)
    })?;
    fs::write(page, text)?;
    let path = |extension: &str| docs().join("experiments").join(format!("{}.{extension}", finding.name));
    fs::write(path("json"), serde_json::to_string_pretty(&record)? + "\n")?;
    fs::write(path("svg"), finding.plot.svg())?;
    Ok(())
}

/// Returns the range of an experiment's part in the page.
fn place(page: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let begin = begin(name);
    let from = page.find(&begin)? + begin.len();
    Some(from..from + page[from..].find(END)?)
}

fn replaced(page: &str, name: &str, part: &str) -> Option<String> {
    let place = place(page, name)?;
    Some(format!("{}{part}{}", &page[..place.start], &page[place.end..]))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::reproduce::{Experiment, finding::Record};

    #[test]
    fn one_part_is_replaced_and_the_rest_stays() {
        let page = |part: &str| format!("# A\n{}{part}{END}\nNote.\n{}b\n{END}", begin("a"), begin("b"));
        assert_eq!(replaced(&page("old\n"), "a", "new\n"), Some(page("new\n")));
        assert_eq!(replaced("# A\n", "a", "new\n"), None);
    }

    /// Every table of the page must equal the output of the code for the stored figures of each seed.
    #[test]
    fn every_row_of_the_page_has_the_interval_and_the_marks_of_its_kept_figures() {
        let page = fs::read_to_string(docs().join("experiments.md")).unwrap();
        for experiment in Experiment::value_variants() {
            let name = experiment.to_possible_value().unwrap().get_name().to_owned();
            let place = place(&page, &name).unwrap_or_else(|| panic!("{name} has no part"));
            let kept = docs().join("experiments").join(format!("{name}.json"));
            let Ok(kept) = fs::read_to_string(kept) else {
                let says = page[place].lines().find(|line| line.starts_with("**Run this again:**"));
                assert!(says.is_some(), "{name} has no kept figures, and does not say so");
                continue;
            };
            let record: Record = serde_json::from_str(&kept).unwrap();
            assert_eq!(page[place], record.markdown(), "{name}");
        }
    }
}
