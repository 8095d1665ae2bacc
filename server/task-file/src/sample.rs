//! Sample values for keys that are missing or cannot be read.

use folkmoot_protocol::saturating::to_whole;
use serde_json::{Map, Value};

use super::shape::{Form, Key, Table};

/// The number of sample values that are tried for each unreadable value.
pub(super) const VARIANTS: usize = 3;

/// Returns a sample value for a key. Variant 0 is the key's example or default; the other variants are other values.
///
/// A fault is reported only if it occurs with every variant of the unreadable values. The variants therefore differ as
/// much as possible.
pub(super) fn of_key(key: &Key, variant: usize) -> Value {
    if variant == 0 {
        let given = key.example.as_ref().or(key.default.as_ref());
        return given.cloned().unwrap_or_else(|| of_form(&key.form, 0));
    }
    match &key.form {
        Form::Whole(max) => {
            let number = if variant == 1 { 1.0 } else { (*max as f64).min(1000.0) };
            let least = key.range.minimum.unwrap_or(0.0);
            Value::from(to_whole(number.clamp(least, key.range.maximum.unwrap_or(1000.0).max(least))))
        }
        Form::Number => {
            let low = key.range.minimum.or(key.range.above).unwrap_or(0.0);
            let high = key.range.maximum.or(key.range.below).unwrap_or(low + 100.0);
            Value::from(low + (high - low) * if variant == 1 { 0.1 } else { 0.9 })
        }
        form => of_form(form, variant),
    }
}

/// Returns a sample value of the given form. Other variants give other values if the form has several.
pub(super) fn of_form(form: &Form, variant: usize) -> Value {
    match form {
        Form::Text | Form::Name => Value::from(["a", "b", "c"][variant % VARIANTS]),
        Form::Whole(_) => Value::from([10, 1, 1000][variant % VARIANTS]),
        Form::Number => Value::from([0.1, 0.01, 10.0][variant % VARIANTS]),
        Form::Truth => Value::from(variant % 2 == 1),
        Form::List(item) => Value::from(vec![of_form(item, variant)]),
        Form::Map(_) => Value::Object(Map::new()),
        Form::Table(table) => of_table(table, variant),
        Form::Kinds(kinds) => {
            let kind = &kinds[variant % kinds.len()];
            let mut value = of_table(&kind.table, variant);
            value["kind"] = Value::from(kind.name.as_str());
            value
        }
        Form::Words(words) => {
            let word = &words[variant % words.len()];
            match &word.content {
                None => Value::from(word.name.as_str()),
                Some(content) => {
                    Value::Object(Map::from_iter([(word.name.clone(), of_key(content, variant))]))
                }
            }
        }
        Form::Either(forms) => forms.first().map_or(Value::Null, |form| of_form(form, variant)),
    }
}

/// Returns a table with a sample value for each of its required keys.
fn of_table(table: &Table, variant: usize) -> Value {
    let required = table.keys.iter().filter(|key| key.is_required);
    Value::Object(required.map(|key| (key.name.clone(), of_key(key, variant))).collect())
}
