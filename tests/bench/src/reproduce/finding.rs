use std::fmt::Write as _;

use serde::Serialize;

use super::{plot::Plot, series::Series};

/// What came of an experiment.
#[derive(Serialize)]
pub struct Finding {
    /// The experiment's name on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// What was published, by whom.
    pub source: &'static str,
    /// What was done here, in a few sentences.
    pub setting: String,
    /// The accuracy that was to be reached, where there was one.
    pub target: Option<f64>,
    pub claims: Vec<Claim>,
    pub tables: Vec<Table>,
    /// Where what came out differs, and why.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub plot: Plot,
    /// What a report shows.
    #[serde(skip)]
    pub series: Vec<Series>,
}

/// One claim beside what came out.
#[derive(Serialize)]
pub struct Claim {
    pub published: String,
    pub ours: String,
    /// Whether the order, or the sign, is the published one.
    pub holds: bool,
}

/// A table.
#[derive(Serialize)]
pub struct Table {
    pub title: String,
    pub heading: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes a table without rows.
    pub fn new(title: &str, heading: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            heading: heading.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "\n{}:\n", self.title);
        row(text, &self.heading);
        row(text, &vec!["---".to_owned(); self.heading.len()]);
        for cells in &self.rows {
            row(text, cells);
        }
    }
}

fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

impl Finding {
    /// Writes everything but the plot, as a part of `docs/experiments.md`.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n\n{}\n\n", self.source, self.setting);
        row(&mut text, &["published", "ours", "holds"].map(str::to_owned));
        row(&mut text, &["---"; 3].map(str::to_owned));
        for claim in &self.claims {
            let holds = if claim.holds { "yes" } else { "**no**" };
            row(&mut text, &[claim.published.clone(), claim.ours.clone(), holds.to_owned()]);
        }
        for table in &self.tables {
            table.write(&mut text);
        }
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_written_with_its_claims_and_tables() {
        let mut table = Table::new("Rounds", &["arm", "rounds"]);
        table.rows.push(vec!["a".into(), "3".into()]);
        let claim = |holds| Claim { published: "2×".into(), ours: "1×".into(), holds };
        let finding = Finding {
            name: "one",
            title: "One",
            source: "Somebody 2020.",
            setting: "Done so.".into(),
            target: None,
            claims: vec![claim(true), claim(false)],
            tables: vec![table],
            notes: vec!["Why.".into()],
            plot: Plot::default(),
            series: Vec::new(),
        };
        let expected = "Somebody 2020.\n\nDone so.\n\n| published | ours | holds |\n| --- | --- | --- |\n\
                        | 2× | 1× | yes |\n| 2× | 1× | **no** |\n\nRounds:\n\n| arm | rounds |\n| --- | --- |\n\
                        | a | 3 |\n\nWhy.\n";
        assert_eq!(finding.markdown(), expected);
    }
}
