//! The API's representation of privacy ledger entries.

use folkmoot_coordinator::task::WarmStart;
use folkmoot_privacy::{
    Delta, Epsilon, NoiseMultiplier, RangeError, Relation, SamplingRate, Unit,
    ledger::{
        Charge, Collection, Entry, EntryDigest, Event, Participation, Promise, Release, Settings, TaskTerms,
    },
};
use folkmoot_protocol::{PopulationName, RoundId, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An entry of a population's privacy ledger. The numbers are not rounded, so a reader can recompute the digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryView {
    /// The population that the ledger belongs to.
    pub population: PopulationName,
    /// The sequence number of the entry, from 1.
    pub sequence: u64,
    /// The kind of the entry.
    #[serde(default)]
    pub kind: EntryKind,
    /// When the entry was written.
    #[serde(alias = "released_at")]
    pub at: Timestamp,
    /// The task that was created, that released a version, or whose clients began to send updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// For a release, the round that produced the version. For a collection, the round that was about to accept its
    /// first update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_id: Option<RoundId>,
    /// The number of the released version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The noise multiplier: the standard deviation of the noise divided by the sensitivity of everything that was
    /// released with the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// The adjacency relation of the guarantee: `zero_out`, `add_or_remove` or `replace_one`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub relation: Option<Relation>,
    /// The limit on the number of releases that contain one client's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participation: Option<ParticipationView>,
    /// The population's new settings, if the entry changes the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsView>,
    /// The guarantee of the task, if the entry records a new task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<TermsView>,
    /// The digest of the previous entry; all zeros for the first entry.
    #[schema(value_type = String)]
    pub previous: EntryDigest,
    /// The digest of this entry.
    #[schema(value_type = String)]
    pub digest: EntryDigest,
}

/// The kind of a ledger entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A version with noise was released.
    #[default]
    Release,
    /// Clients of a task begin to send updates with local noise. This entry charges for all updates that they may send.
    Collection,
    /// The population's settings changed. Nothing is charged.
    Settings,
    /// A task was created. Nothing is charged yet. The noise fields describe the releases for which the task will be
    /// charged.
    Task,
}

/// The privacy settings of a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsView {
    /// The unit of privacy: `client` or `user`.
    #[schema(value_type = String)]
    pub unit: Unit,
    /// The total epsilon that all tasks of the population may spend; null without a budget.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta of the budget; null without a budget.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// The administrator's reason, if the new settings weaken the guarantee.
    pub weakened: Option<String>,
    /// The API key that made the change.
    pub by: String,
}

/// The privacy guarantee of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TermsView {
    /// The epsilon that the task may spend for every client; null for a task without privacy.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta for `epsilon`; null for a task without privacy.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// The task and version whose weights the task starts from. Null if it starts from the model's own weights.
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
}

/// The limit on the number of a task's releases that contain one client's data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ParticipationView {
    /// At most `count` releases, in any order.
    AtMost {
        /// The maximum number of releases.
        count: u64,
    },
    /// A client's data is in each release with probability `rate`, independently of other clients and releases.
    Poisson {
        /// The sampling probability.
        rate: f64,
    },
    /// All releases of the task together cost as much as `count` full releases. The first release is charged for all.
    Whole {
        /// The equivalent number of full releases.
        count: u64,
    },
}

impl EntryView {
    /// Converts a ledger entry to its representation in the API.
    pub fn of(entry: &Entry) -> Self {
        let (mut task_id, mut round_id, mut version) = (None, None, None);
        let (mut charge, mut settings, mut terms) = (None, None, None);
        let kind = match &entry.event {
            Event::Release(release) => {
                (task_id, round_id) = (Some(release.task_id), Some(release.round_id));
                (version, charge) = (Some(release.version), Some(release.charge));
                EntryKind::Release
            }
            Event::Collection(collection) => {
                (task_id, round_id) = (Some(collection.task_id), Some(collection.round_id));
                charge = Some(collection.charge);
                EntryKind::Collection
            }
            Event::Settings(set) => {
                settings = Some(SettingsView::of(set));
                EntryKind::Settings
            }
            Event::Task(made) => {
                (task_id, charge) = (Some(made.task_id), made.promise.map(|promise| promise.charge));
                terms = Some(TermsView::of(made));
                EntryKind::Task
            }
        };
        let participation = charge.map(|charge| match charge.participation {
            Participation::AtMost { count } => ParticipationView::AtMost { count },
            Participation::Poisson { rate } => ParticipationView::Poisson { rate: rate.get() },
            Participation::Whole { count } => ParticipationView::Whole { count },
        });
        Self {
            population: entry.population.clone(),
            sequence: entry.sequence,
            kind,
            at: entry.at,
            task_id,
            round_id,
            version,
            noise_multiplier: charge.map(|charge| charge.noise_multiplier.get()),
            relation: charge.map(|charge| charge.noise_multiplier.relation()),
            participation,
            settings,
            terms,
            previous: entry.previous,
            digest: entry.digest,
        }
    }

    /// Converts the representation in the API back to a ledger entry.
    ///
    /// # Errors
    /// [`NoEntry`] if a field is missing or a number is out of range.
    pub fn entry(&self) -> Result<Entry, NoEntry> {
        let event = match self.kind {
            EntryKind::Release => Event::Release(Release {
                task_id: needed("task_id", self.task_id)?,
                round_id: needed("round_id", self.round_id)?,
                version: needed("version", self.version)?,
                charge: self.charge()?,
            }),
            EntryKind::Collection => Event::Collection(Collection {
                task_id: needed("task_id", self.task_id)?,
                round_id: needed("round_id", self.round_id)?,
                charge: self.charge()?,
            }),
            EntryKind::Settings => {
                let SettingsView { unit, epsilon, delta, weakened, by } =
                    needed("settings", self.settings.clone())?;
                Event::Settings(Settings { unit, budget: epsilon.zip(delta), weakened, by })
            }
            EntryKind::Task => {
                let TermsView { epsilon, delta, warm_start } = needed("terms", self.terms)?;
                let promise = match epsilon.zip(delta) {
                    Some((epsilon, delta)) => Some(Promise { epsilon, delta, charge: self.charge()? }),
                    None => None,
                };
                let warm_start = warm_start.map(|start| (start.task_id, start.version));
                Event::Task(TaskTerms { task_id: needed("task_id", self.task_id)?, promise, warm_start })
            }
        };
        Ok(Entry {
            population: self.population.clone(),
            sequence: self.sequence,
            at: self.at,
            event,
            previous: self.previous,
            digest: self.digest,
        })
    }

    fn charge(&self) -> Result<Charge, NoEntry> {
        let participation = match needed("participation", self.participation)? {
            ParticipationView::AtMost { count } => Participation::AtMost { count },
            ParticipationView::Poisson { rate } => Participation::Poisson { rate: SamplingRate::new(rate)? },
            ParticipationView::Whole { count } => Participation::Whole { count },
        };
        let multiplier = needed("noise_multiplier", self.noise_multiplier)?;
        let noise_multiplier = NoiseMultiplier::new(multiplier, needed("relation", self.relation)?)?;
        Ok(Charge { noise_multiplier, participation })
    }
}

impl SettingsView {
    fn of(settings: &Settings) -> Self {
        Self {
            unit: settings.unit,
            epsilon: settings.budget.map(|(epsilon, _)| epsilon),
            delta: settings.budget.map(|(_, delta)| delta),
            weakened: settings.weakened.clone(),
            by: settings.by.clone(),
        }
    }
}

impl TermsView {
    fn of(terms: &TaskTerms) -> Self {
        Self {
            epsilon: terms.promise.map(|promise| promise.epsilon),
            delta: terms.promise.map(|promise| promise.delta),
            warm_start: terms.warm_start.map(|(task_id, version)| WarmStart { task_id, version }),
        }
    }
}

/// The reason why an [`EntryView`] does not describe a valid ledger entry.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoEntry {
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A field that this kind of entry requires is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
}

fn needed<T>(name: &'static str, value: Option<T>) -> Result<T, NoEntry> {
    value.ok_or(NoEntry::Missing(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(participation: Participation) -> Entry {
        // Rounding to decimal digits would change these numbers.
        let multiplier = NoiseMultiplier::new(1.0 + 1.0 / 3.0, Relation::ZeroOut);
        let charge = Charge { noise_multiplier: multiplier.expect("it is in range"), participation };
        let release = Release {
            task_id: TaskId::from_random_bytes([1; 16]),
            round_id: RoundId::from_random_bytes([2; 16]),
            version: 3,
            charge,
        };
        let (at, event) = (Timestamp(1_700_000_000_123), Event::Release(release));
        Entry::following(None, "digits".parse().expect("it is a name"), at, event)
    }

    #[test]
    fn an_entry_survives_the_wire_to_the_last_bit() {
        let rate = SamplingRate::new(0.1 + 0.2).unwrap();
        for participation in [Participation::AtMost { count: u64::MAX }, Participation::Poisson { rate }] {
            let entry = entry(participation);
            let text = serde_json::to_string(&EntryView::of(&entry)).unwrap();
            let read = serde_json::from_str::<EntryView>(&text).unwrap().entry().unwrap();
            assert_eq!(read, entry);
            assert_eq!(read.computed_digest(), entry.digest, "{text}");
        }
    }

    #[test]
    fn what_charges_nothing_survives_the_wire_too() {
        let of_release = entry(Participation::AtMost { count: 2 });
        let Event::Release(Release { task_id, round_id, charge, .. }) = of_release.event else { panic!() };
        let (epsilon, delta) = (Epsilon::new(0.1 + 0.2).unwrap(), Delta::new(1e-6).unwrap());
        let budget = Some((epsilon, delta));
        let settings = Settings { unit: Unit::User, budget, weakened: Some("why".into()), by: "key".into() };
        let promise = Some(Promise { epsilon, delta, charge });
        let none = Settings { budget: None, weakened: None, ..settings.clone() };
        for event in [
            Event::Collection(Collection { task_id, round_id, charge }),
            Event::Settings(settings),
            Event::Settings(none),
            Event::Task(TaskTerms { task_id, promise, warm_start: Some((task_id, 3)) }),
            Event::Task(TaskTerms { task_id, promise: None, warm_start: None }),
        ] {
            let entry = Entry::following(None, "digits".parse().unwrap(), Timestamp(5), event);
            let text = serde_json::to_string(&EntryView::of(&entry)).unwrap();
            let read = serde_json::from_str::<EntryView>(&text).unwrap().entry();
            assert_eq!(read, Ok(entry), "{text}");
        }
    }

    #[test]
    fn an_export_from_before_there_were_kinds_is_read() {
        let entry = entry(Participation::AtMost { count: 2 });
        let text = serde_json::to_string(&EntryView::of(&entry)).unwrap();
        let before = text.replace(r#""kind":"release","at""#, r#""released_at""#);
        assert_ne!(text, before);
        assert_eq!(serde_json::from_str::<EntryView>(&before).unwrap().entry(), Ok(entry));
    }

    #[test]
    fn what_no_ledger_has_is_refused() {
        let view = EntryView::of(&entry(Participation::AtMost { count: 1 }));
        assert!(EntryView { noise_multiplier: Some(0.0), ..view.clone() }.entry().is_err());
        let participation = ParticipationView::Poisson { rate: 1.5 };
        assert!(EntryView { participation: Some(participation), ..view.clone() }.entry().is_err());
        let without = EntryView { version: None, ..view.clone() };
        assert_eq!(without.entry(), Err(NoEntry::Missing("version")));
        let text = serde_json::to_string(&view).unwrap().replacen('{', r#"{"note":"not digested","#, 1);
        assert!(serde_json::from_str::<EntryView>(&text).is_err());
    }
}
