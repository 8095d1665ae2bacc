//! Formats values as TOML on one line.

use serde_json::Value;

/// Formats a value. Tables are written inline. TOML has no null, so keys without a value are omitted.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) if entries.is_empty() => "{}".into(),
        Value::Object(entries) => {
            let mut written: Vec<(&String, &Value)> =
                entries.iter().filter(|(_, value)| !value.is_null()).collect();
            // `kind` comes first.
            written.sort_by_key(|(key, _)| key.as_str() != "kind");
            let pairs = written.into_iter().map(|(key, value)| format!("{} = {}", name(key), inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Formats a key, with quotes if it needs them.
pub(super) fn name(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
    if is_bare { key.to_owned() } else { quoted(key) }
}

fn number_text(number: &serde_json::Number) -> String {
    let text = number.to_string();
    match number.as_f64().filter(|_| number.is_f64()) {
        // Small numbers are written as 1e-8, not as 1e-08 or 0.00000001.
        Some(value) if value != 0.0 && value.abs() < 1e-4 => format!("{value:e}"),
        _ => text,
    }
}

fn quoted(text: &str) -> String {
    let escape = |letter: char| match letter {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        letter if letter.is_control() => format!("\\u{:04X}", u32::from(letter)),
        letter => letter.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let value = json!({
            "kind": "a \"b\" \\ \n", "beta": 1e-8, "one": 1.0, "list": [1, 2], "a b": { "x": true }, "gone": null
        });
        let text = format!("value = {}", inline(&value));
        assert!(text.contains("{ kind = "), "{text}");
        let read: Value = toml::from_str(&text).unwrap();
        let mut expected = value;
        expected.as_object_mut().unwrap().remove("gone");
        assert_eq!(read["value"], expected);
    }
}
