//! Compares a file with the shape of a description: it lists what is wrong, and fills the gaps, so that what is right
//! can be looked at too.

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

/// What stands on lines that cannot be read.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Keys that do.
    pub keys: BTreeSet<String>,
    /// Whether anything may.
    pub is_all: bool,
}

impl Lost {
    pub fn may_have(&self, key: &str) -> bool {
        self.is_all || self.keys.contains(key)
    }
}

/// What was read of a file.
pub(super) struct Walk<'a> {
    /// Which values stand in the gaps.
    pub variant: usize,
    /// What is not missing although it is not there.
    pub lost: &'a Lost,
    /// What is wrong.
    pub complaints: Vec<Complaint>,
    /// Where each key is.
    pub places: BTreeMap<String, Range<usize>>,
}

impl<'a> Walk<'a> {
    /// Reads a whole file, and returns it as a value that has the description's shape.
    pub fn run(root: &DeTable<'_>, variant: usize, lost: &'a Lost) -> (Self, Value) {
        let mut walk = Self { variant, lost, complaints: Vec::new(), places: BTreeMap::new() };
        let entries: Vec<_> = root.iter().collect();
        let value = walk.table(shape::task(), &[], "", 0..0, &entries);
        (walk, value)
    }

    pub fn complain(&mut self, span: Range<usize>, field: &str, message: String, remedy: String) {
        self.complaints.push(Complaint { span, field: field.to_owned(), message, remedy });
    }

    /// Reads a value. `None` if it cannot be read, which has been said then.
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
                // Without one of its items the list would be another list.
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
            (Form::Either(forms), given) => match forms.iter().find(|form| takes(form, given)) {
                Some(form) => self.form(form, path, at, value),
                None => self.wrong(form, path, value),
            },
            _ => self.wrong(form, path, value),
        }
    }

    fn name(&mut self, path: &str, span: Range<usize>, text: &str) -> Option<Value> {
        match text.parse::<PopulationName>() {
            Ok(_) => Some(Value::from(text)),
            Err(error) => {
                let remedy = "take 1 to 64 of a-z, 0-9 and -, beginning with a letter".into();
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

    /// Says that a value is of another type.
    fn wrong(&mut self, form: &Form, path: &str, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let message = format!("this is {}, and {} is expected", described(value.get_ref()), form.expected());
        self.complain(value.span(), path, message, remedy(form, value.get_ref()));
        None
    }
}

/// Says what to write instead of a value of another type.
fn remedy(form: &Form, value: &DeValue<'_>) -> String {
    match (form, value) {
        (Form::Whole(_), DeValue::Float(number)) => match plain(number.as_str()).parse::<f64>() {
            Ok(float) if float >= 0.0 && float.fract() == 0.0 && float < 1e15 => format!("write {float}"),
            _ => "write a number without a point".into(),
        },
        (Form::Whole(_) | Form::Number, DeValue::String(text)) if text.trim().parse::<f64>().is_ok() => {
            format!("leave out the quotes: {}", text.trim())
        }
        (Form::Truth, DeValue::String(text)) if matches!(text.as_ref(), "true" | "false") => {
            format!("leave out the quotes: {text}")
        }
        (Form::Text | Form::Name, DeValue::Integer(number)) => format!("put it in quotes: \"{number}\""),
        (Form::Kinds(kinds), DeValue::String(word)) if kinds.iter().any(|kind| kind.name == **word) => {
            let kind = kinds.iter().filter(|kind| kind.name == **word).cloned().collect();
            format!("write {}", toml_text::inline(&sample::of_form(&Form::Kinds(kind), 0)))
        }
        (Form::List(item), given) if takes(item, given) => "put it in brackets: [ … ]".into(),
        _ => format!("for example {}", toml_text::inline(&sample::of_form(form, 0))),
    }
}

/// Says whether a value is of the type that a form takes.
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

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Numbers may be written 1_000_000.
fn plain(number: &str) -> String {
    number.replace('_', "")
}
