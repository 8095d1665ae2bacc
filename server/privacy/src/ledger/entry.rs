use std::fmt;

use folkmoot_protocol::{PopulationName, RoundId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Delta, Epsilon, Unit,
    charge::{Charge, Participation},
};

/// The BLAKE3 digest of an entry and of all entries before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryDigest([u8; 32]);

impl EntryDigest {
    /// The digest before the first entry: all zeros.
    pub const BEGINNING: Self = Self([0; 32]);
}

impl fmt::Display for EntryDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the digest of an entry must be 64 lower-case hexadecimal digits")]
pub struct ParseDigestError;

impl std::str::FromStr for EntryDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(ParseDigestError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ParseDigestError)?;
            let is_lower = pair.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
            *byte = u8::from_str_radix(pair, 16).ok().filter(|_| is_lower).ok_or(ParseDigestError)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for EntryDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntryDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A model version that was released with noise from the coordinator or from its clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The task.
    pub task_id: TaskId,
    /// The round that produced the version.
    pub round_id: RoundId,
    /// The model version.
    pub version: u64,
    /// The privacy cost of the release.
    pub charge: Charge,
}

/// The start of a task whose clients add the noise themselves. From now on the coordinator sees their updates, even if
/// no version is released.
///
/// The ledger charges it once, for all updates that a client may send in this task. An entry for every client would be
/// tighter, but would disclose who took part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// The task.
    pub task_id: TaskId,
    /// The round whose first update is about to be accepted.
    pub round_id: RoundId,
    /// The cost of all updates that one client may send.
    pub charge: Charge,
}

/// The settings of a population: the privacy unit, and the common budget of all its tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The privacy unit that the tasks' promises refer to.
    pub unit: Unit,
    /// The epsilon that all tasks may spend in total, and its delta; `None` without a budget.
    pub budget: Option<(Epsilon, Delta)>,
    /// The operator's reason if these settings promise less than the previous settings; `None` if they promise as much
    /// or more.
    pub weakened: Option<String>,
    /// The API key of the operator who made these settings.
    pub by: String,
}

/// A task that was created for a population's clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskTerms {
    /// The task.
    pub task_id: TaskId,
    /// The task's privacy promise; `None` if it makes none.
    pub promise: Option<Promise>,
    /// The task and version that provide the initial weights; `None` if the task starts from the model's own weights.
    pub warm_start: Option<(TaskId, u64)>,
}

/// A task's privacy promise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The epsilon that the task may spend on each client.
    pub epsilon: Epsilon,
    /// The delta at which that epsilon holds.
    pub delta: Delta,
    /// The charge for the task's releases.
    pub charge: Charge,
}

/// The contents of a ledger entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A version was released.
    Release(Release),
    /// Clients of a task begin to send updates with noise of their own.
    Collection(Collection),
    /// The population's settings changed.
    Settings(Settings),
    /// A task was created.
    Task(TaskTerms),
}

impl Event {
    /// Returns the charged task and its charge; `None` if the entry costs nothing.
    pub fn charged(&self) -> Option<(TaskId, Charge)> {
        match self {
            Self::Release(Release { task_id, charge, .. })
            | Self::Collection(Collection { task_id, charge, .. }) => Some((*task_id, *charge)),
            Self::Settings(_) | Self::Task(_) => None,
        }
    }

    /// Returns the domain-separation context. It makes the digest of this entry differ from the digests of all other
    /// kinds of entries and of anything else in the system.
    fn context(&self) -> &'static str {
        match self {
            Self::Release(_) => "folkmoot privacy ledger entry, version 1",
            Self::Collection(_) => "folkmoot privacy ledger collection, version 1",
            Self::Settings(_) => "folkmoot privacy ledger settings, version 1",
            Self::Task(_) => "folkmoot privacy ledger task, version 1",
        }
    }
}

/// An entry of a population's ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The population.
    pub population: PopulationName,
    /// The position of the entry in the ledger, from 1.
    pub sequence: u64,
    /// The time at which the entry was written.
    pub at: Timestamp,
    /// The recorded event, with its cost.
    pub event: Event,
    /// The digest of the preceding entry.
    pub previous: EntryDigest,
    /// The digest of this entry.
    pub digest: EntryDigest,
}

impl Entry {
    /// Creates the entry that follows `previous`.
    pub fn following(
        previous: Option<(u64, EntryDigest)>,
        population: PopulationName,
        at: Timestamp,
        event: Event,
    ) -> Self {
        let (before, previous) = previous.unwrap_or((0, EntryDigest::BEGINNING));
        let digest = EntryDigest::BEGINNING;
        let entry = Self { population, sequence: before + 1, at, event, previous, digest };
        Self { digest: entry.computed_digest(), ..entry }
    }

    /// Computes the digest that the entry must have. Every field has a fixed place and a known length, so two different
    /// entries never hash the same bytes.
    pub fn computed_digest(&self) -> EntryDigest {
        let mut hasher = blake3::Hasher::new_derive_key(self.event.context());
        hasher.update(&self.previous.0);
        hasher.update(&self.sequence.to_le_bytes());
        hash_text(&mut hasher, self.population.as_str());
        match &self.event {
            Event::Release(Release { task_id, round_id, version, charge }) => {
                hasher.update(task_id.as_bytes()).update(round_id.as_bytes());
                hasher.update(&version.to_le_bytes()).update(&self.at.0.to_le_bytes());
                hash_charge(&mut hasher, charge);
            }
            Event::Collection(Collection { task_id, round_id, charge }) => {
                hasher.update(task_id.as_bytes()).update(round_id.as_bytes());
                hasher.update(&self.at.0.to_le_bytes());
                hash_charge(&mut hasher, charge);
            }
            Event::Settings(Settings { unit, budget, weakened, by }) => {
                hasher.update(&self.at.0.to_le_bytes()).update(&[*unit as u8]);
                hash_option(&mut hasher, budget.as_ref(), hash_budget);
                hash_option(&mut hasher, weakened.as_deref(), hash_text);
                hash_text(&mut hasher, by);
            }
            Event::Task(TaskTerms { task_id, promise, warm_start }) => {
                hasher.update(&self.at.0.to_le_bytes()).update(task_id.as_bytes());
                hash_option(&mut hasher, promise.as_ref(), |hasher, promise| {
                    hash_budget(hasher, &(promise.epsilon, promise.delta));
                    hash_charge(hasher, &promise.charge);
                });
                hash_option(&mut hasher, warm_start.as_ref(), |hasher, (task_id, version)| {
                    hasher.update(task_id.as_bytes()).update(&version.to_le_bytes());
                });
            }
        }
        EntryDigest(*hasher.finalize().as_bytes())
    }
}

fn hash_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

/// Hashes a flag that states whether there is a value, and then the value if there is one.
fn hash_option<T: ?Sized>(
    hasher: &mut blake3::Hasher,
    value: Option<&T>,
    hash: impl FnOnce(&mut blake3::Hasher, &T),
) {
    hasher.update(&[u8::from(value.is_some())]);
    if let Some(value) = value {
        hash(hasher, value);
    }
}

fn hash_budget(hasher: &mut blake3::Hasher, (epsilon, delta): &(Epsilon, Delta)) {
    hasher.update(&epsilon.get().to_bits().to_le_bytes()).update(&delta.get().to_bits().to_le_bytes());
}

fn hash_charge(hasher: &mut blake3::Hasher, charge: &Charge) {
    hasher.update(&charge.noise_multiplier.get().to_bits().to_le_bytes());
    hasher.update(&[charge.noise_multiplier.relation() as u8]);
    match charge.participation {
        Participation::AtMost { count } => hasher.update(&[0]).update(&count.to_le_bytes()),
        Participation::Poisson { rate } => hasher.update(&[1]).update(&rate.get().to_bits().to_le_bytes()),
        Participation::Whole { count } => hasher.update(&[2]).update(&count.to_le_bytes()),
    };
}
