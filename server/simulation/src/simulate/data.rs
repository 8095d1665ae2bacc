//! The examples of a simulated population. They are generated or given; some are held out; the others are divided among
//! the clients and possibly poisoned.

use std::{collections::BTreeSet, sync::Arc};

use folkmoot_data::Dataset;
use folkmoot_engine::{Examples, Labels};
use folkmoot_protocol::Work;

use super::{Canaries, SimulateError, WorldSettings};
use crate::{
    attack::{Adversary, Attack},
    chance::{Stream, shuffle},
    partition::{Part, Partition, Population},
    synthetic::Synthetic,
};

/// The settings of examples that are generated.
pub type SyntheticData = Synthetic;

/// The source of the examples.
#[derive(Clone)]
pub enum DataSource {
    /// The caller has read the examples and may give separate held-out examples.
    Given {
        /// The examples to divide among the clients.
        training: Dataset,
        /// The examples on which versions are measured. If `None`, a share of `training` is held out.
        held_out: Option<Examples>,
    },
    /// The simulation generates the examples from the world's settings.
    Made,
    /// There are no examples: the clients are the canaries of an audit.
    Canaries(Canaries),
}

/// The examples of every client.
pub struct Crowd {
    examples: Arc<Examples>,
    parts: Vec<Part>,
    hostile: BTreeSet<usize>,
    adversary: Option<Adversary>,
    canaries: Option<Canaries>,
    seed: u64,
    /// The held-out examples, which no client holds.
    pub held_out: Option<Examples>,
    /// The share of each client's examples on which the client measures versions and does not train; 0 if it does both on
    /// all.
    own_held_out: f64,
}

/// The purposes of random streams.
mod purpose {
    pub const HELD_OUT: u64 = 1;
    pub const PARTITION: u64 = 2;
    pub const ADVERSARY: u64 = 3;
    pub const KNOWN: u64 = 4;
}

impl Crowd {
    /// Divides the examples among the clients according to the settings. With `is_personal`, versions are measured on the
    /// clients.
    ///
    /// # Errors
    /// If the examples cannot be generated, held out or divided, or there are none, or there are held-out examples that
    /// nobody would measure on, or too few hostile clients for their attack.
    pub fn deal(
        settings: &WorldSettings,
        source: DataSource,
        is_personal: bool,
    ) -> Result<Self, SimulateError> {
        let on_clients = settings.held_out_of_clients || is_personal;
        let from_all = if on_clients { 0.0 } else { settings.held_out_share };
        let mut canaries = None;
        let (examples, groups, held_out) = match source {
            DataSource::Canaries(drawn) => {
                // Give each client one example, so that it is eligible. The example is never used.
                let examples =
                    Examples::new(vec![0.0; drawn.len()], vec![1], Labels::Classes(vec![0; drawn.len()]))?;
                canaries = Some(drawn);
                (examples, None, None)
            }
            DataSource::Given { held_out: Some(_), .. } if on_clients => {
                let detail = "versions are measured on each client's own examples, because the task has personal tensors \
                              or the world sets held_out_of_clients; leave the separate held-out examples away";
                return Err(SimulateError::Data(detail.into()));
            }
            DataSource::Given { training, held_out: Some(held_out) } => {
                (training.examples, training.groups.map(|groups| groups.of), Some(held_out))
            }
            DataSource::Given { training, held_out: None } => {
                split(settings.seed, from_all, training.examples, training.groups.map(|groups| groups.of))?
            }
            DataSource::Made => {
                let synthetic = settings.synthetic.as_ref().ok_or_else(|| {
                    SimulateError::Data(
                        "there is no data; name a data file or add a [synthetic] table".into(),
                    )
                })?;
                let made = synthetic.make(settings.seed)?;
                split(settings.seed, from_all, made.examples, Some(made.groups))?
            }
        };
        let population = Population { examples: &examples, groups: groups.as_deref() };
        let mut rng = Stream::new(settings.seed, &[purpose::PARTITION]);
        let clients = natural_clients(settings, groups.as_deref()).unwrap_or(settings.clients);
        let parts = settings.partition.deal(&population, clients, &mut rng)?;
        let mut hostile = BTreeSet::new();
        if let Some(adversary) = &settings.adversary {
            let mut seed = Stream::new(settings.seed, &[purpose::ADVERSARY]);
            hostile = adversary.hostile(parts.len(), rand::Rng::next_u64(&mut seed));
            adversary.check_count(with_examples(&hostile, &parts).count())?;
        }
        Ok(Self {
            examples: Arc::new(examples),
            parts,
            hostile,
            adversary: settings.adversary.clone(),
            canaries,
            seed: settings.seed,
            held_out,
            own_held_out: if on_clients { settings.held_out_share } else { 0.0 },
        })
    }

    /// Returns the number of clients.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether there are no clients.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of examples that a client holds.
    pub fn example_count(&self, client: usize) -> u64 {
        self.parts[client].indices.len() as u64
    }

    /// Returns whether versions are measured on the clients, each on its own held-out examples.
    pub fn measures_itself(&self) -> bool {
        self.own_held_out > 0.0
    }

    /// Returns a client's examples for a work, poisoned if it is hostile and its attack is on data.
    ///
    /// # Errors
    /// If the attack does not fit the data.
    pub fn examples(&self, client: usize, work: Work) -> Result<Examples, SimulateError> {
        let mut held = self.parts[client].examples(&self.examples)?;
        if self.measures_itself() && held.len() > 1 {
            let mut order: Vec<usize> = (0..held.len()).collect();
            shuffle(&mut order, &mut Stream::new(self.seed, &[purpose::HELD_OUT, client as u64]));
            let kept_back = (held.len() as f64 * self.own_held_out).round() as usize;
            let (measured, trained) = order.split_at_mut(kept_back.clamp(1, held.len() - 1));
            let chosen = if work == Work::Evaluation { measured } else { trained };
            chosen.sort_unstable();
            held = held.subset(chosen)?;
        }
        match self.attack(client).filter(|attack| attack.is_on_data()) {
            Some(attack) => Ok(attack.poison(&held, self.seed)?),
            None => Ok(held),
        }
    }

    /// Returns the canaries; `None` if the clients are not canaries.
    pub fn canaries(&self) -> Option<&Canaries> {
        self.canaries.as_ref()
    }

    /// Returns the attack of a client; `None` if it is honest.
    pub fn attack(&self, client: usize) -> Option<&Attack> {
        let adversary = self.adversary.as_ref().filter(|_| self.hostile.contains(&client))?;
        Some(&adversary.attack)
    }

    /// Returns the hostile clients that have examples, in the order of their numbers, and their attack; `None` if there are
    /// none.
    pub(super) fn hostile(&self) -> Option<(Vec<usize>, &Attack)> {
        let hostile: Vec<usize> = with_examples(&self.hostile, &self.parts).collect();
        let adversary = self.adversary.as_ref().filter(|_| !hostile.is_empty())?;
        Some((hostile, &adversary.attack))
    }

    /// Returns the seed of the training from which colluding clients know a client's honest update of a version.
    pub(super) fn known_seed(&self, client: usize, version: u64) -> u64 {
        let mut rng = Stream::new(self.seed, &[purpose::KNOWN, version, client as u64]);
        rand::Rng::next_u64(&mut rng)
    }
}

/// Returns the clients that have examples.
fn with_examples(clients: &BTreeSet<usize>, parts: &[Part]) -> impl Iterator<Item = usize> {
    clients.iter().copied().filter(|client| !parts[*client].indices.is_empty())
}

type Split = (Examples, Option<Vec<u32>>, Option<Examples>);

/// Holds out a random share of the examples.
fn split(
    seed: u64,
    share: f64,
    examples: Examples,
    groups: Option<Vec<u32>>,
) -> Result<Split, SimulateError> {
    let count = (examples.len() as f64 * share).round() as usize;
    if count == 0 {
        return Ok((examples, groups, None));
    }
    let mut order: Vec<usize> = (0..examples.len()).collect();
    shuffle(&mut order, &mut Stream::new(seed, &[purpose::HELD_OUT]));
    let (held_out, training) = order.split_at_mut(count);
    held_out.sort_unstable();
    training.sort_unstable();
    let groups = groups.map(|groups| training.iter().map(|index| groups[*index]).collect());
    Ok((examples.subset(training)?, groups, Some(examples.subset(held_out)?)))
}

/// Returns the number of clients under a natural partition, at most the number of groups; `None` under another
/// partition.
fn natural_clients(settings: &WorldSettings, groups: Option<&[u32]>) -> Option<usize> {
    let groups = groups.filter(|_| matches!(settings.partition, Partition::Natural(_)))?;
    Some(groups.iter().collect::<BTreeSet<_>>().len().min(settings.clients))
}
