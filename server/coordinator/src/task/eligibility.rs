use std::collections::BTreeMap;

use folkmoot_protocol::ClientId;
use serde::{Deserialize, Serialize};

/// Which of the clients that offer themselves may take part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Eligibility {
    /// The fewest examples that a client must hold.
    pub minimum_examples: u64,
    /// Attributes that a client must have stated, with these values.
    pub attributes: BTreeMap<String, String>,
}

/// A client that waits for an assignment, with what it said of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The client.
    pub client_id: ClientId,
    /// How many examples it holds.
    pub example_count: u64,
    /// What it stated.
    pub attributes: BTreeMap<String, String>,
}

impl Eligibility {
    /// Says whether `candidate` may take part.
    pub fn admits(&self, candidate: &Candidate) -> bool {
        candidate.example_count >= self.minimum_examples.max(1)
            && self.attributes.iter().all(|(name, value)| candidate.attributes.get(name) == Some(value))
    }
}
