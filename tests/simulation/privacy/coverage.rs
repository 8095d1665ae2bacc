//! Counts the mechanisms and events in the seeds. The test fails if they no longer occur.

use std::{collections::BTreeMap, fmt};

use super::script::Mechanism;

/// The kinds that are counted in addition to the mechanisms, and the minimum count of each in a thousand seeds. The
/// minimums are far below the actual counts, so that any 300 seeds reach them.
const KINDS: &[(&str, u64)] = &[
    ("worlds over SQLite", 20),
    ("versions released", 1_000),
    ("updates accepted", 4_000),
    ("updates that broke off", 100),
    ("updates sent twice", 100),
    ("uploads refused", 500),
    ("assignments given up", 50),
    ("sampled rounds", 60),
    ("tasks refused", 10),
    ("tasks ended by a budget", 30),
    ("tasks cancelled", 30),
    ("tasks cancelled in mid-round", 20),
    ("pauses", 50),
    ("clones", 20),
    ("tasks that descend", 30),
    ("roll-backs", 20),
    ("clients enrolled again", 50),
    ("budgets set", 20),
    ("restarts of the coordinator", 300),
    ("steps that failed", 10),
    ("noise as it was asked for", 150),
    ("noise as it was measured", 100),
    ("users protected", 60),
    ("units compared", 3_000),
];

/// The minimum number of tasks with each mechanism in a thousand seeds.
const TASKS: u64 = 30;

/// Counts of events by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    kinds: BTreeMap<&'static str, u64>,
    tasks: BTreeMap<Mechanism, u64>,
}

impl Coverage {
    pub fn count(&mut self, kind: &'static str) {
        self.count_many(kind, 1);
    }

    pub fn count_many(&mut self, kind: &'static str, count: u64) {
        debug_assert!(KINDS.iter().any(|(known, _)| *known == kind), "`{kind}` is listed above");
        *self.kinds.entry(kind).or_default() += count;
    }

    pub fn count_task(&mut self, mechanism: Mechanism) {
        *self.tasks.entry(mechanism).or_default() += 1;
    }

    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Self) {
        other.kinds.iter().for_each(|(kind, count)| *self.kinds.entry(kind).or_default() += count);
        other.tasks.iter().for_each(|(kind, count)| *self.tasks.entry(*kind).or_default() += count);
    }

    /// Lists the kinds that occurred too rarely for a run with this number of seeds.
    pub fn missing(&self, seeds: u64) -> Vec<String> {
        let all = self.counts().into_iter();
        let too_rare = all.filter(|(_, count, thousand)| *count < thousand * seeds / 1000);
        too_rare
            .map(|(name, count, thousand)| format!("{name}: {count}, at least {thousand} in 1,000"))
            .collect()
    }

    fn counts(&self) -> Vec<(&'static str, u64, u64)> {
        let tasks =
            Mechanism::ALL.map(|one| (one.name(), self.tasks.get(&one).copied().unwrap_or_default(), TASKS));
        let kinds = KINDS
            .iter()
            .map(|(kind, least)| (*kind, self.kinds.get(kind).copied().unwrap_or_default(), *least));
        tasks.into_iter().chain(kinds).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts().into_iter().try_for_each(|(name, count, _)| writeln!(f, "  {count:>10}  {name}"))
    }
}
