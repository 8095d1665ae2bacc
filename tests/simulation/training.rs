//! The clients' simulated training. The values depend only on the client, the assignment and the attempt.

use folkmoot_protocol::{
    AssignmentId, Plan, ValueGrid,
    messages::Assignment,
    secure::{MaskedExtras, MaskedHeader},
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_secure_aggregation::Masking;
use folkmoot_update::{Unmasked, encode_update, mask_update};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use crate::{
    chance::Chance,
    oracle::RememberedUpdate,
    scenario::{Garbage, Nature},
};

/// An update before it is sent.
pub struct Trained {
    /// The encoded update. The client announces its digest and length.
    pub bytes: Vec<u8>,
    /// The client's record of the update.
    pub remembered: RememberedUpdate,
}

/// The properties of a task that a training needs.
pub struct Lesson<'a> {
    /// The grid on which updates are summed.
    pub grid: &'a ValueGrid,
    /// The digest of the model's schema.
    pub schema_digest: [u8; 32],
    /// The number of the model's parameters.
    pub parameter_count: usize,
    /// The plan and the masks of the update; `None` if it is sent in the clear.
    pub masking: Option<(&'a Plan, &'a Masking)>,
}

/// Simulates a training. Another attempt at the same assignment gives other values.
pub fn train(
    seed: u64,
    client: usize,
    nature: Nature,
    assignment: &Assignment,
    attempt: u64,
    lesson: &Lesson<'_>,
) -> Trained {
    let id = assignment.assignment_id;
    let mut purpose = [0; 8];
    purpose.copy_from_slice(&id.as_bytes()[..8]);
    let purpose = u64::from_le_bytes(purpose) ^ (client as u64) << 56 ^ attempt << 40 ^ 1;
    let mut chance = Chance::of(seed, purpose);
    let grid = lesson.grid;
    let weight = match chance.within(0..=3) {
        0 => 1,
        1 => grid.weight_max,
        _ => chance.within(1..=grid.weight_max),
    };
    let values: Vec<f32> = (0..lesson.parameter_count).map(|_| value(&mut chance, grid, weight)).collect();
    let example_count = chance.within(0..=10_000).max(1);
    let metrics = UpdateMetrics {
        example_count,
        loss_sum: chance.within(0..=1_000_000) as f64 / 7.0,
        correct_count: chance.within(0..=example_count),
        step_count: chance.within(1..=100),
    };
    let header = UpdateHeader {
        assignment_id: id,
        schema_digest: lesson.schema_digest,
        base_version: assignment.base_version,
        weight,
        metrics,
        element_count: values.len() as u64,
        is_compressed: false,
    };
    let is_garbage = nature.sends_garbage();
    let mut remembered = RememberedUpdate { weight, values, example_count, is_garbage, is_masked: false };
    let bytes = match (nature, lesson.masking) {
        (Nature::Hostile(garbage), None) => spoil(garbage, header, &remembered.values, grid, &mut chance),
        (_, None) => encode_update(&header, &remembered.values),
        (_, Some((plan, masking))) => {
            remembered.is_masked = true;
            let terms = plan.protection.secure().expect("only such a plan has masks");
            remembered.weight = if terms.is_weighted { weight } else { 1 };
            mask(nature, &header, &remembered, (plan, masking), &mut chance)
        }
    };
    Trained { bytes, remembered }
}

/// Masks an update, as the SDK does. A hostile client falsifies the header and the length, which the coordinator can
/// see.
fn mask(
    nature: Nature,
    header: &UpdateHeader,
    update: &RememberedUpdate,
    (plan, masking): (&Plan, &Masking),
    chance: &mut Chance,
) -> Vec<u8> {
    let mut delta = update.values.clone();
    let UpdateHeader { assignment_id, schema_digest, base_version, element_count, .. } = *header;
    let mut header = MaskedHeader { assignment_id, schema_digest, base_version, element_count };
    match nature {
        Nature::Hostile(Garbage::OtherSchema) => header.schema_digest[chance.below(32)] ^= 1,
        Nature::Hostile(Garbage::OtherVersion) => header.base_version += 1,
        Nature::Hostile(Garbage::OtherAssignment) => {
            header.assignment_id = AssignmentId::from_random_bytes(chance.id());
        }
        Nature::Hostile(Garbage::TooLong) => delta.push(0.0),
        Nature::Hostile(Garbage::TooShort) => drop(delta.pop()),
        _ => {}
    }
    let terms = plan.protection.secure().expect("only such a plan has masks");
    let metrics = UpdateMetrics { example_count: update.example_count, ..UpdateMetrics::default() };
    let extras = MaskedExtras { weight: update.weight, metrics };
    let unmasked = Unmasked { delta: &delta, weight: update.weight, extras, clipping_norm: None };
    // Without noise in the terms, nothing is drawn.
    let masked =
        mask_update(&header, plan, terms, &masking.masks(), unmasked, &mut ChaCha20Rng::from_seed([0; 32]));
    let mut bytes = masked.expect("the values are on the grid");
    if nature == Nature::Hostile(Garbage::NoUpdate) {
        bytes[chance.below(4)] ^= 1 << chance.below(8);
    }
    bytes
}

impl Nature {
    /// Returns `true` if the client does not behave like the SDK.
    pub fn is_hostile(self) -> bool {
        matches!(self, Nature::Hostile(_))
    }

    /// Returns `true` if the coordinator must refuse every update of the client.
    pub fn sends_garbage(self) -> bool {
        self.is_hostile() && self != Nature::Hostile(Garbage::TwoUpdates)
    }
}

/// Returns a random value within the grid's range. Extreme values and ties are more frequent than in a uniform
/// distribution.
fn value(chance: &mut Chance, grid: &ValueGrid, weight: u64) -> f32 {
    let step = 1.0 / (2f64.powi(grid.fraction_bits as i32) * weight as f64);
    let sign = if chance.happens(500) { 1.0 } else { -1.0 };
    let magnitude = match chance.within(0..=9) {
        0 => 0.0,
        1 => grid.value_max,
        2 => ((chance.within(0..=1000) as f64 + 0.5) * step) as f32,
        3 => (chance.within(0..=1000) as f64 * step) as f32,
        4 => f32::from_bits(chance.within(1..=0x007f_ffff) as u32),
        _ => (chance.within(0..=1 << 30) as f64 / (1u64 << 30) as f64) as f32 * grid.value_max,
    };
    sign * magnitude.min(grid.value_max)
}

fn spoil(
    garbage: Garbage,
    mut header: UpdateHeader,
    values: &[f32],
    grid: &ValueGrid,
    chance: &mut Chance,
) -> Vec<u8> {
    let mut values = values.to_vec();
    let place = chance.below(values.len());
    match garbage {
        Garbage::NotFinite => values[place] = [f32::NAN, f32::INFINITY, -f32::NAN][chance.below(3)],
        Garbage::OutOfRange => values[place] = -f32::from_bits(grid.value_max.to_bits() + 1),
        Garbage::OtherSchema => header.schema_digest[chance.below(32)] ^= 1,
        Garbage::OtherVersion => header.base_version += 1,
        Garbage::NoWeight => header.weight = 0,
        Garbage::TooMuchWeight => header.weight = grid.weight_max + 1,
        Garbage::OtherAssignment => header.assignment_id = AssignmentId::from_random_bytes(chance.id()),
        Garbage::TooLong => values.push(0.0),
        Garbage::TooShort => drop(values.pop()),
        Garbage::ImpossibleMetrics => header.metrics.loss_sum = f64::NAN,
        // These clients train correctly and misbehave when they send.
        Garbage::AnothersAssignment | Garbage::NoUpdate | Garbage::OtherDigest | Garbage::TwoUpdates => {}
    }
    let mut bytes = encode_update(&header, &values);
    if garbage == Garbage::NoUpdate {
        bytes[chance.below(8)] ^= 1 << chance.below(8);
    }
    bytes
}
