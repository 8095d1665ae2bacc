use std::collections::BTreeSet;

use folkmoot_engine::{Model, TrainError, TrainingPlan};
use folkmoot_simulation::chance::{Stream, below, shuffle, uniform};
use rand_chacha::rand_core::Rng;

use super::{
    InversionSettings,
    client::Client,
    domain::{Domain, psnr},
    outcome::{Attempt, Inversion, Seen, Victim},
    probes::{Weaknesses, one},
    search::{Found, descend, distance},
    view::{View, ViewKind, median_norm, noised, views},
};
use crate::{CannotAttack, Inputs, purpose};

/// The number of random examples that a reconstruction is compared with.
const GUESSES: usize = 200;

/// The knowledge of the attacker.
pub struct Known {
    pub model: Model,
    /// The plan, without example privacy.
    pub plan: TrainingPlan,
    pub domain: Domain,
    pub weaknesses: Weaknesses,
    /// True if examples are also searched by optimisation.
    pub is_searched: bool,
    /// The number of classes.
    pub classes: usize,
}

/// Everything that the attacks on all victims share.
pub struct Scene<'a> {
    inputs: &'a Inputs,
    settings: &'a InversionSettings,
    known: Known,
    /// The examples of each victim.
    held: Vec<Vec<usize>>,
    pub views: Vec<View>,
}

impl<'a> Scene<'a> {
    /// Draws the victims.
    ///
    /// # Errors
    /// If an update cannot be computed.
    pub fn new(
        inputs: &'a Inputs,
        settings: &'a InversionSettings,
        known: Known,
    ) -> Result<Self, CannotAttack> {
        let mut order: Vec<usize> = (0..inputs.training.examples.len()).collect();
        shuffle(&mut order, &mut Stream::new(settings.seed, &[purpose::VICTIMS]));
        let each = settings.examples.clamp(1, order.len());
        let held = order.chunks_exact(each).take(settings.victims).map(<[usize]>::to_vec).collect();
        let mut scene = Self { inputs, settings, known, held, views: Vec::new() };
        let mut client = scene.client();
        let updates =
            scene.held.iter().map(|held| Ok(client.update(&scene.inputs.training.examples.subset(held)?)?));
        let updates: Vec<Vec<f32>> = updates.collect::<Result<_, CannotAttack>>()?;
        let median = median_norm(&updates);
        scene.views = views(&inputs.description, settings.views, median.unwrap_or(1.0));
        Ok(scene)
    }

    /// Returns the number of victims.
    pub fn victims(&self) -> usize {
        self.held.len()
    }

    /// Attacks one victim in one view.
    ///
    /// # Errors
    /// If an update cannot be computed.
    pub fn attack(&self, victim: usize, view: usize) -> Result<Seen, CannotAttack> {
        let view = &self.views[view];
        let update = self.observed(victim, view)?;
        let labels: Vec<u32> = self.held[victim].iter().map(|index| self.class(*index)).collect();
        let guess = self.known.weaknesses.bias.as_ref().map(|bias| bias.guess(&update));
        let attempt = |example: Vec<f32>, loss: f64| self.attempt(victim, view, example, loss);
        let mut client = self.client();
        let shape = self.inputs.training.examples.feature_shape();
        let label = guess.filter(|guess| (*guess as usize) < self.known.classes).unwrap_or(labels[0]);
        let mut loss = |example: &[f32]| -> Result<f64, CannotAttack> {
            match client.update(&one(example.to_vec(), shape, label)?) {
                Ok(candidate) => Ok(distance(&update, &candidate)),
                Err(TrainError::Diverged { .. }) => Ok(2.0),
                Err(error) => Err(error.into()),
            }
        };
        let analytic = match self
            .known
            .weaknesses
            .dense
            .as_ref()
            .and_then(|dense| dense.invert(&update, &self.known.domain))
        {
            Some(example) => {
                let distance = loss(&example)?;
                Some(attempt(example, distance))
            }
            None => None,
        };
        let searched = match self.known.is_searched {
            true => {
                let found = self.search(victim, &mut loss)?;
                Some(attempt(found.example, found.loss))
            }
            false => None,
        };
        let label_is_right = guess.map(|guess| labels.contains(&guess));
        Ok(Seen { view: view.kind, label: guess, label_is_right, analytic, searched })
    }

    /// Searches from several random examples and returns the best candidate.
    fn search(
        &self,
        victim: usize,
        loss: &mut impl FnMut(&[f32]) -> Result<f64, CannotAttack>,
    ) -> Result<Found, CannotAttack> {
        let mut best: Option<Found> = None;
        for restart in 0..self.settings.restarts.max(1) {
            let words = [purpose::STARTS, victim as u64, restart];
            let mut rng = Stream::new(self.settings.seed, &words);
            let start = (0..self.known.domain.width())
                .map(|feature| self.known.domain.at(feature, uniform(&mut rng)))
                .collect();
            let found = descend(loss, start, &self.known.domain, self.settings.iterations)?;
            if best.as_ref().is_none_or(|best| found.loss < best.loss) {
                best = Some(found);
            }
        }
        Ok(best.expect("there is at least one start"))
    }

    /// Returns the update of a victim as the coordinator sees it.
    fn observed(&self, victim: usize, view: &View) -> Result<Vec<f32>, CannotAttack> {
        let examples = &self.inputs.training.examples;
        let own = examples.subset(&self.held[victim])?;
        let mut rng = Stream::new(self.settings.seed, &[purpose::NOISE, victim as u64]);
        match view.kind {
            ViewKind::Plain => Ok(self.client().update(&own)?),
            ViewKind::Noise if view.is_example_privacy => {
                let plan = self.inputs.description.plan.clone();
                Ok(Client::new(&self.known.model, plan, rng.next_u64()).update(&own)?)
            }
            ViewKind::Noise => {
                let update = self.client().update(&own)?;
                Ok(noised(update, &self.inputs.description.grid, view, rng.next_u64())?)
            }
            ViewKind::Sum => {
                let mut client = self.client();
                let mut sum: Vec<f64> = client.update(&own)?.into_iter().map(f64::from).collect();
                for held in self.others(victim, view) {
                    let update = client.update(&examples.subset(&held)?)?;
                    sum.iter_mut().zip(update).for_each(|(sum, value)| *sum += f64::from(value));
                }
                Ok(sum.into_iter().map(|value| value as f32).collect())
            }
        }
    }

    /// Returns a client without privacy.
    fn client(&self) -> Client<'_> {
        Client::new(&self.known.model, self.known.plan.clone(), self.settings.seed)
    }

    /// Draws the examples of the other clients of a sum; none in other views.
    fn others(&self, victim: usize, view: &View) -> Vec<Vec<usize>> {
        let (count, each) = (self.inputs.training.examples.len(), self.held[victim].len());
        let mut rng = Stream::new(self.settings.seed, &[purpose::VICTIMS, victim as u64]);
        let others = 1..view.clients.unwrap_or(1);
        others.map(|_| (0..each).map(|_| below(&mut rng, count)).collect()).collect()
    }

    /// Returns the features of an example.
    fn features(&self, index: usize) -> &[f32] {
        let width = self.known.domain.width();
        &self.inputs.training.examples.features()[index * width..(index + 1) * width]
    }

    /// Returns the class of an example.
    fn class(&self, index: usize) -> u32 {
        self.inputs.classes().and_then(|classes| classes.get(index)).copied().unwrap_or_default()
    }

    /// Measures a reconstruction: its distance to the nearest of the examples that have gone into the update. In a sum these
    /// are the examples of all clients, because a reconstruction of anyone's example is a success.
    fn attempt(&self, victim: usize, view: &View, example: Vec<f32>, loss: f64) -> Attempt {
        let held = self.others(victim, view).concat();
        let held: Vec<usize> = self.held[victim].iter().copied().chain(held).collect();
        let squared_error = self.nearest(&held, &example);
        let guess = self.guess_error(victim, &held);
        Attempt {
            squared_error,
            relative_error: if guess > 0.0 { squared_error / guess } else { 1.0 },
            psnr: psnr(squared_error),
            cosine_distance: loss,
            example,
        }
    }

    /// Returns the squared error to the nearest of these examples.
    fn nearest(&self, held: &[usize], example: &[f32]) -> f64 {
        let errors = held.iter().map(|index| self.known.domain.squared_error(self.features(*index), example));
        errors.fold(f64::INFINITY, f64::min)
    }

    /// Returns the mean squared error of a random guess: an example of the data that has not gone into the update.
    fn guess_error(&self, victim: usize, held: &[usize]) -> f64 {
        let count = self.inputs.training.examples.len();
        let inside: BTreeSet<usize> = held.iter().copied().collect();
        let mut guesses: Vec<usize> = (0..count).filter(|index| !inside.contains(index)).collect();
        shuffle(&mut guesses, &mut Stream::new(self.settings.seed, &[purpose::GUESSES, victim as u64]));
        guesses.truncate(GUESSES);
        let errors = guesses.iter().map(|guess| self.nearest(held, self.features(*guess)));
        errors.sum::<f64>() / (guesses.len().max(1) as f64)
    }

    /// Collects the results of all victims and views, in order.
    pub fn outcome(&self, seen: Vec<Seen>, remarks: Vec<String>) -> Inversion {
        let victim = |(number, seen): (usize, &[Seen])| {
            let held = &self.held[number];
            Victim {
                examples: held.clone(),
                labels: held.iter().map(|index| self.class(*index)).collect(),
                originals: held.iter().map(|index| self.features(*index).to_vec()).collect(),
                guess_squared_error: self.guess_error(number, held),
                seen: seen.to_vec(),
            }
        };
        let victims: Vec<Victim> = seen.chunks(self.views.len()).enumerate().map(victim).collect();
        Inversion::of(self.views.clone(), victims, remarks, &self.known.domain)
    }
}
