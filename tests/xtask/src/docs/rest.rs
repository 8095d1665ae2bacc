//! Writes the reference of the REST API from its OpenAPI document: a page for each tag, and one for all types.

use crate::workspace::{self, Failure, read};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The operations of a tag: path, method and description.
type Operations<'a> = Vec<(&'a str, &'a str, &'a Value)>;

/// Writes the pages for the OpenAPI document `document` into a folder.
///
/// # Errors
/// Fails if the document cannot be read or a page cannot be written.
pub fn write(document: &Path, folder: &Path) -> Result<(), Failure> {
    let api: Value = serde_json::from_str(&read(document)?)
        .map_err(|error| Failure(format!("{}: {error}", document.display())))?;
    let tags = by_tag(&api);
    for (tag, operations) in &tags {
        workspace::write(&folder.join(file_name(tag)), page(tag, operations))?;
    }
    workspace::write(&folder.join("types.md"), types(&api))?;
    workspace::write(&folder.join("index.md"), index(&api, &tags))
}

/// Returns the entries of a JSON object, or none.
fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn by_tag(api: &Value) -> BTreeMap<&str, Operations<'_>> {
    let mut tags: BTreeMap<&str, Operations<'_>> = BTreeMap::new();
    for (path, methods) in entries(&api["paths"]) {
        for (method, operation) in entries(methods) {
            tags.entry(operation["tags"][0].as_str().unwrap_or("other"))
                .or_default()
                .push((path, method, operation));
        }
    }
    tags
}

fn index(api: &Value, tags: &BTreeMap<&str, Operations<'_>>) -> String {
    let mut page = format!(
        "# REST API\n\n{} The pages come from \
         [`server/api/openapi.json`](https://github.com/folkmoot/folkmoot/blob/main/server/api/openapi.json); a running \
         coordinator serves the same document under `/openapi.json`. Errors have stable [codes](../errors.md), and all \
         other bodies are listed under [types](types.md).\n\n",
        text(&api["info"], "description")
    );
    for (tag, operations) in tags {
        let _ = write!(page, "## {}\n\n| endpoint | |\n|---|---|\n", title(tag));
        for (path, method, operation) in operations {
            let endpoint = endpoint(method, path);
            let link = format!("{}#{}", file_name(tag), anchor(&endpoint));
            let _ = writeln!(page, "| [`{endpoint}`]({link}) | {} |", cell(text(operation, "summary")));
        }
        page.push('\n');
    }
    page
}

fn page(tag: &str, operations: &Operations<'_>) -> String {
    let mut page = format!("# {}\n\n", title(tag));
    for (path, method, operation) in operations {
        let _ = write!(page, "## `{}`\n\n{}\n\n", endpoint(method, path), prose(text(operation, "summary")));
        if let Some(description) = operation["description"].as_str() {
            let _ = write!(page, "{}\n\n", prose(description));
        }
        let _ = write!(page, "**{}**\n\n", access(operation));
        add_parameters(operation, &mut page);
        if let Some(body) = content(&operation["requestBody"]) {
            let _ = write!(page, "Body: {body}\n\n");
        }
        for (status, response) in entries(&operation["responses"]) {
            let status = if status == "default" { "Otherwise" } else { status };
            let description = prose(text(response, "description"));
            let answer = content(response).unwrap_or_else(|| "no body".to_owned());
            let colon = if description.is_empty() { "" } else { ". " };
            let _ = writeln!(page, "- {status}: {answer}{colon}{description}");
        }
        page.push('\n');
    }
    page
}

fn add_parameters(operation: &Value, page: &mut String) {
    let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().collect();
    if parameters.is_empty() {
        return;
    }
    *page += "| parameter | in | type | meaning |\n|---|---|---|---|\n";
    for parameter in parameters {
        let optional = if parameter["required"] == true { "" } else { ", optional" };
        let _ = writeln!(
            page,
            "| `{}` | {}{optional} | {} | {} |",
            text(parameter, "name"),
            text(parameter, "in"),
            kind(&parameter["schema"]),
            cell(text(parameter, "description"))
        );
    }
    page.push('\n');
}

/// Says who may send a request.
fn access(operation: &Value) -> String {
    let schemes = operation["security"].as_array().into_iter().flatten().flat_map(entries);
    let who: Vec<String> = schemes
        .map(|(scheme, scopes)| match (scheme, scopes[0].as_str()) {
            ("client_signature", _) => "An enrolled client signs the request".to_owned(),
            (_, Some(role)) => format!("API key or session with at least the role {role}"),
            _ => "Any API key or session".to_owned(),
        })
        .collect();
    if who.is_empty() { "Without authentication".to_owned() } else { who.join(", or: ") }
}

/// Describes the body of a request or a response.
fn content(message: &Value) -> Option<String> {
    let kinds: Vec<String> = entries(&message["content"])
        .map(|(media, body)| match media {
            "application/json" | "application/problem+json" => kind(&body["schema"]),
            media => format!("`{media}`"),
        })
        .collect();
    (!kinds.is_empty()).then(|| kinds.join(" or "))
}

/// Returns the page of all types.
fn types(api: &Value) -> String {
    let mut page = "# Types of the REST API\n\nFields without \"optional\" are always there.\n\n".to_owned();
    for (name, schema) in entries(&api["components"]["schemas"]) {
        let _ = write!(page, "## {name}\n\n{}\n\n", prose(text(schema, "description")));
        match schema["properties"].as_object() {
            Some(fields) => add_fields(fields, schema, &mut page),
            None => {
                let _ = write!(page, "{}\n\n", kind(schema));
            }
        }
    }
    page
}

fn add_fields(fields: &Map<String, Value>, schema: &Value, page: &mut String) {
    *page += "| field | type | meaning |\n|---|---|---|\n";
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in fields {
        let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
        // The description of a field that may be null stands with its type.
        let mut nested = field["oneOf"].as_array().into_iter().flatten();
        let nested = nested.find_map(|schema| schema["description"].as_str()).unwrap_or_default();
        let meaning = field["description"].as_str().unwrap_or(nested);
        let _ = writeln!(page, "| `{name}` | {}{optional} | {} |", kind(field), cell(meaning));
    }
    page.push('\n');
}

/// Describes a type in a few words, with links to named types.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](types.md#{})", anchor(name));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{}`", plain(value))).collect::<Vec<_>>().join(" or ");
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(schemas) = schema[key].as_array() {
            return schemas.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) if name == "object" => object(schema),
        Value::String(name) => name.clone() + &limits(schema),
        Value::Array(names) => names.iter().map(plain).collect::<Vec<_>>().join(" or ") + &limits(schema),
        _ => "any value".to_owned(),
    }
}

/// Describes a nested object by its fields.
fn object(schema: &Value) -> String {
    let fields: Vec<String> =
        entries(&schema["properties"]).map(|(name, field)| format!("`{name}`: {}", kind(field))).collect();
    match (fields.is_empty(), &schema["additionalProperties"]) {
        (true, Value::Object(values)) => format!("object of {}", kind(&Value::Object(values.clone()))),
        (true, _) => "object".to_owned(),
        (false, _) => format!("object with {}", fields.join(", ")),
    }
}

fn limits(schema: &Value) -> String {
    let limit = |key: &str| schema[key].is_number().then(|| schema[key].to_string());
    match (limit("minimum"), limit("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) if least != "0" => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        _ => String::new(),
    }
}

/// Returns a JSON value as it is read: a text without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn endpoint(method: &str, path: &str) -> String {
    format!("{} {path}", method.to_uppercase())
}

/// Returns the anchor that mdBook gives to a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.to_lowercase();
    let letters = letters.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        letter => (letter.is_alphanumeric() || "-_".contains(letter)).then_some(letter),
    });
    letters.collect()
}

fn file_name(tag: &str) -> String {
    anchor(tag) + ".md"
}

/// Returns a tag as a title: `audit log` becomes `Audit log`.
fn title(tag: &str) -> String {
    let mut letters = tag.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Turns a doc comment into text: a link to Rust code becomes the name of its item.
fn prose(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((code, next)) = after.split_once("`]") else { break };
        let name = code.rsplit("::").next().unwrap_or(code);
        result += before;
        let _ = write!(result, "`{name}`");
        rest = next;
    }
    // Inside a code span, a backslash would be shown.
    let mut parts = (result + rest).split('`').map(str::to_owned).collect::<Vec<_>>();
    for part in parts.iter_mut().step_by(2) {
        *part = part.replace('<', "\\<");
    }
    parts.join("`")
}

/// Returns a text for a cell of a table.
pub fn cell(text: &str) -> String {
    prose(text).replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_described_with_links_and_limits() {
        let list = json!({"type": "array", "items": {"$ref": "#/components/schemas/TaskView"}});
        assert_eq!(kind(&list), "list of [TaskView](types.md#taskview)");
        assert_eq!(kind(&json!({"type": "integer", "minimum": 1, "maximum": 100})), "integer from 1 to 100");
        assert_eq!(kind(&json!({"type": ["integer", "null"], "minimum": 0})), "integer or null");
        assert_eq!(kind(&json!({"enum": ["a", "b"]})), "`a` or `b`");
    }

    #[test]
    fn an_operation_says_who_may_use_it() {
        assert_eq!(
            access(&json!({"security": [{"api_key": ["viewer"]}]})),
            "API key or session with at least the role viewer"
        );
        assert_eq!(access(&json!({})), "Without authentication");
    }

    #[test]
    fn links_to_code_become_names() {
        assert_eq!(
            cell("At most [`crate::limits::BYTES_MAX`]\nbytes | more"),
            "At most `BYTES_MAX` bytes \\| more"
        );
        assert_eq!(prose("A `Vec<u8>` in <b>"), "A `Vec<u8>` in \\<b>");
        assert_eq!(anchor("GET /v1/admin/tasks/{id}"), "get-v1admintasksid");
    }
}
