//! The random seed of a test run, used by property tests and the simulation.
//!
//! The seed is derived from the commit. So every commit tests new cases, and every run can be repeated exactly.

use crate::process::output;
use crate::workspace::root;
use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

/// The environment variable that proptest reads.
const PROPERTIES_VARIABLE: &str = "PROPTEST_RNG_SEED";
/// The environment variable with the simulation's first seed.
const SIMULATION_VARIABLE: &str = "FOLKMOOT_FIRST_SEED";
/// The seed of a run outside a repository.
const WITHOUT_COMMIT: u64 = 1;

/// The seed and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    number: u64,
    origin: String,
}

impl Seed {
    /// Derives the seed from the commit, unless `PROPTEST_RNG_SEED` is set.
    pub fn of_commit() -> Self {
        if let Some(number) = std::env::var(PROPERTIES_VARIABLE).ok().and_then(|text| text.parse().ok()) {
            return Self { number, origin: PROPERTIES_VARIABLE.to_owned() };
        }
        let commit = output(Command::new("git").args(["rev-parse", "--verify", "HEAD"]).current_dir(root()));
        Self::of(commit.unwrap_or_default().trim())
    }

    fn of(commit: &str) -> Self {
        // Use 48 bits, because every JSON reader represents them exactly.
        match commit.get(..12).and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            Some(number) => Self { number, origin: format!("commit {}", &commit[..12]) },
            None => Self { number: WITHOUT_COMMIT, origin: "no commit".to_owned() },
        }
    }

    /// Returns the environment variables for the test programs.
    pub fn variables(&self) -> BTreeMap<String, String> {
        [PROPERTIES_VARIABLE, SIMULATION_VARIABLE]
            .map(|name| (name.to_owned(), self.number.to_string()))
            .into()
    }

    /// Returns the prefix for a shell command that runs a test with this seed.
    pub fn replay(&self) -> String {
        format!("{PROPERTIES_VARIABLE}={} {SIMULATION_VARIABLE}={}", self.number, self.number)
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} ({})", self.number, self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_one_seed_for_all() {
        let seed = Seed::of("0000000000ff1234");
        assert_eq!(seed.to_string(), "seed 255 (commit 0000000000ff)");
        assert_eq!(seed.replay(), "PROPTEST_RNG_SEED=255 FOLKMOOT_FIRST_SEED=255");
        assert_eq!(Seed::of("").number, WITHOUT_COMMIT);
    }
}
