use crate::{CLIENTS_MAX, InvalidSettingsError};

/// Why the examples cannot be dealt out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// There are no clients, or more than a simulation takes.
    #[error("{clients} clients were asked for; ask for 1 to {CLIENTS_MAX}")]
    ClientCount {
        /// The clients asked for.
        clients: usize,
    },
    /// Not every client can have an example.
    #[error(
        "{examples} examples are too few for {clients} clients; ask for fewer clients or bring more data"
    )]
    TooFewExamples {
        /// The clients asked for.
        clients: usize,
        /// The examples there are.
        examples: usize,
    },
    /// There are more shards than examples.
    #[error(
        "{examples} examples do not make {shards_per_client} shards for each of {clients} clients; lower one of them"
    )]
    TooFewForShards {
        /// The clients asked for.
        clients: usize,
        /// The shards of each.
        shards_per_client: usize,
        /// The examples there are.
        examples: usize,
    },
    /// The examples are dealt by their class, and have none.
    #[error(
        "partition `{kind}` deals by class, and the labels are no classes; `iid` and `quantity_skew` need none"
    )]
    NoClasses {
        /// The partition's name in a file.
        kind: &'static str,
    },
    /// The data has no groups.
    #[error(
        "partition `natural` deals by the data's own groups, and the data has none; choose another partition"
    )]
    NoGroups,
    /// There is not a group for each example.
    #[error("{groups} groups were given for {examples} examples; give each example its group")]
    GroupCount {
        /// The groups given.
        groups: usize,
        /// The examples there are.
        examples: usize,
    },
    /// There are more clients than groups.
    #[error("the data has {groups} groups, too few for {clients} clients; ask for at most {groups} clients")]
    TooFewGroups {
        /// The clients asked for.
        clients: usize,
        /// The different groups.
        groups: usize,
    },
    /// A setting is out of range.
    #[error(transparent)]
    Settings(#[from] InvalidSettingsError),
}
