//! Compares a file with the schema. It lists the faults and fills gaps with sample values, so that the rest can be
//! checked too.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use folkmoot_protocol::PopulationName;
use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    complaint::Complaint,
    sample,
    shape::{self, Form},
    toml_text,
};

/// The keys on lines that are not valid TOML.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// The keys that could be recognised.
    pub keys: BTreeSet<String>,
    /// True if any key may be among them.
    pub is_all: bool,
}

impl Lost {
    pub fn may_have(&self, key: &str) -> bool {
        self.is_all || self.keys.contains(key)
    }
}

/// Compares one file with the schema, and collects its faults and the positions of its keys.
pub(super) struct Walk<'a> {
    /// The variant of the sample values that replace missing and unreadable values.
    pub variant: usize,
    /// The keys that must not be reported as missing.
    pub lost: &'a Lost,
    /// The faults found so far.
    pub complaints: Vec<Complaint>,
    /// The position of each key.
    pub places: BTreeMap<String, Range<usize>>,
}

impl<'a> Walk<'a> {
    /// Reads a whole file and returns it as a value that conforms to the schema.
    pub fn run(root: &DeTable<'_>, variant: usize, lost: &'a Lost) -> (Self, Value) {
        let mut walk = Self { variant, lost, complaints: Vec::new(), places: BTreeMap::new() };
        let entries: Vec<_> = root.iter().collect();
        let value = walk.table(shape::task(), &[], "", 0..0, &entries);
        (walk, value)
    }

    pub fn complain(&mut self, span: Range<usize>, field: &str, message: String, remedy: String) {
        self.complaints.push(Complaint { span, field: field.to_owned(), message, remedy });
    }

    /// Reads a value. If the value cannot be read, records a fault and returns `None`.
    pub fn form(
        &mut self,
        form: &Form,
        path: &str,
        at: &Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        match (form, value.get_ref()) {
            (Form::Text, DeValue::String(text)) => Some(Value::from(text.as_ref())),
            (Form::Name, DeValue::String(text)) => self.name(path, value.span(), text),
            (Form::Truth, DeValue::Boolean(truth)) => Some(Value::from(*truth)),
            (Form::Whole(max), DeValue::Integer(number)) => {
                let read = i128::from_str_radix(&plain(number.as_str()), number.radix()).ok();
                let whole = read.and_then(|read| u64::try_from(read).ok()).filter(|read| read <= max);
                if whole.is_none() {
                    let message = format!("it is {}", number.as_str());
                    self.complain(value.span(), path, message, format!("it must be 0 to {max}"));
                }
                whole.map(Value::from)
            }
            (Form::Number, DeValue::Integer(number)) => {
                let read = i128::from_str_radix(&plain(number.as_str()), number.radix()).ok();
                self.number(path, value.span(), read.map(|read| read as f64), number.as_str())
            }
            (Form::Number, DeValue::Float(number)) => {
                self.number(path, value.span(), plain(number.as_str()).parse().ok(), number.as_str())
            }
            (Form::List(item), DeValue::Array(items)) => {
                let read: Vec<Option<Value>> = (0..)
                    .zip(items.iter())
                    .map(|(place, value)| {
                        let path = format!("{path}[{place}]");
                        self.places.insert(path.clone(), value.span());
                        self.form(item, &path, &value.span(), value)
                    })
                    .collect();
                // A list with an unreadable item is unreadable as a whole.
                read.into_iter().collect::<Option<Vec<Value>>>().map(Value::from)
            }
            (Form::Map(item), DeValue::Table(entries)) => {
                let mut read = serde_json::Map::new();
                for (key, value) in entries {
                    let path = format!("{path}.{}", key.get_ref());
                    self.places.insert(path.clone(), value.span());
                    if let Some(value) = self.form(item, &path, &key.span(), value) {
                        read.insert(key.get_ref().to_string(), value);
                    }
                }
                Some(Value::Object(read))
            }
            (Form::Table(table), DeValue::Table(entries)) => {
                let entries: Vec<_> = entries.iter().collect();
                Some(self.table(table, &[], path, at.clone(), &entries))
            }
            (Form::Kinds(kinds), DeValue::Table(entries)) => self.kinds(kinds, path, at, entries),
            (Form::Words(words), DeValue::String(word)) => self.word(words, path, value.span(), word),
            (Form::Words(words), DeValue::Table(entries)) => self.word_table(words, path, at, entries),
            (Form::Either(forms), given) => {
                // Among forms with the same number of the given keys, the first one wins.
                let taking = forms.iter().rev().filter(|form| takes(form, given));
                match taking.max_by_key(|form| known_keys(form, given)) {
                    Some(form) => self.form(form, path, at, value),
                    None => self.wrong(form, path, value),
                }
            }
            _ => self.wrong(form, path, value),
        }
    }

    fn name(&mut self, path: &str, span: Range<usize>, text: &str) -> Option<Value> {
        match text.parse::<PopulationName>() {
            Ok(_) => Some(Value::from(text)),
            Err(error) => {
                let remedy = "use 1 to 64 of the characters a-z, 0-9 and -, beginning with a letter".into();
                self.complain(span, path, error.to_string(), remedy);
                None
            }
        }
    }

    fn number(
        &mut self,
        path: &str,
        span: Range<usize>,
        number: Option<f64>,
        written: &str,
    ) -> Option<Value> {
        let finite = number.filter(|number| number.is_finite());
        if finite.is_none() {
            self.complain(span, path, format!("it is {written}"), "it must be a finite number".into());
        }
        finite.map(Value::from)
    }

    /// Records that a value has the wrong type.
    fn wrong(&mut self, form: &Form, path: &str, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let message = format!("this is {}; expected {}", described(value.get_ref()), form.expected());
        self.complain(value.span(), path, message, remedy(form, value.get_ref()));
        None
    }
}

/// Returns the remedy for a value of the wrong type.
fn remedy(form: &Form, value: &DeValue<'_>) -> String {
    match (form, value) {
        (Form::Whole(_), DeValue::Float(number)) => match plain(number.as_str()).parse::<f64>() {
            Ok(float) if float >= 0.0 && float.fract() == 0.0 && float < 1e15 => format!("write {float}"),
            _ => "write a whole number, without a decimal point".into(),
        },
        (Form::Whole(_) | Form::Number, DeValue::String(text)) if text.trim().parse::<f64>().is_ok() => {
            format!("remove the quotes: {}", text.trim())
        }
        (Form::Truth, DeValue::String(text)) if matches!(text.as_ref(), "true" | "false") => {
            format!("remove the quotes: {text}")
        }
        (Form::Text | Form::Name, DeValue::Integer(number)) => format!("put it in quotes: \"{number}\""),
        (Form::Kinds(kinds), DeValue::String(word)) if kinds.iter().any(|kind| kind.name == **word) => {
            let kind = kinds.iter().filter(|kind| kind.name == **word).cloned().collect();
            format!("write {}", toml_text::inline(&sample::of_form(&Form::Kinds(kind), 0)))
        }
        (Form::List(item), given) if takes(item, given) => "put it in brackets: [ … ]".into(),
        _ => format!("write a value such as {}", toml_text::inline(&sample::of_form(form, 0))),
    }
}

/// Returns whether a value has the type of a form.
fn takes(form: &Form, value: &DeValue<'_>) -> bool {
    match form {
        Form::Text | Form::Name => matches!(value, DeValue::String(_)),
        Form::Whole(_) => matches!(value, DeValue::Integer(_)),
        Form::Number => matches!(value, DeValue::Integer(_) | DeValue::Float(_)),
        Form::Truth => matches!(value, DeValue::Boolean(_)),
        Form::List(_) => matches!(value, DeValue::Array(_)),
        Form::Map(_) | Form::Table(_) | Form::Kinds(_) => matches!(value, DeValue::Table(_)),
        Form::Words(_) => matches!(value, DeValue::String(_) | DeValue::Table(_)),
        Form::Either(forms) => forms.iter().any(|form| takes(form, value)),
    }
}

/// Returns how many keys of a table a form has.
fn known_keys(form: &Form, value: &DeValue<'_>) -> usize {
    match (form, value) {
        (Form::Table(table), DeValue::Table(entries)) => {
            entries.iter().filter(|(name, _)| table.key(name.get_ref()).is_some()).count()
        }
        (Form::Either(forms), _) => forms.iter().map(|form| known_keys(form, value)).max().unwrap_or(0),
        _ => 0,
    }
}

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a decimal point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Removes underscores: TOML allows 1_000_000.
fn plain(number: &str) -> String {
    number.replace('_', "")
}
