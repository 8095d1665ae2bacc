//! Explains how clients encode their tables.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::TableLabel;

use super::quantity::count;

/// Returns sentences about the task's schema; none if the task has no schema.
pub(super) fn tables(description: &TaskDescription) -> Vec<String> {
    let Some(schema) = description.table_schema() else { return Vec::new() };
    let columns = count(schema.columns.len() as u64, "column");
    let features = count(schema.feature_count() as u64, "feature");
    let label = match &schema.label {
        TableLabel::Class { name, classes } => {
            format!("The label is {name}, with {} classes.", classes.len())
        }
        TableLabel::Target { name } => format!("The label is the number in {name}."),
    };
    vec![
        format!(
            "A client that brings a table encodes {columns} of it as {features}, by the schema in the plan."
        ),
        label,
        "Every client sees the schema: its means, deviations, texts and classes.".into(),
    ]
}
