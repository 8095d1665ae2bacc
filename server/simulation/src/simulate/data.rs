//! The examples of a simulated population: made or given, held out, dealt out, poisoned.

use std::{collections::BTreeSet, sync::Arc};

use folkmoot_data::Dataset;
use folkmoot_engine::{Examples, Labels};

use super::{Canaries, SimulateError, WorldSettings};
use crate::{
    attack::{Adversary, Attack},
    chance::{Stream, shuffle},
    partition::{Part, Partition, Population},
    synthetic::Synthetic,
};

/// Examples that are made.
pub type SyntheticData = Synthetic;

/// Where the examples come from.
pub enum DataSource {
    /// They were read, perhaps with those that are held out.
    Given {
        /// The examples to deal out.
        training: Dataset,
        /// Those on which versions are measured; without them a share is held out.
        held_out: Option<Examples>,
    },
    /// The world's settings say how they are made.
    Made,
    /// There are none: the clients are the canaries of an audit.
    Canaries(Canaries),
}

/// What every client holds.
pub struct Crowd {
    examples: Arc<Examples>,
    parts: Vec<Part>,
    hostile: BTreeSet<usize>,
    adversary: Option<Adversary>,
    canaries: Option<Canaries>,
    seed: u64,
    /// The examples that nobody holds.
    pub held_out: Option<Examples>,
}

/// What the words of a stream mean.
mod purpose {
    pub const HELD_OUT: u64 = 1;
    pub const PARTITION: u64 = 2;
    pub const ADVERSARY: u64 = 3;
}

impl Crowd {
    /// Deals the examples out as the settings say.
    ///
    /// # Errors
    /// If they cannot be made or dealt out.
    pub fn deal(settings: &WorldSettings, source: DataSource) -> Result<Self, SimulateError> {
        let mut canaries = None;
        let (examples, groups, held_out) = match source {
            DataSource::Canaries(drawn) => {
                // One example each, so that they may take part; nobody looks at it.
                let examples =
                    Examples::new(vec![0.0; drawn.len()], vec![1], Labels::Classes(vec![0; drawn.len()]))?;
                canaries = Some(drawn);
                (examples, None, None)
            }
            DataSource::Given { training, held_out: Some(held_out) } => {
                (training.examples, training.groups.map(|groups| groups.of), Some(held_out))
            }
            DataSource::Given { training, held_out: None } => {
                split(settings, training.examples, training.groups.map(|groups| groups.of))?
            }
            DataSource::Made => {
                let synthetic = settings.synthetic.as_ref().ok_or_else(|| {
                    SimulateError::Data("there is no data: name a file, or describe [synthetic]".into())
                })?;
                let made = synthetic.make(settings.seed)?;
                split(settings, made.examples, Some(made.groups))?
            }
        };
        let population = Population { examples: &examples, groups: groups.as_deref() };
        let mut rng = Stream::new(settings.seed, &[purpose::PARTITION]);
        let clients = natural_clients(settings, groups.as_deref()).unwrap_or(settings.clients);
        let parts = settings.partition.deal(&population, clients, &mut rng)?;
        let hostile = settings.adversary.as_ref().map(|adversary| {
            let mut seed = Stream::new(settings.seed, &[purpose::ADVERSARY]);
            adversary.hostile(parts.len(), rand::Rng::next_u64(&mut seed))
        });
        Ok(Self {
            examples: Arc::new(examples),
            parts,
            hostile: hostile.unwrap_or_default(),
            adversary: settings.adversary.clone(),
            canaries,
            seed: settings.seed,
            held_out,
        })
    }

    /// Returns how many clients there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Says whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns how many examples a client holds.
    pub fn example_count(&self, client: usize) -> u64 {
        self.parts[client].indices.len() as u64
    }

    /// Returns a client's examples, poisoned if it is hostile and its attack is on data.
    ///
    /// # Errors
    /// If the attack does not go with the data.
    pub fn examples(&self, client: usize) -> Result<Examples, SimulateError> {
        let held = self.parts[client].examples(&self.examples)?;
        match self.attack(client).filter(|attack| attack.is_on_data()) {
            Some(attack) => Ok(attack.poison(&held, self.seed)?),
            None => Ok(held),
        }
    }

    /// Returns the canaries, if the clients are some.
    pub fn canaries(&self) -> Option<&Canaries> {
        self.canaries.as_ref()
    }

    /// Returns what a hostile client does.
    pub fn attack(&self, client: usize) -> Option<&Attack> {
        let adversary = self.adversary.as_ref().filter(|_| self.hostile.contains(&client))?;
        Some(&adversary.attack)
    }
}

type Split = (Examples, Option<Vec<u32>>, Option<Examples>);

/// Holds a share out, drawn by chance.
fn split(
    settings: &WorldSettings,
    examples: Examples,
    groups: Option<Vec<u32>>,
) -> Result<Split, SimulateError> {
    let count = (examples.len() as f64 * settings.held_out_share).round() as usize;
    if count == 0 {
        return Ok((examples, groups, None));
    }
    let mut order: Vec<usize> = (0..examples.len()).collect();
    shuffle(&mut order, &mut Stream::new(settings.seed, &[purpose::HELD_OUT]));
    let (held_out, training) = order.split_at_mut(count);
    held_out.sort_unstable();
    training.sort_unstable();
    let groups = groups.map(|groups| training.iter().map(|index| groups[*index]).collect());
    Ok((examples.subset(training)?, groups, Some(examples.subset(held_out)?)))
}

/// Where clients are dealt natural groups, there are no more clients than groups.
fn natural_clients(settings: &WorldSettings, groups: Option<&[u32]>) -> Option<usize> {
    let groups = groups.filter(|_| matches!(settings.partition, Partition::Natural(_)))?;
    Some(groups.iter().collect::<BTreeSet<_>>().len().min(settings.clients))
}
