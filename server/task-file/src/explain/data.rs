//! Explains how clients turn their data into numbers.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{DataSchema, ImageFit, ImageSchema, TableLabel, TableSchema};

use super::quantity::count;

/// Returns sentences about the task's schema; none if the task has no schema.
pub(super) fn data(description: &TaskDescription) -> Vec<String> {
    match description.data_schema() {
        Some(DataSchema::Table(schema)) => table(schema),
        Some(DataSchema::Images { images }) => pictures(images),
        None => Vec::new(),
    }
}

fn table(schema: &TableSchema) -> Vec<String> {
    let columns = count(schema.columns.len() as u64, "column");
    let features = count(schema.feature_count() as u64, "feature");
    let label = match &schema.label {
        Some(TableLabel::Class { name, classes }) => {
            format!("The label is {name}, with {} classes.", classes.len())
        }
        Some(TableLabel::Target { name }) => format!("The label is the number in {name}."),
        None => "There is no label.".into(),
    };
    vec![
        format!(
            "A client that brings a table encodes {columns} of it as {features}, by the schema in the plan."
        ),
        label,
        "Every client sees the schema: its means, deviations, texts and classes.".into(),
    ]
}

fn pictures(schema: &ImageSchema) -> Vec<String> {
    let kind = if schema.grey { "grey" } else { "in colour" };
    let how = match schema.fit {
        ImageFit::Crop => "crops",
        ImageFit::Pad => "pads",
        ImageFit::Stretch => "stretches",
    };
    vec![
        format!(
            "A client that brings images {how} and resizes them to {} × {} pixels, {kind}, by the schema in the plan.",
            schema.width, schema.height
        ),
        format!("The folders of its images have the names of the {} classes.", schema.classes.len()),
    ]
}
