//! Counts the faults and events in the seeds. The test fails if faults no longer occur.

use std::{collections::BTreeMap, fmt};

/// The kinds that are counted, and the minimum count of each in two thousand seeds. In a run with few seeds, the
/// minimum is lower, in proportion, and may be 0.
const KINDS: &[(&str, u64)] = &[
    ("events", 100_000),
    ("rounds committed", 1_000),
    ("rounds abandoned", 300),
    ("tasks completed", 500),
    ("commits of flows", 500),
    ("stale updates committed", 200),
    ("assignments left behind", 10),
    ("tasks cancelled", 5),
    ("collections", 2_000),
    ("updates accepted", 2_000),
    ("uploads refused", 300),
    ("garbage sent", 100),
    ("digest mismatches", 10),
    ("conflicts", 5),
    ("coordinator crashes", 300),
    ("crashes between the parts of an upload", 50),
    ("crashes between the log and the acceptance", 5),
    ("crashes between the acceptance and its answer", 5),
    ("crashes between the steps of a driver", 50),
    ("crashes between a commit and the end of its log", 5),
    ("segments cut by a power loss", 50),
    ("blob failures", 20),
    ("client crashes", 500),
    ("clients lost for good", 50),
    ("clients stopped", 50),
    ("requests", 10_000),
    ("requests dropped", 500),
    ("requests doubled", 500),
    ("requests delayed", 500),
    ("responses", 10_000),
    ("responses dropped", 500),
    ("responses doubled", 500),
    ("responses delayed", 500),
    ("connections broken", 200),
    ("bytes damaged", 20),
    ("coordinator clock jumps", 200),
    ("client clock jumps", 300),
    ("pauses", 100),
    ("uploads resumed", 50),
    ("commits of bounded means", 300),
    ("trainings asked", 50),
    ("masked rounds committed", 300),
    ("masked rounds committed without some of their members", 20),
    ("masked rounds abandoned after their keys", 100),
    ("agreements signed", 500),
    ("secure messages refused", 200),
    ("members found guilty", 10),
    ("clients lost before their keys", 20),
    ("clients lost after their keys", 10),
    ("clients lost after their shares", 5),
    ("clients lost after their upload", 5),
    ("client crashes between a journal and its message", 20),
    ("crashes between a secure message and its answer", 25),
];

/// Counts of events by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Adds one event of a kind.
    pub fn count(&mut self, kind: &'static str) {
        debug_assert!(KINDS.iter().any(|(known, _)| *known == kind), "`{kind}` is listed above");
        *self.0.entry(kind).or_default() += 1;
    }

    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Coverage) {
        for (kind, count) in &other.0 {
            *self.0.entry(kind).or_default() += count;
        }
    }

    /// Lists the kinds that occurred too rarely for a run with this number of seeds.
    pub fn missing(&self, seeds: u64) -> Vec<String> {
        let too_rare = |(kind, in_two_thousand): &(&'static str, u64)| {
            let (count, wanted) = (self.of(kind), in_two_thousand * seeds / 2000);
            (count < wanted).then(|| format!("{kind}: {count}, at least {wanted} are expected"))
        };
        KINDS.iter().filter_map(too_rare).collect()
    }

    fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or_default()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        KINDS.iter().try_for_each(|(kind, _)| writeln!(f, "  {:>10}  {kind}", self.of(kind)))
    }
}
