//! Collects rows of features and labels, and keeps the first error.

use std::{
    collections::BTreeMap,
    mem,
    path::{Path, PathBuf},
};

use folkmoot_engine::Labels;

use super::letters;
use crate::{DataError, Fault, LabelKind, Place, ReadOptions, content::Content, dataset::GroupsBuilder};

/// The remedy that lists the supported sets.
const READ_SETS: &str =
    "of LEAF, only FEMNIST, Synthetic and Shakespeare are supported; convert other texts to numbers";

/// Signals that [`Rows`] has kept an error and reading must end.
pub(super) struct Refused;

/// A number in JSON.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Real(f64),
    Negative(i64),
    Whole(u64),
}

impl Number {
    fn value(self) -> f64 {
        match self {
            Self::Real(number) => number,
            Self::Negative(number) => number as f64,
            Self::Whole(number) => number as f64,
        }
    }

    /// Converts to a class number, which may be written as `3.0`.
    fn class(self) -> Option<u32> {
        match self {
            Self::Whole(number) => u32::try_from(number).ok(),
            Self::Negative(_) => None,
            Self::Real(number) => {
                let is_class = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
                is_class.then_some(number as u32)
            }
        }
    }
}

/// The state of the current user.
#[derive(Default)]
struct User {
    name: String,
    group: u32,
    /// The number of the current example, from 1; 0 before the first example.
    example: u64,
    /// The number of lists around the current number.
    depth: u32,
    has_features: bool,
    has_labels: bool,
    has_text: bool,
    has_text_labels: bool,
    features: u64,
    labels: u64,
}

/// The rows read so far.
pub(super) struct Rows<'o> {
    options: &'o ReadOptions,
    path: PathBuf,
    refusal: Option<DataError>,
    features: Vec<f32>,
    /// The number of values per example, set by the first example.
    width: Option<usize>,
    row_start: usize,
    classes: Vec<u32>,
    targets: Vec<f32>,
    groups: GroupsBuilder,
    user: User,
    /// The number of examples of each user of this file; `None` before `user_data`.
    counts: Option<BTreeMap<String, u64>>,
}

impl<'o> Rows<'o> {
    pub(super) fn new(options: &'o ReadOptions) -> Self {
        Self {
            options,
            path: PathBuf::new(),
            refusal: None,
            features: Vec::new(),
            width: None,
            row_start: 0,
            classes: Vec::new(),
            targets: Vec::new(),
            groups: GroupsBuilder::default(),
            user: User::default(),
            counts: None,
        }
    }

    pub(super) fn begin_file(&mut self, path: &Path) {
        self.path = path.to_owned();
        self.user = User::default();
        self.counts = None;
    }

    /// Compares the file's declarations (`users`, `num_samples`) with its content.
    pub(super) fn end_file(
        &mut self,
        users: Option<Vec<String>>,
        counts: Option<Vec<u64>>,
    ) -> Result<(), Refused> {
        self.user = User::default();
        let Some(found) = mem::take(&mut self.counts) else {
            return self.refuse("has no user_data", "choose a file that LEAF's preprocessing wrote");
        };
        let Some(users) = users else { return Ok(()) };
        for (index, name) in users.into_iter().enumerate() {
            let said = counts.as_ref().and_then(|counts| counts.get(index)).copied();
            let examples = found.get(&name).copied();
            self.user.name = name;
            match (examples, said) {
                (None, _) => {
                    return self
                        .refuse("is listed in users, but has no entry in user_data", crate::error::DAMAGED);
                }
                (Some(examples), Some(said)) if examples != said => {
                    let reason = format!("has {examples} examples, but num_samples says {said}");
                    return self.refuse(reason, crate::error::DAMAGED);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn begin_users(&mut self) {
        self.counts.get_or_insert_default();
    }

    pub(super) fn begin_user(&mut self, name: String) -> Result<(), Refused> {
        let is_known = self.counts.as_ref().is_some_and(|counts| counts.contains_key(&name));
        let group = self.groups.number(&name);
        self.user = User { name, group, ..User::default() };
        match is_known {
            true => self.refuse("appears twice", "give every user one entry"),
            false => Ok(()),
        }
    }

    pub(super) fn end_user(&mut self) -> Result<(), Refused> {
        self.user.example = 0;
        let User { features, labels, has_text, has_text_labels, .. } = self.user;
        if features != labels {
            let reason = format!("has {features} examples and {labels} labels");
            return self.refuse(reason, "give every example of x one label in y");
        }
        if features > 0 && has_text != has_text_labels {
            let reason = "has text in only one of x and y";
            return self.refuse(reason, READ_SETS);
        }
        for _ in 0..features {
            self.groups.push(self.user.group);
        }
        let name = mem::take(&mut self.user.name);
        self.counts.get_or_insert_default().insert(name, features);
        Ok(())
    }

    pub(super) fn begin_features(&mut self) -> Result<(), Refused> {
        let is_second = mem::replace(&mut self.user.has_features, true);
        if is_second { self.refuse("names x twice", "give every user one x") } else { Ok(()) }
    }

    pub(super) fn begin_labels(&mut self) -> Result<(), Refused> {
        self.user.example = 0;
        let is_second = mem::replace(&mut self.user.has_labels, true);
        if is_second { self.refuse("names y twice", "give every user one y") } else { Ok(()) }
    }

    /// Counts the next example, so that errors can name it.
    pub(super) fn next_row(&mut self) {
        self.user.example += 1;
    }

    pub(super) fn enter_list(&mut self) {
        self.user.depth += 1;
    }

    pub(super) fn leave_list(&mut self) {
        self.user.depth -= 1;
    }

    pub(super) fn push_feature(&mut self, number: f64) -> Result<(), Refused> {
        let value = self.finite(number)?;
        self.features.push(value);
        if self.features.len() as u64 > self.options.limits.values_max {
            return self.expect_room();
        }
        Ok(())
    }

    /// Appends a text example; each character is a value.
    pub(super) fn push_letters(&mut self, text: &str) -> Result<(), Refused> {
        if self.user.depth > 0 {
            return self.refuse("has texts in a list", READ_SETS);
        }
        self.user.has_text = true;
        for letter in text.chars() {
            let number = self.letter(letter)?;
            self.push_feature(f64::from(number))?;
        }
        Ok(())
    }

    /// Ends an example's features.
    pub(super) fn end_row(&mut self) -> Result<(), Refused> {
        let found = self.features.len() - self.row_start;
        let width = *self.width.get_or_insert(found);
        if found == 0 {
            return self.refuse("has no values", "give every example at least one value");
        }
        if found != width {
            let reason = format!("has {found} values, but the first example has {width}");
            return self.refuse(reason, "give every example the same number of values");
        }
        self.row_start = self.features.len();
        self.user.features += 1;
        self.expect_room()
    }

    pub(super) fn push_label(&mut self, number: Number) -> Result<(), Refused> {
        match self.options.label_kind {
            LabelKind::Target => {
                let target = self.finite(number.value())?;
                self.targets.push(target);
            }
            LabelKind::Class => match number.class() {
                Some(class) => self.classes.push(class),
                None => {
                    let reason = format!("{} is not a class number", number.value());
                    let remedy = "number the classes from 0, or read the labels as --targets";
                    return self.refuse(reason, remedy);
                }
            },
        }
        self.end_label()
    }

    /// Appends a label that is the next character of a text.
    pub(super) fn push_letter_label(&mut self, text: &str) -> Result<(), Refused> {
        let mut letters = text.chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else {
            return self.refuse("its label is not a single character", READ_SETS);
        };
        self.user.has_text_labels = true;
        let number = self.letter(letter)?;
        match self.options.label_kind {
            LabelKind::Target => self.targets.push(f32::from(number)),
            LabelKind::Class => self.classes.push(u32::from(number)),
        }
        self.end_label()
    }

    fn end_label(&mut self) -> Result<(), Refused> {
        self.user.labels += 1;
        self.expect_room()
    }

    fn letter(&mut self, letter: char) -> Result<u8, Refused> {
        letters::number(letter).map_err(|fault| self.keep(fault))
    }

    fn finite(&mut self, number: f64) -> Result<f32, Refused> {
        let value = number as f32;
        if value.is_finite() {
            return Ok(value);
        }
        Err(self.keep(Fault::new(format!("{number:e} is too large for a float32"), "scale the values down")))
    }

    fn expect_room(&mut self) -> Result<(), Refused> {
        let examples = self.classes.len().max(self.targets.len()) as u64;
        let width = self.width.unwrap_or(1).max(1);
        let examples = examples.max((self.features.len() / width) as u64);
        let room = self.options.limits.expect_room(&self.path, examples, self.features.len() as u64);
        room.map_err(|error| {
            self.refusal = Some(error);
            Refused
        })
    }

    fn refuse(&mut self, reason: impl Into<String>, remedy: &str) -> Result<(), Refused> {
        Err(self.keep(Fault::new(reason, remedy)))
    }

    fn keep(&mut self, fault: Fault) -> Refused {
        self.refusal = Some(DataError::invalid(&self.path, fault.at(self.place())));
        Refused
    }

    /// Returns the current user and example.
    pub(super) fn place(&self) -> Place {
        match self.user.name.is_empty() {
            true => Place::Whole,
            false => Place::User { name: self.user.name.clone(), example: self.user.example },
        }
    }

    pub(super) fn take_refusal(&mut self) -> Option<DataError> {
        self.refusal.take()
    }

    pub(super) fn into_content(self) -> Content {
        let labels = match self.options.label_kind {
            LabelKind::Class => Labels::Classes(self.classes),
            LabelKind::Target => Labels::Targets(self.targets, 1),
        };
        let shape = vec![self.width.unwrap_or(1)];
        Content { features: self.features, shape, labels, groups: Some(self.groups.finish()) }
    }
}
