//! Builds the tree of keys from the JSON Schema.

use serde_json::Value;

use super::{Form, Key, Kind, Range, Table, Word};

/// The largest whole number in TOML, whose integers are signed 64-bit numbers.
const WHOLE_MAX: u64 = i64::MAX as u64;

/// Returns the table that a root schema describes.
///
/// # Panics
/// Panics if the schema has an unsupported construct. A test reads the whole schema.
pub fn table(root: &Value) -> Table {
    Reader { root }.table(root, &[])
}

struct Reader<'a> {
    root: &'a Value,
}

impl<'a> Reader<'a> {
    fn table(&self, schema: &'a Value, without: &[&str]) -> Table {
        let required: Vec<&str> = items(schema, "required").iter().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object();
        let rank = |name: &str| required.iter().position(|one| *one == name).unwrap_or(required.len());
        let mut names: Vec<&String> = properties.map(|all| all.keys().collect()).unwrap_or_default();
        names.retain(|name| !without.contains(&name.as_str()));
        names.sort_by_key(|name| (rank(name), name.as_str()));
        let key =
            |name: &String| self.key(name, &schema["properties"][name], required.contains(&name.as_str()));
        Table { keys: names.into_iter().map(key).collect() }
    }

    fn key(&self, name: &str, schema: &'a Value, is_required: bool) -> Key {
        let (form, range) = (self.form(schema), range(schema));
        let own = schema["description"].as_str();
        Key {
            name: name.to_owned(),
            about: own.or(self.resolved(schema)["description"].as_str()).unwrap_or_default().to_owned(),
            is_required,
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            example: items(schema, "examples").first().cloned(),
            limits: limits(schema, &form, range),
            range,
            form,
        }
    }

    /// Follows references, including references of optional values.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        if let Some(path) = schema["$ref"].as_str() {
            let target = path.strip_prefix('#').and_then(|path| self.root.pointer(path));
            return self.resolved(target.expect("the schema's references lead to its definitions"));
        }
        let options: Vec<&Value> =
            items(schema, "anyOf").iter().filter(|option| option["type"] != "null").collect();
        match options.as_slice() {
            [only] => self.resolved(only),
            _ => schema,
        }
    }

    fn form(&self, schema: &'a Value) -> Form {
        let schema = self.resolved(schema);
        let (choices, options) = (items(schema, "oneOf"), items(schema, "anyOf"));
        if choices.iter().any(|choice| !choice["properties"]["kind"]["const"].is_null()) {
            return Form::Kinds(choices.iter().map(|choice| self.kind(choice)).collect());
        } else if !choices.is_empty() {
            return Form::Words(choices.iter().map(|choice| self.word(choice)).collect());
        } else if !options.is_empty() {
            return Form::Either(options.iter().map(|option| self.form(option)).collect());
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().find_map(|one| one.as_str().filter(|one| *one != "null")),
            one => one.as_str(),
        };
        match types {
            Some("string") if schema.get("pattern").is_some() => Form::Name,
            Some("string") => Form::Text,
            Some("integer") => Form::Whole(match schema["format"].as_str() {
                Some("uint32") => u32::MAX.into(),
                _ => WHOLE_MAX,
            }),
            Some("number") => Form::Number,
            Some("boolean") => Form::Truth,
            Some("array") => Form::List(Box::new(self.form(&schema["items"]))),
            Some("object") if schema.get("properties").is_some() => Form::Table(self.table(schema, &[])),
            Some("object") => Form::Map(Box::new(self.form(&schema["additionalProperties"]))),
            _ => panic!("a form that is not known: {schema}"),
        }
    }

    fn kind(&self, choice: &'a Value) -> Kind {
        Kind {
            name: choice["properties"]["kind"]["const"].as_str().unwrap_or_default().to_owned(),
            about: choice["description"].as_str().unwrap_or_default().to_owned(),
            table: self.table(choice, &["kind"]),
        }
    }

    fn word(&self, choice: &'a Value) -> Word {
        let about = choice["description"].as_str().unwrap_or_default().to_owned();
        if let Some(name) = choice["const"].as_str() {
            return Word { name: name.to_owned(), about, content: None };
        }
        let (name, schema) = choice["properties"]
            .as_object()
            .and_then(|properties| properties.iter().next())
            .expect("a word that is no constant has one property");
        let content = Some(Box::new(self.key(name, schema, true)));
        Word { name: name.clone(), about, content }
    }
}

fn items<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn range(schema: &Value) -> Range {
    let number = |name: &str| schema[name].as_f64();
    Range {
        minimum: number("minimum"),
        maximum: number("maximum"),
        above: number("exclusiveMinimum"),
        below: number("exclusiveMaximum"),
    }
}

/// Describes the limits of a value in words, if the schema has any.
fn limits(schema: &Value, form: &Form, range: Range) -> Option<String> {
    let whole = |name: &str| schema[name].as_u64();
    let (unit, fewest, most) = match form {
        Form::Text => ("bytes", whole("minLength"), whole("maxLength")),
        Form::List(_) => ("items", whole("minItems"), whole("maxItems")),
        Form::Name => {
            return Some("1 to 64 of the characters a-z, 0-9 and -, beginning with a letter".into());
        }
        _ => return range.words(matches!(form, Form::Whole(_))),
    };
    match (fewest, most) {
        (Some(fewest), Some(most)) => Some(format!("{fewest} to {most} {unit}")),
        (None, Some(most)) => Some(format!("at most {most} {unit}")),
        (Some(1), None) => Some(format!("at least 1 {}", unit.trim_end_matches('s'))),
        (Some(fewest), None) => Some(format!("at least {fewest} {unit}")),
        (None, None) => None,
    }
}

impl Range {
    /// Describes the range in words; `None` if there are no limits. For whole numbers, a lower limit of 0 is not
    /// mentioned.
    fn words(&self, is_whole: bool) -> Option<String> {
        let minimum = self.minimum.filter(|minimum| !(is_whole && *minimum == 0.0));
        match (minimum, self.above, self.maximum, self.below) {
            (Some(minimum), _, Some(maximum), _) => Some(format!("{minimum} to {maximum}")),
            (Some(minimum), _, _, Some(below)) => Some(format!("{minimum} or above, and below {below}")),
            (Some(minimum), ..) => Some(format!("{minimum} or more")),
            (None, Some(above), Some(maximum), _) => Some(format!("above {above}, at most {maximum}")),
            (None, Some(above), None, Some(below)) => Some(format!("above {above}, and below {below}")),
            (None, Some(above), ..) => Some(format!("above {above}")),
            (None, None, Some(maximum), _) => Some(format!("at most {maximum}")),
            (None, None, None, Some(below)) => Some(format!("below {below}")),
            (None, None, None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, task};

    #[test]
    fn the_whole_description_can_be_read() {
        let names: Vec<&str> = task().keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names[..5], ["name", "population", "plan", "scheduling", "stop"]);
        assert!(names.contains(&"evaluation"), "{names:?}");
        let Form::Kinds(kinds) = &task().key("scheduling").unwrap().form else { panic!("a choice") };
        assert_eq!(kinds.len(), 8);
        let clocked = kinds.iter().find(|kind| kind.name == "stale_synchronous").unwrap();
        assert!(clocked.table.key("bound").is_some());
        let Form::Table(plan) = &task().key("plan").unwrap().form else { panic!("a table") };
        let epochs = plan.key("epochs").unwrap();
        assert!(epochs.is_required);
        assert_eq!(epochs.limits.as_deref(), Some("1 or more"));
        assert!(epochs.about.starts_with("Passes over the local examples"), "{}", epochs.about);
        let Form::Words(losses) = &plan.key("loss").unwrap().form else { panic!("words") };
        assert!(losses.iter().any(|word| word.name == "huber" && word.content.is_some()));
    }
}
