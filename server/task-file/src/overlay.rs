//! Overlays: the keys that a variant of a task sets.

use toml::{Table, Value};

use super::shape::{self, Form};

/// Replaces the keys of a task file by those of an overlay, in tables at any depth.
///
/// A choice that differs is replaced with all of its settings, because those of the old choice do not fit the new one.
/// This applies to a table with another `kind`, and to a table such as `{ sgd = { … } }` with another key. An overlay
/// cannot remove a key.
pub fn overlay(task: &mut Table, overlay: &Table) {
    merge(task, overlay, &|name| shape::task().key(name).map(|key| &key.form));
}

fn merge<'f>(old: &mut Table, new: &Table, form_of: &dyn Fn(&str) -> Option<&'f Form>) {
    for (name, value) in new {
        let form = form_of(name);
        let merged = match (old.get(name), value) {
            (Some(Value::Table(old)), Value::Table(new)) if is_same_choice(form, old, new) => {
                let kind = old.get("kind").and_then(Value::as_str);
                let mut merged = old.clone();
                merge(&mut merged, new, &|name| inner(form?, kind, name));
                Value::Table(merged)
            }
            _ => value.clone(),
        };
        old.insert(name.clone(), merged);
    }
}

/// Returns whether two tables are of the same choice, so that their keys can be merged.
fn is_same_choice(form: Option<&Form>, old: &Table, new: &Table) -> bool {
    match form {
        Some(Form::Words(_)) => old.keys().eq(new.keys()),
        _ => new.get("kind").is_none_or(|kind| old.get("kind") == Some(kind)),
    }
}

/// Returns the form of a key in a table, which has a `kind` if its form has kinds.
fn inner<'f>(form: &'f Form, kind: Option<&str>, name: &str) -> Option<&'f Form> {
    match form {
        Form::Table(table) => table.key(name).map(|key| &key.form),
        Form::Kinds(kinds) => {
            let of_kind = kinds.iter().find(|one| Some(one.name.as_str()) == kind)?;
            of_kind.table.key(name).map(|key| &key.form)
        }
        Form::Words(words) => {
            let word = words.iter().find(|word| word.name == name)?;
            word.content.as_ref().map(|content| &content.form)
        }
        Form::Map(item) => Some(item),
        _ => None,
    }
}
