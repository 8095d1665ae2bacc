//! The keys of a task description as a tree.

mod read;

use std::sync::LazyLock;

use serde_json::Value;

use super::schema;

/// The type of a value.
#[derive(Clone, Debug)]
pub enum Form {
    /// A string.
    Text,
    /// The name of a population.
    Name,
    /// A whole number from 0 to the given maximum.
    Whole(u64),
    /// A finite number.
    Number,
    /// True or false.
    Truth,
    /// A list with items of one form.
    List(Box<Form>),
    /// A table with arbitrary keys and values of one form.
    Map(Box<Form>),
    /// A table with known keys.
    Table(Table),
    /// A table whose keys depend on its `kind`.
    Kinds(Vec<Kind>),
    /// A choice of words. A word is a string, or a table with the word as its only key if the word takes a value.
    Words(Vec<Word>),
    /// A value of one of several forms.
    Either(Vec<Form>),
}

/// A table with known keys: first the required keys in the order of the schema, then the optional keys by name.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The keys.
    pub keys: Vec<Key>,
}

/// A key of a table, or the value of a word.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name of the key.
    pub name: String,
    /// The description of the key.
    pub about: String,
    /// True if the key must be set.
    pub is_required: bool,
    /// The default value.
    pub default: Option<Value>,
    /// An example value.
    pub example: Option<Value>,
    /// The limits of the key's value, in words.
    pub limits: Option<String>,
    /// The limits of a number. Values outside are rejected.
    pub range: Range,
    /// The type of the value.
    pub form: Form,
}

/// The limits of a number in the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The smallest allowed value.
    pub minimum: Option<f64>,
    /// The largest allowed value.
    pub maximum: Option<f64>,
    /// The exclusive lower limit.
    pub above: Option<f64>,
    /// The exclusive upper limit.
    pub below: Option<f64>,
}

/// One `kind` of a choice.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The value of `kind`.
    pub name: String,
    /// The description of the kind.
    pub about: String,
    /// The keys besides `kind`.
    pub table: Table,
}

/// One word of a choice.
#[derive(Clone, Debug)]
pub struct Word {
    /// The word.
    pub name: String,
    /// The description of the word.
    pub about: String,
    /// The value that the word takes, if any.
    pub content: Option<Box<Key>>,
}

impl Table {
    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Form {
    /// Describes the expected type in words.
    pub fn expected(&self) -> String {
        match self {
            Self::Text | Self::Name => "a string in quotes".into(),
            Self::Whole(_) => "a whole number".into(),
            Self::Number => "a number".into(),
            Self::Truth => "true or false".into(),
            Self::List(_) => "a list".into(),
            Self::Map(_) | Self::Table(_) => "a table".into(),
            Self::Kinds(_) => "a table with a `kind`".into(),
            Self::Words(words) if words.iter().all(|word| word.content.is_none()) => {
                "a string in quotes".into()
            }
            Self::Words(words) if words.iter().all(|word| word.content.is_some()) => {
                "a table with one key".into()
            }
            Self::Words(_) => "a string in quotes, or a table with one key".into(),
            Self::Either(forms) => {
                let mut kinds: Vec<String> = forms.iter().map(Self::expected).collect();
                kinds.dedup();
                kinds.join(", or ")
            }
        }
    }
}

/// Returns the table of the whole task description.
pub fn task() -> &'static Table {
    static TASK: LazyLock<Table> = LazyLock::new(|| read::table(&schema::value()));
    &TASK
}

/// Lists every table of a task description with its path. The path of a kind is written `scheduling (buffered)`.
pub fn tables() -> Vec<(String, &'static Table)> {
    let mut found = Vec::new();
    collect(String::new(), task(), &mut found);
    found
}

fn collect(path: String, table: &'static Table, found: &mut Vec<(String, &'static Table)>) {
    found.push((path.clone(), table));
    for key in &table.keys {
        let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
        collect_form(path, &key.form, found);
    }
}

fn collect_form(path: String, form: &'static Form, found: &mut Vec<(String, &'static Table)>) {
    match form {
        Form::Table(table) => collect(path, table, found),
        Form::Kinds(kinds) => {
            kinds.iter().for_each(|kind| collect(format!("{path} ({})", kind.name), &kind.table, found));
        }
        Form::Words(words) => {
            for (word, content) in words.iter().filter_map(|word| Some((word, word.content.as_ref()?))) {
                collect_form(format!("{path}.{}", word.name), &content.form, found);
            }
        }
        Form::List(item) => collect_form(format!("{path}[]"), item, found),
        Form::Either(forms) => forms.iter().for_each(|form| collect_form(path.clone(), form, found)),
        Form::Map(item) => collect_form(format!("{path}.*"), item, found),
        Form::Text | Form::Name | Form::Whole(_) | Form::Number | Form::Truth => {}
    }
}
