//! A template of a task file: every key with its meaning, unit, limits and default.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    TaskFileError, check, sample,
    shape::{self, Form, Key, Kind, Table, Word},
    toml_text,
    variant::OF_PLAIN_MEANS,
};

mod text;

pub(super) use text::{meta, prose, sentence};

/// The sections in the order of the file. Keys outside of tables come first.
const SECTIONS: [&str; 14] = [
    "plan",
    "data",
    "eligibility",
    "selection",
    "scheduling",
    "aggregator",
    "mixing",
    "bucketing",
    "finalizer",
    "privacy",
    "evaluation",
    "traffic",
    "grid",
    "stop",
];

/// The kind of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationKind {
    /// The coordinator evaluates on the operator's own examples.
    Central,
    /// Clients evaluate, in separate rounds.
    Federated,
}

/// The choices of a template. `None` means the default.
#[derive(Clone, Debug, Default)]
pub struct TemplateChoices {
    /// The `kind` of `[scheduling]`; `synchronous` by default.
    pub scheduling: Option<String>,
    /// The `kind` of `[aggregator]`.
    pub aggregator: Option<String>,
    /// The `kind` of `[finalizer]`.
    pub finalizer: Option<String>,
    /// The `kind` of `[selection]`.
    pub selection: Option<String>,
    /// The kind of evaluation; none by default.
    pub evaluation: Option<EvaluationKind>,
}

/// Lists the kinds of a section: `kinds("scheduling")`.
pub fn kinds(section: &str) -> Vec<&'static str> {
    match shape::task().key(section).map(|key| &key.form) {
        Some(Form::Kinds(kinds)) => kinds.iter().map(|kind| kind.name.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the text of a template. A line that begins with `#` and no space is a key that can be enabled.
///
/// # Errors
/// [`TaskFileError`] lists why the choices cannot be combined.
pub fn template(choices: &TemplateChoices) -> Result<String, TaskFileError> {
    let finalizer = choices.finalizer.as_deref().unwrap_or_default();
    if choices.aggregator.is_none() && OF_PLAIN_MEANS.contains(&finalizer) {
        return template(&TemplateChoices { aggregator: Some("weighted_mean".into()), ..choices.clone() });
    }
    let mut writer = Writer { choices, set: vec![("stop.rounds", json!(100))], lines: Vec::new() };
    if choices.evaluation == Some(EvaluationKind::Central) {
        writer.set.push(("evaluation.central", json!(true)));
    }
    let path = Path::new("task.toml");
    let text = writer.write();
    match check::read(path, &text) {
        Ok(_) => Ok(text),
        Err(error) if error.faults.iter().any(|fault| fault.field == "scheduling.staleness.weight") => {
            // An aggregator without weights needs a staleness weight that is constant.
            writer.set.push(("scheduling.staleness.weight", json!({ "kind": "constant" })));
            let text = writer.write();
            check::read(path, &text).map(|_| text)
        }
        Err(error) => Err(error),
    }
}

struct Writer<'a> {
    choices: &'a TemplateChoices,
    /// The keys to enable in addition to the required keys, with their values.
    set: Vec<(&'static str, Value)>,
    lines: Vec<String>,
}

impl Writer<'_> {
    fn write(&mut self) -> String {
        self.lines = vec![
            "# A task. Validate it with `folkmoot task check`; `folkmoot task explain` describes what it does.".into(),
            "# A line that begins with # and no space is a key with its default or an example. Remove the # to set it.".into(),
        ];
        let task = shape::task();
        for key in task.keys.iter().filter(|key| !is_section(&key.name, &key.form)) {
            self.key("", key, true);
        }
        for key in SECTIONS.iter().filter_map(|name| task.key(name)) {
            let is_on = match key.name.as_str() {
                "data" | "mixing" | "bucketing" => false,
                "evaluation" => self.choices.evaluation.is_some(),
                _ => true,
            };
            self.section(&key.name, key, is_on);
        }
        self.lines.join("\n") + "\n"
    }

    fn section(&mut self, path: &str, key: &Key, is_on: bool) {
        self.lines.push(String::new());
        self.lines.extend(prose("# ", &key.about));
        self.line(is_on, format!("[{path}]"));
        match &key.form {
            Form::Kinds(kinds) => {
                let chosen = self.chosen(&key.name, key, kinds);
                self.kind_lines(kinds, chosen);
                self.line(is_on, format!("kind = {}", toml_text::inline(&json!(chosen.name))));
                self.table(path, &chosen.table, is_on);
            }
            Form::Table(table) => self.table(path, table, is_on),
            _ => {}
        }
    }

    fn chosen<'k>(&self, section: &str, key: &Key, kinds: &'k [Kind]) -> &'k Kind {
        let asked = match section {
            "scheduling" => &self.choices.scheduling,
            "aggregator" => &self.choices.aggregator,
            "finalizer" => &self.choices.finalizer,
            "selection" => &self.choices.selection,
            _ => &None,
        };
        let default = key.default.as_ref().and_then(|default| default["kind"].as_str());
        let name = asked.as_deref().or(default);
        kinds.iter().find(|kind| Some(kind.name.as_str()) == name).unwrap_or(&kinds[0])
    }

    /// Lists the kinds that can be chosen.
    fn kind_lines(&mut self, kinds: &[Kind], chosen: &Kind) {
        self.lines.push("# One of:".into());
        for kind in kinds {
            let here = if kind.name == chosen.name { " (this one)" } else { "" };
            let needs: Vec<&str> =
                kind.table.keys.iter().filter(|key| key.is_required).map(|key| key.name.as_str()).collect();
            let needs = match needs.as_slice() {
                [] => String::new(),
                needs => format!(" Required: {}.", needs.join(", ")),
            };
            let text = format!("\"{}\"{here}: {}{needs}", kind.name, kind.about.trim());
            self.lines.extend(prose("#   ", &text));
        }
    }

    fn table(&mut self, path: &str, table: &Table, is_on: bool) {
        let path_of = |key: &Key| format!("{path}.{}", key.name);
        let (sections, keys): (Vec<&Key>, Vec<&Key>) =
            table.keys.iter().partition(|key| is_section(&path_of(key), &key.form));
        keys.into_iter().for_each(|key| self.key(path, key, is_on));
        for key in sections {
            let path = path_of(key);
            let is_set =
                |set: &str| set.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('.'));
            let is_asked = path == "evaluation.federated"
                && self.choices.evaluation == Some(EvaluationKind::Federated)
                || self.set.iter().any(|(set, _)| is_set(set));
            self.section(&path, key, is_on && (key.is_required || is_asked));
        }
    }

    fn key(&mut self, path: &str, key: &Key, is_on: bool) {
        let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
        let set = self.set.iter().find(|(set, _)| *set == path).map(|(_, value)| value.clone());
        self.lines.push(String::new());
        self.lines.extend(prose("# ", &key.about));
        self.lines.extend(meta(key).map(|line| format!("# {line}")));
        match &key.form {
            Form::Words(words) => self.words(words),
            Form::Kinds(kinds) => {
                for kind in kinds {
                    let value = sample::of_form(&Form::Kinds(vec![kind.clone()]), 0);
                    let text = format!("{}: {}", toml_text::inline(&value), sentence(&kind.about));
                    self.lines.extend(prose("#   ", &text));
                }
            }
            _ => {}
        }
        let value = set.clone().or_else(|| shown(key)).unwrap_or_else(|| sample::of_key(key, 0));
        let name = toml_text::name(&key.name);
        self.line(
            is_on && (key.is_required || set.is_some()),
            format!("{name} = {}", toml_text::inline(&value)),
        );
    }

    fn words(&mut self, words: &[Word]) {
        for word in words {
            let value = sample::of_form(&Form::Words(vec![word.clone()]), 0);
            let text = format!("{}: {}", toml_text::inline(&value), sentence(&word.about));
            self.lines.extend(prose("#   ", &text));
        }
    }

    fn line(&mut self, is_on: bool, text: String) {
        self.lines.push(if is_on { text } else { format!("#{text}") });
    }
}

/// Returns the value to show for a key: its default unless that is empty, and its example otherwise.
fn shown(key: &Key) -> Option<Value> {
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    };
    key.default
        .clone()
        .filter(|default| !key.is_required && !is_empty(default))
        .or_else(|| key.example.clone())
}

/// Returns whether a key gets a section of its own. Tables do, and so do the choices listed in [`SECTIONS`], which have
/// many keys. Other values are written inline.
fn is_section(path: &str, form: &Form) -> bool {
    match form {
        Form::Table(_) => true,
        Form::Kinds(_) => SECTIONS.contains(&path),
        _ => false,
    }
}
