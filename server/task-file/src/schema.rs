//! The JSON Schema of a task description.

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::saturating::to_float32;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The `$id` of the schema.
const ID: &str = "https://folkmoot.dev/schema/task.schema.json";

/// Returns the JSON Schema (draft 2020-12) of a task description.
///
/// Descriptions and defaults come from the doc comments and the defaults of the types.
pub(super) fn value() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<TaskDescription>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("$id".to_owned(), ID.into());
    }
    shorten(&mut schema);
    schema
}

/// Returns the text of `server/api/task.schema.json`.
pub fn document() -> String {
    serde_json::to_string_pretty(&value()).expect("a JSON value has a form in JSON")
}

/// Makes a schema easier to read. Shortens 32-bit defaults to the usual notation (0.9 instead of 0.8999999761581421),
/// and joins the lines of each paragraph of a description.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            let is_single = entries.get("format").is_some_and(|format| format == "float");
            if let Some(default) = entries.get_mut("default").filter(|_| is_single) {
                *default = default.as_f64().and_then(shortest).map_or(Value::Null, Value::from);
            }
            if let Some(Value::String(text)) = entries.get_mut("description") {
                *text = joined(text);
            }
            entries.values_mut().for_each(shorten);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns the shortest decimal that rounds to the same 32-bit float.
fn shortest(number: f64) -> Option<f64> {
    to_float32(number).to_string().parse().ok()
}

fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n");
    let line = |paragraph: &str| match paragraph.contains("\n- ") {
        true => paragraph.to_owned(),
        false => paragraph.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    paragraphs.map(line).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_committed_schema_is_what_the_code_says() {
        let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
        let path = Path::new(&package).join("../api/task.schema.json");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        let is_current = committed.trim_end() == document().trim_end();
        assert!(is_current, "run `cargo xtask schema` and commit server/api/task.schema.json");
    }

    #[test]
    fn defaults_are_as_people_write_them() {
        let schema = value();
        let adam = &schema["$defs"]["LocalOptimizer"]["oneOf"][1]["properties"]["adam"]["properties"];
        assert_eq!(adam["beta1"]["default"].to_string(), "0.9");
        assert_eq!(adam["epsilon"]["default"].as_f64(), Some(1e-8));
    }

    #[test]
    fn descriptions_have_no_links_of_the_code() {
        assert!(!document().contains("[`"), "write the value as in a task file instead of a link");
    }
}
