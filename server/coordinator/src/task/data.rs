//! The data that a task's clients train on.

use std::fmt;

use folkmoot_protocol::{DataSchema, Fault};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

/// The data that clients train on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskData {
    /// The schema by which clients turn their tables or images into numbers: the name of a file from `folkmoot data
    /// schema`, beside the task file, or the content of such a file. The plan carries it to every client. A client that
    /// brings numbers is not affected.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["visits.schema.json"])))]
    pub schema: SchemaSource,
}

/// The schema of a task, or the file that contains it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SchemaSource {
    /// The file's path. The commands of `folkmoot` replace it by the file's content.
    File(String),
    /// The schema.
    Schema(Box<DataSchema>),
}

impl<'de> Deserialize<'de> for SchemaSource {
    /// Decides by the type of the value, so that the error of a wrong schema names its field.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourceVisitor)
    }
}

struct SourceVisitor;

impl<'de> Visitor<'de> for SourceVisitor {
    type Value = SchemaSource;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a schema, or the name of a file that contains one")
    }

    fn visit_str<E>(self, path: &str) -> Result<SchemaSource, E> {
        Ok(SchemaSource::File(path.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SchemaSource, A::Error> {
        let schema = DataSchema::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SchemaSource::Schema(Box::new(schema)))
    }
}

impl TaskData {
    /// The field of the schema in a description.
    pub const SCHEMA_FIELD: &str = "data.schema";

    pub(super) fn schema(&self) -> Option<&DataSchema> {
        match &self.schema {
            SchemaSource::Schema(schema) => Some(schema),
            SchemaSource::File(_) => None,
        }
    }

    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        if let Some(schema) = self.schema()
            && let Err(fault) = schema.check_for_plan()
        {
            let field = format!("{}.{}", Self::SCHEMA_FIELD, fault.field);
            faults.push(Fault { field, ..fault });
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::DataSchema;
    use serde_json::json;

    use crate::task::{TaskDescription, samples::described};

    fn with(deviation: f64) -> TaskDescription {
        let column = json!({ "kind": "number", "name": "age", "mean": 51.0, "deviation": deviation, "missing": "mean" });
        let label = json!({ "kind": "class", "name": "outcome", "classes": ["home", "transferred"] });
        described(json!({ "data": { "schema": { "columns": [column], "label": label } } }))
    }

    #[test]
    fn a_schema_is_a_part_of_the_description() {
        let task = with(8.5);
        assert_eq!(task.validate(), []);
        assert_eq!(task.data_schema().map(DataSchema::feature_shape), Some(vec![1]));
        let json = serde_json::to_value(&task).unwrap();
        assert_eq!(serde_json::from_value::<TaskDescription>(json).unwrap(), task);
        let named = described(json!({ "data": { "schema": "visits.schema.json" } }));
        assert_eq!((named.validate(), named.data_schema()), (vec![], None));
    }

    #[test]
    fn a_wrong_schema_is_refused_with_its_place() {
        let [fault] = &with(0.0).validate()[..] else { panic!("one fault") };
        assert_eq!(fault.field, "data.schema.columns[0]");
        let mut unknown = serde_json::to_value(with(1.0)).unwrap();
        unknown["data"]["schema"]["colums"] = json!([]);
        let error = serde_json::from_value::<TaskDescription>(unknown).unwrap_err().to_string();
        assert!(error.contains("unknown field `colums`"), "{error}");
    }
}
