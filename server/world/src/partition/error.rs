use crate::{CLIENTS_MAX, InvalidSettingsError};

/// Examples that cannot be divided among the clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// There are no clients, or more than a simulation allows.
    #[error("the number of clients is {clients}; it must be 1 to {CLIENTS_MAX}")]
    ClientCount {
        /// The requested number of clients.
        clients: usize,
    },
    /// There are fewer examples than clients.
    #[error("{examples} examples are too few for {clients} clients; use fewer clients or more data")]
    TooFewExamples {
        /// The requested number of clients.
        clients: usize,
        /// The number of examples.
        examples: usize,
    },
    /// There are more shards than examples.
    #[error(
        "{examples} examples are too few for {clients} clients with {shards_per_client} shards each, because a shard needs \
         at least one example; lower `shards_per_client` or the number of clients"
    )]
    TooFewForShards {
        /// The requested number of clients.
        clients: usize,
        /// The number of shards for each client.
        shards_per_client: usize,
        /// The number of examples.
        examples: usize,
    },
    /// The partition needs classes, but the labels are not classes.
    #[error("partition `{kind}` needs classes, but the labels are not classes; use `iid` or `quantity_skew`")]
    NoClasses {
        /// The partition's name in a file.
        kind: &'static str,
    },
    /// The data has no groups.
    #[error(
        "partition `natural` needs the data's own groups, but the data has none; choose another partition"
    )]
    NoGroups,
    /// The numbers of groups and of examples differ.
    #[error("{groups} groups were given for {examples} examples; give one group for each example")]
    GroupCount {
        /// The number of groups that were given.
        groups: usize,
        /// The number of examples.
        examples: usize,
    },
    /// There are more clients than groups.
    #[error("the data has {groups} groups, too few for {clients} clients; use at most {groups} clients")]
    TooFewGroups {
        /// The requested number of clients.
        clients: usize,
        /// The number of different groups.
        groups: usize,
    },
    /// A setting is out of range.
    #[error(transparent)]
    Settings(#[from] InvalidSettingsError),
}
