//! What may stand in a task's description, as a tree that can be walked.

mod read;

use std::sync::LazyLock;

use serde_json::Value;

use super::schema;

/// What a value may be.
#[derive(Clone, Debug)]
pub enum Form {
    /// A text.
    Text,
    /// A population's name.
    Name,
    /// A whole number from 0 to this.
    Whole(u64),
    /// A number.
    Number,
    /// True or false.
    Truth,
    /// A list of values of one form.
    List(Box<Form>),
    /// A table whose keys are free.
    Map(Box<Form>),
    /// A table whose keys are known.
    Table(Table),
    /// A table whose keys depend on its `kind`.
    Kinds(Vec<Kind>),
    /// A word, or a table of one word with its value.
    Words(Vec<Word>),
    /// A value of one of several forms.
    Either(Vec<Form>),
}

/// A table whose keys are known: those that must be given, in their order, then the others by name.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The keys.
    pub keys: Vec<Key>,
}

/// A key, or the value that a word has.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// What it means.
    pub about: String,
    /// Whether it must be given.
    pub is_required: bool,
    /// What it is where nothing is said.
    pub default: Option<Value>,
    /// What it may be.
    pub example: Option<Value>,
    /// The limits of its value, in words.
    pub limits: Option<String>,
    /// Whether the value is refused outside of these numbers.
    pub range: Range,
    /// What its value is.
    pub form: Form,
}

/// The limits of a number, as the schema has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The smallest.
    pub minimum: Option<f64>,
    /// The largest.
    pub maximum: Option<f64>,
    /// What it must be above.
    pub above: Option<f64>,
    /// What it must be below.
    pub below: Option<f64>,
}

/// One `kind` of a choice.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The word.
    pub name: String,
    /// What it means.
    pub about: String,
    /// Its keys besides `kind`.
    pub table: Table,
}

/// One word of a choice.
#[derive(Clone, Debug)]
pub struct Word {
    /// The word.
    pub name: String,
    /// What it means.
    pub about: String,
    /// What must be given with it.
    pub content: Option<Box<Key>>,
}

impl Table {
    /// Returns the key of this name.
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Form {
    /// Returns what is expected, in words.
    pub fn expected(&self) -> String {
        match self {
            Self::Text | Self::Name => "a text in quotes".into(),
            Self::Whole(_) => "a whole number".into(),
            Self::Number => "a number".into(),
            Self::Truth => "true or false".into(),
            Self::List(_) => "a list".into(),
            Self::Map(_) | Self::Table(_) => "a table".into(),
            Self::Kinds(_) => "a table with a `kind`".into(),
            Self::Words(words) if words.iter().all(|word| word.content.is_none()) => {
                "a word in quotes".into()
            }
            Self::Words(words) if words.iter().all(|word| word.content.is_some()) => {
                "a table of one word with its value".into()
            }
            Self::Words(_) => "a word in quotes, or a table of one word".into(),
            Self::Either(forms) => forms.iter().map(Self::expected).collect::<Vec<_>>().join(", or "),
        }
    }
}

/// Returns the whole description's table.
pub fn task() -> &'static Table {
    static TASK: LazyLock<Table> = LazyLock::new(|| read::table(&schema::value()));
    &TASK
}

/// Lists every table of the description with its path; a kind's is `scheduling (buffered)`.
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
