//! Entries of a privacy ledger.

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

/// An entry of a population's privacy ledger. It is whole, to the last bit of every number, so that who gets it can
/// compute the digest anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryView {
    /// The population.
    pub population: PopulationName,
    /// Its place, from 1.
    pub sequence: u64,
    /// What it says.
    #[serde(default)]
    pub kind: EntryKind,
    /// When.
    #[serde(alias = "released_at")]
    pub at: Timestamp,
    /// The task that released a version, or whose clients began to send updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The round that made it, or whose first update was about to be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_id: Option<RoundId>,
    /// The version that was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The noise's standard deviation over the sensitivity, all that was released with the version counted in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// Which two runs look alike: `zero_out`, `add_or_remove` or `replace_one`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub relation: Option<Relation>,
    /// Who is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participation: Option<ParticipationView>,
    /// Settings, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsView>,
    /// What a task promises that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<TermsView>,
    /// The digest of the entry before; zeros for the first.
    #[schema(value_type = String)]
    pub previous: EntryDigest,
    /// The digest of this entry.
    #[schema(value_type = String)]
    pub digest: EntryDigest,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A version was released with noise.
    #[default]
    Release,
    /// Clients of a task begin to send updates with noise of their own: all that they may send is charged.
    Collection,
    /// The population's settings changed. Nothing is charged.
    Settings,
    /// A task was made. Nothing is charged; what it says of noise is what it will be charged for.
    Task,
}

/// Settings of a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsView {
    /// Whom promises protect: `client` or `user`.
    #[schema(value_type = String)]
    pub unit: Unit,
    /// What all tasks together may spend; none without a budget.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta of that.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// The reason for which they promise less than those before.
    pub weakened: Option<String>,
    /// The API key with which they were set.
    pub by: String,
}

/// What a task promises.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TermsView {
    /// What it may spend of every client; none if it promises nothing.
    #[schema(value_type = Option<f64>)]
    pub epsilon: Option<Epsilon>,
    /// The delta of that.
    #[schema(value_type = Option<f64>)]
    pub delta: Option<Delta>,
    /// The task and version with whose weights it begins, if they are not the model's own.
    #[schema(value_type = Option<Object>)]
    pub warm_start: Option<WarmStart>,
}

/// In how many releases of a task a client's data can be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ParticipationView {
    /// In at most so many, whichever they are.
    AtMost {
        /// The number.
        count: u64,
    },
    /// In each with this probability, independently of every other client and release.
    Poisson {
        /// The probability.
        rate: f64,
    },
    /// All releases of the task together cost as much as so many in full, from the first one on.
    Whole {
        /// The number.
        count: u64,
    },
}

impl EntryView {
    /// Shows an entry.
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

    /// Returns the entry that is shown.
    ///
    /// # Errors
    /// [`NoEntry`] if something is missing, or a number is none that a ledger has.
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

/// What is shown is no entry that a ledger has.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoEntry {
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// Its kind has a field that is missing.
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
        // Numbers that a careless trip through decimal digits would change.
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
