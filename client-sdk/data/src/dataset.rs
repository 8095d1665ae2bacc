//! Examples and their groups.

use std::collections::BTreeMap;

use folkmoot_engine::Examples;

/// The examples read from a file or folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Features and labels.
    pub examples: Examples,
    /// The natural client of each example, if the file has this information.
    pub groups: Option<Groups>,
}

/// The natural client of each example: a writer, a speaker, a hospital.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Groups {
    /// For each example, the index of its group in `names`.
    pub of: Vec<u32>,
    /// The groups, in the order in which the file first names them.
    pub names: Vec<String>,
}

/// Numbers the groups during reading.
#[derive(Debug, Default)]
pub(crate) struct GroupsBuilder {
    groups: Groups,
    numbers: BTreeMap<String, u32>,
}

impl GroupsBuilder {
    /// Returns the number of a group; a new name gets a new number.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number =
            u32::try_from(self.groups.names.len()).expect("the limits on files allow no 2³² different names");
        self.groups.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Assigns the next example to the group with this number.
    pub(crate) fn push(&mut self, number: u32) {
        self.groups.of.push(number);
    }

    pub(crate) fn finish(self) -> Groups {
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_as_they_come() {
        let mut builder = GroupsBuilder::default();
        for name in ["z", "a", "z"] {
            let number = builder.number(name);
            builder.push(number);
        }
        assert_eq!(builder.finish(), Groups { of: vec![0, 1, 0], names: vec!["z".into(), "a".into()] });
    }
}
