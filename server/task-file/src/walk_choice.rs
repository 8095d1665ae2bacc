//! Reads choices: tables with a `kind`, and names with or without a value.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    nearest::{listed, nearest},
    sample,
    shape::{Kind, Word},
    toml_text,
    walk::Walk,
    walk_table::{Entry, joined},
};

impl Walk<'_> {
    /// Reads a table whose keys depend on its kind. Returns `None` if the kind cannot be determined.
    pub fn kinds(
        &mut self,
        kinds: &[Kind],
        path: &str,
        at: &Range<usize>,
        entries: &DeTable<'_>,
    ) -> Option<Value> {
        let named: Option<Entry<'_, '_>> =
            entries.iter().find(|(name, _)| name.get_ref() == "kind").or_else(|| {
                entries.iter().find(|(name, value)| is_kind_by_another_name(kinds, name.get_ref(), value))
            });
        let field = joined(path, "kind");
        let chosen = match named {
            Some((name, value)) => {
                self.places.insert(field.clone(), value.span());
                if name.get_ref() != "kind" {
                    let message = format!("there is no key `{}` in [{path}]", name.get_ref());
                    let remedy = "did you mean `kind`?".to_owned();
                    self.complain(name.span(), &joined(path, name.get_ref()), message, remedy);
                }
                self.kind_of(kinds, &field, value)?
            }
            None if self.lost.may_have("kind") => likely(kinds, entries)?,
            None => {
                let words = listed(kinds.iter().map(|kind| kind.name.as_str()));
                let remedy = format!("set kind to one of {words}");
                self.complain(at.clone(), &field, "the key is missing".into(), remedy);
                likely(kinds, entries)?
            }
        };
        let named_at = named.map(|(name, _)| name.span());
        let rest: Vec<Entry<'_, '_>> =
            entries.iter().filter(|(name, _)| Some(name.span()) != named_at).collect();
        let mut read = self.table(&chosen.table, kinds, path, at.clone(), &rest);
        read["kind"] = Value::from(chosen.name.as_str());
        Some(read)
    }

    fn kind_of<'k>(
        &mut self,
        kinds: &'k [Kind],
        field: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<&'k Kind> {
        let DeValue::String(word) = value.get_ref() else {
            let words = listed(kinds.iter().map(|kind| kind.name.as_str()));
            let message = "the kind must be a string in quotes".to_owned();
            self.complain(value.span(), field, message, format!("choose one of {words}"));
            return None;
        };
        let names = || kinds.iter().map(|kind| kind.name.as_str());
        let sure = match names().any(|name| name == word.as_ref()) {
            true => Some(word.as_ref()),
            false => self.unknown_word(field, value.span(), word, &names().collect::<Vec<_>>()),
        };
        kinds.iter().find(|kind| Some(kind.name.as_str()) == sure)
    }

    /// Records that a word is unknown. Returns the known word if it is similar enough to continue with.
    fn unknown_word<'w>(
        &mut self,
        field: &str,
        span: Range<usize>,
        word: &str,
        known: &[&'w str],
    ) -> Option<&'w str> {
        let meant = nearest(word, known.iter().copied());
        let remedy = match &meant {
            Some(meant) => format!("did you mean `{}`?", meant.word),
            None => format!("choose one of {}", listed(known.iter().copied())),
        };
        self.complain(span, field, format!("there is no choice `{word}`"), remedy);
        meant.filter(|meant| meant.is_sure).map(|meant| meant.word)
    }

    /// Reads a word without a value.
    pub fn word(&mut self, words: &[Word], path: &str, span: Range<usize>, word: &str) -> Option<Value> {
        let names: Vec<&str> = words.iter().map(|word| word.name.as_str()).collect();
        let sure = match names.contains(&word) {
            true => Some(word),
            false => self.unknown_word(path, span.clone(), word, &names),
        };
        let known = words.iter().find(|known| Some(known.name.as_str()) == sure)?;
        let Some(content) = &known.content else { return Some(Value::from(known.name.as_str())) };
        let example = Map::from_iter([(known.name.clone(), sample::of_key(content, 0))]);
        let remedy = format!("write {}", toml_text::inline(&Value::Object(example)));
        self.complain(span, path, format!("`{}` needs a value", known.name), remedy);
        None
    }

    /// Reads a word with its value.
    pub fn word_table(
        &mut self,
        words: &[Word],
        path: &str,
        at: &Range<usize>,
        entries: &DeTable<'_>,
    ) -> Option<Value> {
        let names: Vec<&str> = words.iter().map(|word| word.name.as_str()).collect();
        let mut pairs = entries.iter();
        let (Some((name, value)), None) = (pairs.next(), pairs.next()) else {
            let message = format!("exactly one choice is expected; there are {}", entries.len());
            self.complain(at.clone(), path, message, format!("choose one of {}", listed(names.into_iter())));
            return None;
        };
        let sure = match names.contains(&name.get_ref().as_ref()) {
            true => Some(name.get_ref().as_ref()),
            false => self.unknown_word(path, name.span(), name.get_ref(), &names),
        };
        let known = words.iter().find(|known| Some(known.name.as_str()) == sure)?;
        let Some(content) = &known.content else {
            let message = format!("`{}` takes no value", known.name);
            self.complain(name.span(), path, message, format!("write \"{}\"", known.name));
            return None;
        };
        let path = joined(path, &known.name);
        let place = if value.get_ref().is_table() { name.span() } else { value.span() };
        self.places.insert(path.clone(), place);
        let read = self.form(&content.form, &path, &name.span(), value)?;
        Some(Value::Object(Map::from_iter([(known.name.clone(), read)])))
    }
}

/// Returns whether an entry such as `type = "buffered"` or `knid = "buffered"` was meant as the kind.
fn is_kind_by_another_name(kinds: &[Kind], name: &str, value: &Spanned<DeValue<'_>>) -> bool {
    let DeValue::String(word) = value.get_ref() else { return false };
    let is_key = kinds.iter().any(|kind| kind.table.key(name).is_some());
    !is_key && kinds.iter().any(|kind| kind.name == word.as_ref())
}

/// Returns the kind that has the largest number of the given keys, or `None` if no kind has any. Among equals, prefers
/// the kind with the fewest missing required keys.
fn likely<'k>(kinds: &'k [Kind], entries: &DeTable<'_>) -> Option<&'k Kind> {
    let rated = kinds.iter().map(|kind| {
        let known = entries.iter().filter(|(name, _)| kind.table.key(name.get_ref()).is_some()).count();
        let missing = kind.table.keys.iter().filter(|key| {
            key.is_required && !entries.iter().any(|(name, _)| name.get_ref() == key.name.as_str())
        });
        (known, std::cmp::Reverse(missing.count()), kind)
    });
    let best = rated.max_by_key(|(known, missing, _)| (*known, *missing))?;
    (best.0 > 0).then_some(best.2)
}
