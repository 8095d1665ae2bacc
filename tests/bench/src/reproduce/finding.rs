use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{
    claim::Claim,
    marks::{Direction, Significance, Size},
    plot::Plot,
    series::Series,
};

/// The result of an experiment.
pub struct Finding {
    /// The experiment's name on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// The publications whose claims are tested.
    pub source: &'static str,
    /// A description of our setting in a few sentences.
    pub setting: String,
    /// The target accuracy; `None` if the experiment has none.
    pub target: Option<f64>,
    pub claims: Vec<Claim>,
    pub tables: Vec<Table>,
    /// Notes on differences from the publications, with their reasons.
    pub notes: Vec<String>,
    pub plot: Plot,
    /// The results of all arms, for reports.
    pub series: Vec<Series>,
}

impl Finding {
    /// Returns the form that is stored, which has no curves.
    pub fn record(&self) -> Record {
        Record {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            setting: self.setting.clone(),
            target: self.target,
            claims: self.claims.clone(),
            tables: self.tables.clone(),
            notes: self.notes.clone(),
        }
    }
}

/// The stored form of a finding, as JSON. Every claim includes the figures of each seed. So its interval and marks can
/// be computed again without another run.
#[derive(Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    pub title: String,
    pub source: String,
    pub setting: String,
    pub target: Option<f64>,
    pub claims: Vec<Claim>,
    pub tables: Vec<Table>,
    pub notes: Vec<String>,
}

/// A table of results in the report.
#[derive(Clone, Serialize, Deserialize)]
pub struct Table {
    pub title: String,
    pub heading: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows.
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

impl Record {
    /// Formats the finding as Markdown, for its part of `docs/experiments.md`.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n\n{}\n\n{}\n\n", self.source, self.setting, self.sum());
        let heading = ["published", "ours, with its 95 % interval", "direction", "size", "significance"];
        row(&mut text, &heading.map(str::to_owned));
        row(&mut text, &["---"; 5].map(str::to_owned));
        for claim in &self.claims {
            row(&mut text, &claim.cells());
        }
        for table in &self.tables {
            table.write(&mut text);
        }
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    /// Summarises the marks in a sentence.
    fn sum(&self) -> String {
        let count = |is: &dyn Fn(&Claim) -> bool| self.claims.iter().filter(|claim| is(claim)).count();
        let is_significant = |claim: &Claim| matches!(claim.significance(), Significance::Significant { .. });
        let directed = |direction: Direction| {
            let all = count(&|claim| claim.direction() == direction);
            (all, count(&|claim| claim.direction() == direction && is_significant(claim)))
        };
        let (published, significantly) = directed(Direction::AsPublished);
        let (opposite, significantly_opposite) = directed(Direction::Opposite);
        let sized = count(&|claim| claim.size() != Size::NonePublished);
        let mut text = format!(
            "Direction as published: {published} of {} comparisons, {significantly} of them significant. Opposite: {opposite}, \
             {significantly_opposite} of them significant.",
            self.claims.len()
        );
        if sized > 0 {
            let found = count(&|claim| claim.size() == Size::Compatible);
            let _ = write!(text, " Interval contains the published size: {found} of {sized}.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{
        claim::{Says, Unit},
        estimate::{Estimate, Sample},
    };

    #[test]
    fn a_finding_is_written_with_its_marks_and_tables() {
        let mut table = Table::new("Rounds", &["arm", "rounds"]);
        table.rows.push(vec!["a".into(), "3".into()]);
        let claim = |values: &[f64]| {
            let estimate = Estimate::factor(&Sample::of(values), &Sample::of(&[1.0; 3]));
            Claim::new("faster", Unit::TIMES, Says::Above(1.0), estimate).sized(2.0)
        };
        let record = Record {
            name: "one".into(),
            title: "One".into(),
            source: "Somebody 2020.".into(),
            setting: "Done so.".into(),
            target: None,
            claims: vec![claim(&[1.9, 2.0, 2.1]), claim(&[0.2, 1.0, 3.0])],
            tables: vec![table],
            notes: vec!["Why.".into()],
        };
        let expected = "Somebody 2020.\n\nDone so.\n\n\
            Direction as published: 1 of 2 comparisons, 1 of them significant. Opposite: 1, 0 of them significant. Interval \
            contains the published size: 2 of 2.\n\n\
            | published | ours, with its 95 % interval | direction | size | significance |\n\
            | --- | --- | --- | --- | --- |\n\
            | faster: 2.0× | 2.0× (1.8 to 2.3) | as published | compatible with 2.0× | p = 0.002 |\n\
            | faster: 2.0× | 0.8× (0.0 to 24.9) | **opposite** | compatible with 2.0× | **not significant** (p = 0.85) |\n\
            \nRounds:\n\n| arm | rounds |\n| --- | --- |\n| a | 3 |\n\nWhy.\n";
        assert_eq!(record.markdown(), expected);
        let kept = serde_json::to_string(&record).unwrap();
        let again: Record = serde_json::from_str(&kept).unwrap();
        assert_eq!(again.markdown(), expected, "the figures of each seed are enough to write it again");
    }
}
