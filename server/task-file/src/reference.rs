//! The reference page of all task keys.

use super::{
    shape::{self, Form, Key, Table},
    template::{meta, sentence},
    toml_text,
};

/// Returns the text of `docs/reference/task.md`.
pub fn reference() -> String {
    let mut page = Page(vec![
        "# The keys of a task".into(),
        "This page lists every key of a task file. `cargo xtask schema` generates it from the code, together with the \
         JSON Schema [`server/api/task.schema.json`](../../server/api/task.schema.json). `folkmoot task new` writes a \
         file with every key as a comment; [the guide](../guides/tasks.md) leads from there to a running task."
            .into(),
    ]);
    page.table("", "", shape::task(), 1);
    page.0.join("\n\n") + "\n"
}

struct Page(Vec<String>);

impl Page {
    fn table(&mut self, path: &str, about: &str, table: &Table, level: usize) {
        if !path.is_empty() {
            self.0.push(format!("{} `[{path}]`", "#".repeat(level.min(4))));
        }
        if !about.is_empty() {
            self.0.push(about.to_owned());
        }
        self.content(path, table, level);
    }

    fn content(&mut self, path: &str, table: &Table, level: usize) {
        self.keys(table);
        for key in &table.keys {
            let path = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
            match &key.form {
                Form::Table(inner) => self.table(&path, &key.about, inner, level + 1),
                Form::Kinds(_) => self.kinds(&path, key, level + 1),
                Form::Either(_) => {
                    for (number, inner) in alternatives(&key.form).into_iter().enumerate() {
                        if number == 0 {
                            self.table(&path, &key.about, inner, level + 1);
                        } else {
                            self.0.push("Or:".into());
                            self.content(&path, inner, level + 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn kinds(&mut self, path: &str, key: &Key, level: usize) {
        let Form::Kinds(kinds) = &key.form else { return };
        self.0.push(format!("{} `[{path}]`", "#".repeat(level.min(4))));
        let default = key.default.as_ref().and_then(|default| default["kind"].as_str());
        let default = default.map(|default| format!(" The default is `{default}`.")).unwrap_or_default();
        self.0.push(format!("{} Set `kind` to one of the following.{default}", key.about));
        for kind in kinds {
            self.0.push(format!("**`kind = \"{}\"`**: {}", kind.name, kind.about));
            self.keys(&kind.table);
            for inner in &kind.table.keys {
                let path = format!("{path}.{}", inner.name);
                // A table that several kinds share is described once, with the first kind.
                let is_new = !self.0.iter().any(|line| line.ends_with(&format!("`[{path}]`")));
                match &inner.form {
                    Form::Table(table) if is_new => self.table(&path, &inner.about, table, level + 1),
                    Form::Kinds(_) if is_new => self.kinds(&path, inner, level + 1),
                    _ => {}
                }
            }
        }
    }

    fn keys(&mut self, table: &Table) {
        let items: Vec<String> = table.keys.iter().map(item).collect();
        if !items.is_empty() {
            self.0.push(items.join("\n"));
        }
    }
}

/// Returns the tables that a value may be.
fn alternatives(form: &Form) -> Vec<&Table> {
    match form {
        Form::Table(table) => vec![table],
        Form::Either(forms) => forms.iter().flat_map(alternatives).collect(),
        _ => Vec::new(),
    }
}

fn item(key: &Key) -> String {
    let about = key.about.replace("\n\n", " ");
    let mut lines = vec![format!("- `{}`: {} *{}*", key.name, about, meta(key).unwrap_or_default())];
    lines.extend(words(&key.form));
    lines.join("\n")
}

/// Lists the values of a choice, and the keys of each value.
fn words(form: &Form) -> Vec<String> {
    let words = match form {
        Form::Words(words) => words,
        Form::List(item) => return inner_keys(item),
        _ => return Vec::new(),
    };
    let line = |word: &shape::Word| {
        let keys = match word.content.as_deref() {
            Some(Key { form: Form::Table(table), .. }) => {
                format!(" Keys: {}.", table.keys.iter().map(short).collect::<Vec<_>>().join("; "))
            }
            Some(content) => {
                let limits = content.limits.as_ref().map(|limits| format!(", {limits}"));
                format!(" Value: {}{}.", content.form.expected(), limits.unwrap_or_default())
            }
            None => String::new(),
        };
        format!("  - `{}`: {}.{keys}", word.name, sentence(&word.about))
    };
    words.iter().map(line).collect()
}

/// Lists the keys of the tables in a list, or the kinds of these tables with their keys.
fn inner_keys(item: &Form) -> Vec<String> {
    let table = match item {
        Form::Table(table) => table,
        Form::Kinds(kinds) => {
            let line = |kind: &shape::Kind| {
                let keys = kind.table.keys.iter().map(short).collect::<Vec<_>>().join("; ");
                format!("  - `kind = \"{}\"`: {} Keys: {keys}.", kind.name, kind.about)
            };
            return kinds.iter().map(line).collect();
        }
        _ => return Vec::new(),
    };
    table
        .keys
        .iter()
        .flat_map(|key| {
            let mut lines = vec![format!("  - `{}`: {}", key.name, key.about)];
            lines.extend(words(&key.form).into_iter().map(|line| format!("  {line}")));
            lines
        })
        .collect()
}

fn short(key: &Key) -> String {
    let default = key.default.as_ref().map(|default| format!(", default {}", toml_text::inline(default)));
    let limits = key.limits.as_ref().map(|limits| format!(", {limits}"));
    format!("`{}`{}{}", key.name, limits.unwrap_or_default(), default.unwrap_or_default())
}
