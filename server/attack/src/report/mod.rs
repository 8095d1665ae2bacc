//! The report: what the attacks have found, as JSON, as text for a terminal, and as an HTML page.

mod inversion_page;
mod membership_page;
mod page;
mod poisoning_page;
mod property_page;
mod statements;
mod text;

use serde::Serialize;
pub(crate) use statements::statements;

use crate::{
    inversion::Inversion, membership::Membership, picture::Picture, poisoning::Poisoning,
    property::PropertyInference,
};

/// The result of all attacks on a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the task.
    pub task: String,
    /// The first seed.
    pub seed: u64,
    /// The number of virtual clients.
    pub clients: usize,
    /// The number of examples.
    pub examples: usize,
    /// The meaning of the results, and the settings to switch on.
    pub statements: Vec<Statement>,
    /// The attacks that do not fit the task, with the reason.
    pub left_out: Vec<String>,
    /// The inversion of updates.
    pub inversion: Option<Inversion>,
    /// The attack on membership.
    pub membership: Option<Membership>,
    /// The attack on a property.
    pub property: Option<PropertyInference>,
    /// The poisoning by hostile clients.
    pub poisoning: Option<Poisoning>,
    /// The form of the pictures.
    #[serde(skip)]
    pub picture: Option<Picture>,
}

/// The meaning of an attack's result, in two sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// The attack.
    pub attack: &'static str,
    /// The meaning of the result.
    pub meaning: String,
    /// The settings that would help, or that already help.
    pub remedy: String,
}

/// The least share above 0 that is shown as a number.
const SHARE_MIN: f64 = 5e-4;

/// Formats a share in percent.
fn percent(share: f64) -> String {
    if share > 0.0 && share < SHARE_MIN {
        return "< 0.1 %".to_owned();
    }
    format!("{:.1} %", 100.0 * share)
}

/// Formats a value, or a dash if there is none.
fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}
