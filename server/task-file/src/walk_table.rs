//! Reads tables: finds their known, unknown and missing keys.

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeString, DeValue},
};

use super::{
    nearest::{listed, nearest},
    sample,
    shape::{self, Key, Kind, Table},
    toml_text,
    walk::Walk,
};

/// A key with its value in the file.
pub(super) type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

impl Walk<'_> {
    /// Reads the entries of a table. If the table belongs to a choice, `kinds` are all kinds of that choice.
    pub fn table(
        &mut self,
        table: &Table,
        kinds: &[Kind],
        path: &str,
        at: Range<usize>,
        entries: &[Entry<'_, '_>],
    ) -> Value {
        let mut given: BTreeMap<&str, Entry<'_, '_>> = BTreeMap::new();
        let (known, mut unknown): (Vec<Entry<'_, '_>>, Vec<Entry<'_, '_>>) =
            entries.iter().copied().partition(|(name, _)| table.key(name.get_ref()).is_some());
        for (name, value) in known {
            given.insert(name.get_ref(), (name, value));
        }
        unknown.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in unknown {
            let free = table.keys.iter().map(|key| key.name.as_str()).filter(|key| !given.contains_key(key));
            let meant = nearest(name.get_ref(), free);
            let remedy = match &meant {
                Some(meant) => format!("did you mean `{}`?", meant.word),
                None => unknown_remedy(table, kinds, name.get_ref(), &given),
            };
            let place = if path.is_empty() { "at the top level".to_owned() } else { format!("in [{path}]") };
            let message = format!("there is no key `{}` {place}", name.get_ref());
            self.complain(name.span(), &joined(path, name.get_ref()), message, remedy);
            if let Some(meant) = meant.filter(|meant| meant.is_sure) {
                given.insert(meant.word, (name, value));
            }
        }
        let mut read = Map::new();
        for key in &table.keys {
            let value = match given.get(key.name.as_str()) {
                Some((name, value)) => self.given(key, path, name, value),
                None => self.absent(key, path, &at),
            };
            if let Some(value) = value {
                read.insert(key.name.clone(), value);
            }
        }
        Value::Object(read)
    }

    /// Reads the value of a key that is in the file.
    fn given(
        &mut self,
        key: &Key,
        path: &str,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let path = joined(path, &key.name);
        // The value of a table spans all of its lines, so point at its name instead.
        let place = if value.get_ref().is_table() { name.span() } else { value.span() };
        self.places.insert(path.clone(), place);
        self.form(&key.form, &path, &name.span(), value).or_else(|| self.gap(key))
    }

    /// Handles a key that is not in the file: records a fault if the key is required. Returns the sample value to use.
    fn absent(&mut self, key: &Key, path: &str, at: &Range<usize>) -> Option<Value> {
        if self.lost.may_have(&key.name) {
            return self.gap(key);
        }
        if !key.is_required {
            return None;
        }
        let example = sample::of_key(key, 0);
        let about = key.about.split(". ").next().unwrap_or_default().trim_end_matches('.');
        let remedy = match example.is_object() && !matches!(key.form, shape::Form::Words(_)) {
            true => format!("add [{}]: {about}", joined(path, &key.name)),
            false => format!("add {} = {}: {about}", key.name, toml_text::inline(&example)),
        };
        self.complain(at.clone(), &joined(path, &key.name), "the key is missing".into(), remedy);
        self.gap(key)
    }

    /// Returns the sample value for a missing or unreadable value; `None` for an optional key in variant 0.
    fn gap(&self, key: &Key) -> Option<Value> {
        (key.is_required || self.variant > 0).then(|| sample::of_key(key, self.variant))
    }
}

/// Returns the remedy for an unknown key that resembles no other key of its table.
fn unknown_remedy(
    table: &Table,
    kinds: &[Kind],
    name: &str,
    given: &BTreeMap<&str, Entry<'_, '_>>,
) -> String {
    if let Some(twin) = nearest(name, given.keys().copied()).filter(|twin| twin.is_sure) {
        return format!("`{}` is set already; remove this key", twin.word);
    }
    let having: Vec<&str> =
        kinds.iter().filter(|kind| kind.table.key(name).is_some()).map(|kind| kind.name.as_str()).collect();
    if !having.is_empty() {
        return format!("remove the key, or choose a kind that has it: {}", listed(having.into_iter()));
    }
    let tables = shape::tables();
    let elsewhere = tables.iter().find(|(_, table)| table.key(name).is_some());
    match elsewhere {
        Some((path, _)) if path.is_empty() => {
            "move the key to the top level, before the first [table]".into()
        }
        Some((path, _)) => {
            let table = path.split(" (").next().unwrap_or(path);
            format!("move the key to [{table}]")
        }
        None if table.keys.is_empty() => "this table has no key but `kind`; remove the key".into(),
        None => {
            format!("use one of the known keys: {}", listed(table.keys.iter().map(|key| key.name.as_str())))
        }
    }
}

/// Appends a name to a path.
pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
