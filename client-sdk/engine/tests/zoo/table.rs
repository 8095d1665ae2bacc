//! The table with the expected outcome for each file of the zoo.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{TOLERANCE, folder};

/// The most characters of a refusal that the table keeps.
const REFUSAL_CHARACTERS_MAX: usize = 200;

/// The kinds of remarks that say that a file trains differently from its module.
const SAID: [&str; 3] = ["copied", "merged", "running_statistics"];

/// The models by name, as the script writes them.
pub type Exports = BTreeMap<String, Exported>;
/// The outcome of each file, by model and exporter.
pub type Table = BTreeMap<String, BTreeMap<String, Outcome>>;

/// A model, and the exporters that were tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exported {
    /// The library that defines the model.
    pub source: String,
    /// The error of each exporter; `None` if it wrote a file.
    pub exporters: BTreeMap<String, Option<String>>,
    /// The value that is trained, by exporter, if it is not the only output that the loss fits.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
}

/// The result of reading and training a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The training follows the framework's; the largest relative difference.
    Trains(f64),
    /// The exporter removed tensors, which a remark of the importer says; the largest relative difference.
    Removed(f64),
    /// The exporter wrote something other than the module, which a remark says; the largest relative difference.
    Said(f64),
    /// The training does not follow the framework's, for a reason that no remark names; the largest relative difference.
    Differs(f64),
    /// The beginning of the error with which the engine refuses the file.
    Refused(String),
    /// The error with which the exporter refuses the model.
    NotExported(String),
}

impl Outcome {
    pub fn refused(error: &str) -> Self {
        Self::Refused(error.chars().take(REFUSAL_CHARACTERS_MAX).collect())
    }

    /// Returns the outcome of a training with this largest difference, which is rounded to two digits. `said` lists the
    /// kinds of the importer's remarks.
    pub fn of_difference(difference: f64, said: &BTreeSet<&str>) -> Self {
        let rounded = format!("{difference:.1e}").parse().expect("it is a number");
        let is_said = SAID.iter().any(|kind| said.contains(kind));
        assert!(difference > TOLERANCE || !is_said, "the file trains, but a remark says otherwise: {said:?}");
        match difference <= TOLERANCE {
            true => Self::Trains(rounded),
            false if said.contains("removed") => Self::Removed(rounded),
            false if is_said => Self::Said(rounded),
            false => Self::Differs(rounded),
        }
    }

    /// Returns whether this is the expected outcome. Processors round differently, so the differences need not be equal.
    pub fn agrees_with(&self, expected: &Self) -> bool {
        match (self, expected) {
            (Self::Trains(_), Self::Trains(_))
            | (Self::Removed(_), Self::Removed(_))
            | (Self::Said(_), Self::Said(_))
            | (Self::Differs(_), Self::Differs(_)) => true,
            _ => self == expected,
        }
    }
}

/// Returns what the script exported.
pub fn exports() -> Exports {
    let json = fs::read(folder().join("exports.json")).expect("the list is in the repository");
    serde_json::from_slice(&json).expect("the list can be read")
}

pub fn path() -> PathBuf {
    folder().join("table.json")
}

/// Returns the table of the repository.
pub fn committed() -> Table {
    let json = fs::read(path()).expect("the table is in the repository");
    serde_json::from_slice(&json).expect("the table can be read")
}

/// Returns the text of the table.
pub fn written(table: &Table) -> String {
    serde_json::to_string_pretty(table).expect("the table has no unusual keys") + "\n"
}
