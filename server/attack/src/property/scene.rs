//! The updates of clients with the property and without it.

use folkmoot_engine::{Examples, Model, TrainingPlan};
use folkmoot_simulation::chance::{Stream, below, shuffle};
use rand_chacha::rand_core::Rng;

use super::{Property, PropertySettings, sketch::Sketch};
use crate::{
    CannotAttack, Inputs,
    inversion::{Client, View, ViewKind, clipped, noised},
    parallel::in_parallel,
    purpose,
};

/// The least number of examples with the property on each side. With so few, clients share most of them, so
/// the interval of the area says little about other data.
const WITH_MIN: usize = 4;
/// The maximum size of the updates of both sides together, in bytes.
const UPDATE_BYTES_MAX: u64 = 8 << 30;
/// The number of examples of a client, if the data has enough.
const EXAMPLES: usize = 32;

/// Updates, shortened, each with whether its client has the property.
pub(super) type Sketched = Vec<(Vec<f32>, bool)>;

/// The examples of one side, by their index in the data: with the property, and without it.
struct Side {
    with: Vec<usize>,
    without: Vec<usize>,
}

/// The task as the attacker sees it, and both sides of the data.
pub(super) struct Scene<'a> {
    inputs: &'a Inputs,
    settings: &'a PropertySettings,
    model: Model,
    plain_plan: TrainingPlan,
    /// The attacker's own examples, and those of the victims.
    sides: [Side; 2],
    sketch: Sketch,
    /// The number of examples of a client.
    pub(super) examples: usize,
    /// The number of these with the property, at a client that has it.
    pub(super) with_property: usize,
}

impl<'a> Scene<'a> {
    /// Divides the data between the attacker and the victims.
    ///
    /// # Errors
    /// If too few examples have the property, or too few do not.
    pub(super) fn new(
        inputs: &'a Inputs,
        settings: &'a PropertySettings,
        property: Property,
    ) -> Result<Self, CannotAttack> {
        let data = &inputs.training.examples;
        let mut order: Vec<usize> = (0..data.len()).collect();
        shuffle(&mut order, &mut Stream::new(settings.seed, &[purpose::SIDES]));
        let (with, without): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|example| property.is_of(data, *example));
        let half = |all: &[usize], side: usize| all.iter().skip(side).step_by(2).copied().collect::<Vec<_>>();
        let sides = [0, 1].map(|side| Side { with: half(&with, side), without: half(&without, side) });
        // The second side has the smaller halves.
        let (most_with, most_without) = (sides[1].with.len(), sides[1].without.len());
        let examples = settings.examples.unwrap_or_else(|| EXAMPLES.min(most_without / 2).max(1));
        let with_property = ((examples as f64 * settings.share).round() as usize).clamp(1, examples);
        if most_with < with_property.max(WITH_MIN) || most_without < examples {
            return Err(CannotAttack::PropertyTooRare {
                property: property.to_string(),
                with: with.len(),
                without: without.len(),
                needed_with: 2 * with_property.max(WITH_MIN),
                needed_without: 2 * examples,
            });
        }
        let model = inputs.trained_model()?;
        let bytes = (2 * settings.updates as u64)
            .saturating_mul(model.parameter_count() as u64)
            .saturating_mul(size_of::<f32>() as u64);
        if bytes > UPDATE_BYTES_MAX {
            return Err(CannotAttack::UpdatesTooLarge {
                updates: settings.updates,
                bytes,
                max: UPDATE_BYTES_MAX,
            });
        }
        let plain_plan = TrainingPlan { example_privacy: None, ..inputs.description.plan.clone() };
        let sketch = Sketch::new(settings.seed, model.parameter_count());
        Ok(Self { inputs, settings, model, plain_plan, sides, sketch, examples, with_property })
    }

    /// Returns the plain updates of one side. Every second client has the property.
    ///
    /// # Errors
    /// If an update cannot be computed.
    pub(super) fn plain(&self, side: usize, step: impl Fn() + Sync) -> Result<Vec<Vec<f32>>, CannotAttack> {
        in_parallel(self.inputs.threads, self.settings.updates, |number| {
            let update = self.update(side, number, &self.plain_plan);
            step();
            update
        })
    }

    /// Returns the updates of one side as a view shows them, sketched, each with its truth. `plain` has the plain ones.
    ///
    /// # Errors
    /// If an update cannot be computed.
    pub(super) fn seen(
        &self,
        side: usize,
        view: &View,
        plain: &[Vec<f32>],
    ) -> Result<Sketched, CannotAttack> {
        in_parallel(self.inputs.threads, plain.len(), |number| {
            let mut rng = self.chance(purpose::NOISE, side, number);
            let seen = match view.kind {
                ViewKind::Plain => plain[number].clone(),
                ViewKind::Noise if view.is_example_privacy => {
                    self.update(side, number, &self.inputs.description.plan)?
                }
                ViewKind::Noise => {
                    noised(plain[number].clone(), &self.inputs.description.grid, view, rng.next_u64())?
                }
                ViewKind::Sum => sum(plain, number, view.clients.unwrap_or(1), &mut rng),
            };
            Ok((self.sketch.of(seen), has_property(number)))
        })
    }

    /// Returns the attacker's own updates before the noise that a device adds at the end, sketched; `None` for a view without such noise.
    ///
    /// # Errors
    /// If an update cannot be computed.
    pub(super) fn before_noise(
        &self,
        view: &View,
        plain: &[Vec<f32>],
    ) -> Result<Option<Sketched>, CannotAttack> {
        if view.kind != ViewKind::Noise || view.is_example_privacy {
            return Ok(None);
        }
        let grid = &self.inputs.description.grid;
        let known = in_parallel(self.inputs.threads, plain.len(), |number| {
            Ok((self.sketch.of(clipped(plain[number].clone(), grid, view)), has_property(number)))
        });
        known.map(Some)
    }

    /// Computes the update of a client of one side.
    fn update(&self, side: usize, number: usize, plan: &TrainingPlan) -> Result<Vec<f32>, CannotAttack> {
        let mut rng = self.chance(purpose::HOLDINGS, side, number);
        let Side { with, without } = &self.sides[side];
        let count = if has_property(number) { self.with_property } else { 0 };
        let mut held = drawn(with, count, &mut rng);
        held.extend(drawn(without, self.examples - count, &mut rng));
        shuffle(&mut held, &mut rng);
        let examples: Examples = self.inputs.training.examples.subset(&held)?;
        Ok(Client::new(&self.model, plan.clone(), rng.next_u64()).update(&examples)?)
    }

    fn chance(&self, purpose: u64, side: usize, number: usize) -> Stream {
        Stream::new(self.settings.seed, &[purpose, side as u64, number as u64])
    }
}

/// Returns whether a client has the property.
fn has_property(number: usize) -> bool {
    number.is_multiple_of(2)
}

/// Draws some of the examples without replacement.
fn drawn(from: &[usize], count: usize, rng: &mut Stream) -> Vec<usize> {
    let mut order = from.to_vec();
    shuffle(&mut order, rng);
    order.truncate(count);
    order
}

/// Returns the sum of an update and the updates of other clients on the same side, none of which has the property.
fn sum(plain: &[Vec<f32>], number: usize, clients: u64, rng: &mut Stream) -> Vec<f32> {
    let mut sum: Vec<f64> = plain[number].iter().map(|value| f64::from(*value)).collect();
    let others: Vec<usize> =
        (0..plain.len()).filter(|other| *other != number && !has_property(*other)).collect();
    for _ in 1..clients {
        let Some(other) = others.get(below(rng, others.len())) else { break };
        sum.iter_mut().zip(&plain[*other]).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    sum.into_iter().map(|value| value as f32).collect()
}
