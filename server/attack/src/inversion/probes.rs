use folkmoot_engine::{Examples, Labels};
use folkmoot_simulation::chance::{Stream, uniform};

use super::{
    client::Client,
    dense::DenseLayer,
    domain::Domain,
    label::LastBias,
    layout::{Tensor, largest},
};
use crate::{CannotAttack, purpose};

/// The number of probes. A line has two numbers, so three or more probes show whether there is one.
const PROBES: usize = 6;

/// The parts of a model that give examples away, as far as there are any.
pub struct Weaknesses {
    pub dense: Option<DenseLayer>,
    pub bias: Option<LastBias>,
}

/// Finds the weaknesses of a model with updates of random examples. `classes` is the number of classes, and `outputs` that of
/// the model's outputs.
///
/// # Errors
/// If an update cannot be computed.
pub fn probe(
    client: &mut Client<'_>,
    shape: &[usize],
    tensors: &[Tensor],
    domain: &Domain,
    (classes, outputs): (usize, usize),
    seed: u64,
) -> Result<Weaknesses, CannotAttack> {
    let mut rng = Stream::new(seed, &[purpose::PROBES]);
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for number in 0..PROBES {
        let example: Vec<f32> =
            (0..domain.width()).map(|feature| domain.at(feature, uniform(&mut rng))).collect();
        let label = u32::try_from(number % classes.max(1)).unwrap_or_default();
        let update = client.update(&one(example.clone(), shape, label)?)?;
        features.push((example, update.clone()));
        labels.push((update, label));
    }
    // Updates of zeros show nothing.
    let is_moving = labels.iter().all(|(update, _)| {
        largest(update.iter().map(|value| f64::from(value.abs()))).is_some_and(|place| update[place] != 0.0)
    });
    Ok(Weaknesses {
        dense: DenseLayer::find(tensors, &features),
        bias: LastBias::find(tensors, outputs, &labels).filter(|_| is_moving),
    })
}

/// Returns one example.
///
/// # Errors
/// If a feature is not finite.
pub fn one(features: Vec<f32>, shape: &[usize], label: u32) -> Result<Examples, CannotAttack> {
    Ok(Examples::new(features, shape.to_vec(), Labels::Classes(vec![label]))?)
}
