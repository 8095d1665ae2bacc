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

/// The maximum number of times that an update is shortened and rounded again because rounding has made it too long.
const SHORTENINGS_MAX: u32 = 3;
/// The extra factor of each shortening. It leaves room for the next rounding, which differs slightly.
const SHORTER: f64 = 0.999;

/// Encodes an update: the header, then `values` as little-endian float32.
///
/// `header.element_count` is replaced by the number of `values`, so that the two always agree.
pub fn encode_update(header: &UpdateHeader, values: &[f32]) -> Vec<u8> {
    let header = UpdateHeader { element_count: values.len() as u64, ..header.clone() };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + values.len() * 4);
    bytes.extend_from_slice(&header.encode());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// Builds an update that a coordinator accepts. Clips the delta, adds the plan's noise, compresses and encodes it, and
/// checks the values as they will be decoded.
///
/// `clipping_norm` is the assignment's clipping norm, in steps of the plan's grid. If the plan has local noise, the
/// clipping norm of the noise applies instead, the weight is 1, and the metrics are zeros, regardless of the header. A
/// delta that cannot be sent is then replaced by zeros. `rng` must be seeded by the operating system.
///
/// # Errors
/// [`MakeError`] for the first value that is not finite or outside the grid, or if adding noise or compressing fails.
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
        // An error would reveal something about the update, because it would not be protected by noise. So add noise to
        // zeros instead.
        let is_whole = delta.iter().all(|value| value.abs() <= grid.value_max);
        if !is_whole {
            delta.to_mut().fill(0.0);
        }
        add_noise(delta.to_mut(), grid, noise.scale, rng)?;
        (header.weight, header.metrics) = (1, UpdateMetrics::default());
    }
    // Clipping and noise change the delta but not the recorded products, so the products can no longer be used.
    let how = match &delta {
        Cow::Borrowed(_) => how,
        Cow::Owned(_) => Compression { products: &[], ..how },
    };
    // With local noise, the noisy update has no norm limit.
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

/// The options for compressing an update.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compression<'a> {
    /// The recipe, which gives the codec of every tensor; `None` for float32.
    pub recipe: Option<&'a Recipe>,
    /// The residual of the task's earlier updates.
    pub memory: Option<&'a Memory>,
    /// The recorded outer products of each tensor, which add up to its change. They are used only if the delta is sent
    /// unchanged, without clipping or noise.
    pub products: &'a [Option<OuterProducts>],
}

/// An encoded update, and the memory after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The bytes of the update, ready to be sent.
    pub bytes: Vec<u8>,
    /// The residual after this update. It becomes the task's memory once the coordinator has accepted the update.
    /// `None` if the recipe uses no memory.
    pub memory: Option<PendingMemory>,
}

/// Compresses an update. The coordinator checks the decoded values against the grid and the norm, and lossy rounding
/// can exceed these limits. If the decoded update is too long, shortens the delta and tries again. Returns `None` if a
/// limit is still exceeded; the update must then be sent uncompressed.
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

/// Why an update could not be built. No part of it may be sent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MakeError {
    /// A value cannot be sent.
    #[error(transparent)]
    Value(#[from] ValueFault),
    /// Adding noise failed.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Compression failed.
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
            drift_correction: None,
            fine_tuning: None,
            table_schema: None,
            image_schema: None,
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
        // The delta is clipped to norm 1. It has a thousand elements, so each is 0.0316. The tolerance is six standard
        // errors.
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
