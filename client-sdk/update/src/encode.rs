use std::borrow::Cow;

use folkmoot_protocol::{
    OuterProducts, Plan, Recipe,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use rand::CryptoRng;

use crate::{
    ValueFault, check_values, clip_norm,
    codec::{self, EncodeError, Memory, PendingMemory},
    noise::{NoiseError, add_noise},
    norm::squares,
};

/// Times that an update which rounding has made too long is made shorter and rounded again.
const SHORTENINGS_MAX: u32 = 3;
/// How much shorter than needed: rounding is not quite the same the next time.
const SHORTER: f64 = 0.999;

/// Writes an update: the header, then `values` as little-endian float32.
///
/// `header.element_count` is taken from `values`, so that the two cannot differ.
pub fn encode_update(header: &UpdateHeader, values: &[f32]) -> Vec<u8> {
    let header = UpdateHeader { element_count: values.len() as u64, ..header.clone() };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + values.len() * 4);
    bytes.extend_from_slice(&header.encode());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// Makes an update that a coordinator takes: clips the delta, adds the plan's noise, compresses and writes it, and checks the
/// values that arrive.
///
/// `clipping_norm` is the assignment's, in steps of the plan's grid. Where the plan has local noise, its norm counts, the
/// weight is 1 and the metrics are zeros, whatever the header says; a delta that cannot be sent counts as zeros. `rng` is seeded by the operating system.
///
/// # Errors
/// The first value that is not finite or lies outside the grid, or noise that cannot be drawn.
pub fn make_update(
    mut header: UpdateHeader,
    delta: &[f32],
    plan: &Plan,
    how: Compression<'_>,
    clipping_norm: Option<u64>,
    rng: &mut impl CryptoRng,
) -> Result<Made, MakeError> {
    let (mut delta, grid) = (Cow::from(delta), &plan.grid);
    if let Some(steps) = plan.local_noise.map(|noise| noise.clipping_norm).or(clipping_norm) {
        clip_norm(delta.to_mut(), grid, steps);
    }
    if let Some(noise) = plan.local_noise {
        // That an update cannot be sent would be told without noise: then there is nothing in it.
        let is_whole = delta.iter().all(|value| value.abs() <= grid.value_max);
        if !is_whole {
            delta.to_mut().fill(0.0);
        }
        add_noise(delta.to_mut(), grid, noise.scale, rng)?;
        (header.weight, header.metrics) = (1, UpdateMetrics::default());
    }
    // Clipping and noise change the delta, and not the products.
    let how = match &delta {
        Cow::Borrowed(_) => how,
        Cow::Owned(_) => Compression { products: &[], ..how },
    };
    // After noise there is no norm to keep to.
    let norm_max = clipping_norm.filter(|_| plan.local_noise.is_none());
    if let Some(recipe) = how.recipe
        && let Some(made) = compressed(&header, &delta, plan, recipe, how, norm_max)?
    {
        return Ok(made);
    }
    let bytes = encode_update(&header, &delta);
    check_values(&bytes[HEADER_BYTES..], grid.value_max)?;
    Ok(Made { bytes, memory: None })
}

/// How an update is to be compressed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compression<'a> {
    /// The codec of every tensor; none for float32.
    pub recipe: Option<&'a Recipe>,
    /// What earlier updates of the task left out.
    pub memory: Option<&'a Memory>,
    /// For each tensor the outer products that add up to its change, where they were recorded. They are used only if the delta
    /// is sent as it was trained, without clipping and noise.
    pub products: &'a [Option<OuterProducts>],
}

/// An update, and what it leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The update.
    pub bytes: Vec<u8>,
    /// The memory as it will be when the update has been accepted.
    pub memory: Option<PendingMemory>,
}

/// Compresses an update. The values that arrive have to be on the grid and keep to the norm, too, and rounding may have moved
/// them off it or made them longer: `None` if that cannot be helped, and they are to be sent as they are.
fn compressed(
    header: &UpdateHeader,
    delta: &[f32],
    plan: &Plan,
    recipe: &Recipe,
    Compression { memory, products, .. }: Compression<'_>,
    norm_max: Option<u64>,
) -> Result<Option<Made>, MakeError> {
    let seed = header.assignment_id.seed();
    if let Some(index) = delta.iter().position(|value| !value.is_finite()) {
        return Err(ValueFault::NotFinite { index }.into());
    }
    let mut delta = Cow::from(delta);
    for _ in 0..=SHORTENINGS_MAX {
        let encoded = codec::encode_recorded(&plan.schema, recipe, &delta, products, seed, memory)?;
        let Ok(arriving) = codec::decode(&plan.schema, &encoded.bytes) else { return Ok(None) };
        if arriving.iter().any(|value| value.abs() > plan.grid.value_max) {
            return Ok(None);
        }
        let norm = norm_max.map(|steps| (steps, squares(&arriving, &plan.grid)));
        match norm {
            Some((steps, norm)) if !norm.is_within(steps) => {
                let factor = (steps as f64 / norm.steps() * SHORTER) as f32;
                delta.to_mut().iter_mut().for_each(|value| *value *= factor);
            }
            _ => {
                let header = UpdateHeader { is_compressed: true, ..header.clone() };
                let bytes = [header.encode().as_slice(), &encoded.bytes].concat();
                return Ok(Some(Made { bytes, memory: encoded.memory }));
            }
        }
    }
    Ok(None)
}

/// Why an update was not made. Nothing of it may be sent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MakeError {
    /// A value cannot be sent.
    #[error(transparent)]
    Value(#[from] ValueFault),
    /// There is no noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// It cannot be compressed as it should be.
    #[error(transparent)]
    Codec(#[from] EncodeError),
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{
        AssignmentId, BlobDigest, Codec, LocalNoise, LocalOptimizer, Loss, Protection, TensorSchema,
        TensorSpec, TrainingPlan, ValueGrid, Work,
    };
    use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

    use super::*;

    fn plan(local_noise: Option<LocalNoise>) -> Plan {
        let optimizer =
            LocalOptimizer::Sgd { learning_rate: 0.1, momentum: 0.0, nesterov: false, weight_decay: 0.0 };
        let schema = TensorSchema { tensors: Vec::new() };
        Plan {
            model: BlobDigest::of(b"model"),
            schema,
            work: Work::default(),
            device_rules: Vec::new(),
            training: TrainingPlan::new(Loss::SoftmaxCrossEntropy, optimizer),
            codec: Codec::None,
            protection: Protection::default(),
            grid: ValueGrid::default(),
            local_noise,
        }
    }

    #[test]
    fn with_local_noise_nothing_else_is_told() {
        let delta = vec![1.0f32; 1000];
        let header = UpdateHeader {
            assignment_id: AssignmentId::from_random_bytes([1; 16]),
            schema_digest: plan(None).schema.digest(),
            base_version: 3,
            weight: 77,
            metrics: UpdateMetrics { example_count: 77, loss_sum: 3.5, correct_count: 70, step_count: 4 },
            element_count: 1000,
            is_compressed: false,
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let plain = make_update(header.clone(), &delta, &plan(None), Compression::default(), None, &mut rng);
        let plain = plain.unwrap().bytes;
        assert_eq!(plain, encode_update(&header, &delta));
        let step = 2f64.powi(ValueGrid::default().fraction_bits as i32);
        let noise = LocalNoise { clipping_norm: step as u64, scale: (0.5 * step) as u64 };
        let noised = make_update(
            header.clone(),
            &delta,
            &plan(Some(noise)),
            Compression::default(),
            Some(1),
            &mut rng,
        );
        let noised = noised.unwrap().bytes;
        let told = UpdateHeader { weight: 1, metrics: UpdateMetrics::default(), ..header };
        assert_eq!(noised[..HEADER_BYTES], encode_update(&told, &delta)[..HEADER_BYTES]);
        let values: Vec<f64> = noised[HEADER_BYTES..]
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
            .collect();
        let mean = values.iter().sum::<f64>() / 1000.0;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1000.0).sqrt();
        let broken = make_update(
            header.clone(),
            &[f32::NAN; 1000],
            &plan(Some(noise)),
            Compression::default(),
            None,
            &mut rng,
        );
        assert!(broken.is_ok(), "noise over nothing");
        // Clipped to 1 over a thousand elements, each is 0.0316; six standard errors on both sides.
        assert!((mean - 0.0316).abs() < 6.0 * 0.5 / 1000f64.sqrt(), "{mean}");
        assert!((deviation - 0.5).abs() < 6.0 * 0.5 / 2000f64.sqrt(), "{deviation}");
    }

    #[test]
    fn what_rounding_makes_longer_is_made_shorter() {
        let tensor = TensorSpec { name: "weight".into(), shape: vec![100, 100] };
        let plan = Plan { schema: TensorSchema { tensors: vec![tensor] }, ..plan(None) };
        let delta: Vec<f32> = (0..10_000).map(|index| (index as f32 * 0.7).sin()).collect();
        let header = UpdateHeader {
            assignment_id: AssignmentId::from_random_bytes([1; 16]),
            schema_digest: plan.schema.digest(),
            base_version: 3,
            weight: 1,
            metrics: UpdateMetrics::default(),
            element_count: 10_000,
            is_compressed: false,
        };
        let steps = 2f64.powi(ValueGrid::default().fraction_bits as i32) as u64;
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (codec, kept) in [("eden:1", 0.99), ("eden:4", 0.99), ("random_k:0.1", 0.99), ("fp16", 0.98)] {
            let recipe = Recipe::of(codec.parse().unwrap());
            let how = Compression { recipe: Some(&recipe), ..Compression::default() };
            let made = make_update(header.clone(), &delta, &plan, how, Some(steps), &mut rng).unwrap();
            assert!(made.bytes.len() < 30_000, "{codec}: it is compressed");
            let arriving = codec::decode(&plan.schema, &made.bytes[HEADER_BYTES..]).unwrap();
            let norm = squares(&arriving, &plan.grid);
            assert!(norm.is_within(steps), "{codec}");
            assert!(norm.steps() > kept * steps as f64, "{codec}: {}", norm.steps() / steps as f64);
        }
    }
}
