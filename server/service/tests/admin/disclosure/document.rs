//! Reads responses from the OpenAPI document, and fields from JSON responses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use folkmoot_service::http::openapi;

/// The OpenAPI document, as served.
pub(super) struct Document(Value);

/// The responses that a key can read, according to the document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    /// `Schema.field` of every JSON response.
    pub(super) fields: BTreeSet<String>,
    /// `METHOD path` of every other response.
    pub(super) opaque: BTreeSet<String>,
}

impl Document {
    pub(super) fn read() -> Self {
        Self(serde_json::from_str(&openapi::document()).expect("it is JSON"))
    }

    /// Returns all operations except those of devices, with their paths and methods.
    pub(super) fn operations(&self) -> Vec<(String, String, &Value)> {
        let paths = self.0["paths"].as_object().expect("it has paths");
        let of_operators =
            paths.iter().filter(|(path, _)| !path.starts_with("/v1/") || path.starts_with("/v1/admin/"));
        let operations = of_operators.flat_map(|(path, operations)| {
            let operations = operations.as_object().expect("a path has operations");
            operations.iter().map(move |(method, operation)| (method.to_uppercase(), path.clone(), operation))
        });
        operations.collect()
    }

    /// Visits every response of every operation.
    pub(super) fn answers(&self) -> Answers {
        let mut answers = Answers::default();
        for (method, path, operation) in self.operations() {
            for response in operation["responses"].as_object().expect("an operation has answers").values() {
                let Some(content) = response["content"].as_object() else { continue };
                for (kind, body) in content {
                    let is_described = kind.ends_with("json") && is_described(&body["schema"]);
                    if is_described {
                        self.walk(&body["schema"], &mut answers.fields);
                    } else {
                        answers.opaque.insert(format!("{method} {path}"));
                    }
                }
            }
        }
        answers
    }

    fn walk(&self, schema: &Value, fields: &mut BTreeSet<String>) {
        if let Some(name) = name_of(schema) {
            let named = self.named(name);
            let owners = [named].into_iter().chain(alternatives(named));
            for (field, inner) in owners.filter_map(|owner| owner["properties"].as_object()).flatten() {
                if fields.insert(format!("{name}.{field}")) {
                    self.walk(inner, fields);
                }
            }
            self.walk_parts(named, fields);
        }
        self.walk_parts(schema, fields);
    }

    fn walk_parts(&self, schema: &Value, fields: &mut BTreeSet<String>) {
        let parts = alternatives(schema).chain([&schema["items"], &schema["additionalProperties"]]);
        for inner in parts.filter(|part| part.is_object()) {
            self.walk(inner, fields);
        }
    }

    fn named(&self, name: &str) -> &Value {
        &self.0["components"]["schemas"][name]
    }

    /// Returns the schema of an operation's JSON response, if it is described.
    pub(super) fn answer_of<'d>(&self, operation: &'d Value) -> Option<&'d Value> {
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        is_described(schema).then_some(schema)
    }

    /// Records the values that a response has for every field of its schema.
    pub(super) fn note(&self, schema: &Value, answer: &Value, seen: &mut BTreeMap<String, Vec<Value>>) {
        match answer {
            Value::Array(all) if !schema["items"].is_null() => {
                all.iter().for_each(|one| self.note(&schema["items"], one, seen));
            }
            Value::Object(all) if schema["additionalProperties"].is_object() => {
                all.values().for_each(|one| self.note(&schema["additionalProperties"], one, seen));
            }
            Value::Object(all) => {
                let inner = alternatives(schema).chain([schema]).find_map(name_of);
                let Some(name) = inner else { return };
                for (field, value) in all {
                    seen.entry(format!("{name}.{field}")).or_default().push(value.clone());
                    self.note(&self.named(name)["properties"][field], value, seen);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a schema lists its fields.
fn is_described(schema: &Value) -> bool {
    name_of(schema).is_some() || !schema["items"].is_null()
}

fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/components/schemas/"))
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|kind| schema[kind].as_array()).flatten()
}
