//! Updates with random values, without training.

use folkmoot_protocol::{
    PartPlace,
    messages::Assignment,
    update::{HEADER_BYTES, UpdateHeader, UpdateMetrics},
};
use folkmoot_update::codec::decode;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::task::TestTask;

/// An update before it is encoded.
#[derive(Clone, Debug)]
pub struct TestUpdate {
    /// The header, which precedes the values.
    pub header: UpdateHeader,
    /// The values.
    pub values: Vec<f32>,
}

impl TestUpdate {
    /// Creates an update for an assignment. The same assignment always gives the same update.
    pub fn of(task: &TestTask, assignment: &Assignment) -> Self {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(assignment.assignment_id.as_bytes());
        let mut rng = ChaCha8Rng::from_seed(seed);
        let example_count = rng.random_range(1..=1000);
        let header = UpdateHeader {
            assignment_id: assignment.assignment_id,
            schema_digest: task.schema.digest(),
            base_version: assignment.base_version,
            weight: example_count,
            metrics: UpdateMetrics {
                example_count,
                loss_sum: example_count as f64 * 0.5,
                correct_count: example_count / 2,
                step_count: 10,
            },
            element_count: task.parameter_count() as u64,
            is_compressed: false,
        };
        let mut values: Vec<f32> = (0..task.parameter_count()).map(|_| rng.random_range(-1.0..1.0)).collect();
        if task.part_count() > 1 {
            move_into(rng.random_range(0..task.part_count()), task, &mut values);
        }
        Self { header, values }
    }

    /// Encodes the update. The element count comes from the header, even if it is wrong.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.encode().to_vec();
        bytes.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    }
}

/// Changes the values to the update of a client that has trained this cluster or width.
fn move_into(part: usize, task: &TestTask, values: &mut [f32]) {
    let mut start = 0;
    for tensor in &task.schema.tensors {
        let end = start + tensor.shape.iter().product::<u64>() as usize;
        match task.place(tensor) {
            PartPlace::Shares => {
                values[start..end].fill(0.0);
                values[start + part] = 1.0;
            }
            PartPlace::Of(place) if !task.trains(part, place) => values[start..end].fill(0.0),
            PartPlace::Of(_) | PartPlace::Common => {}
        }
        start = end;
    }
}

/// Decodes the bytes of an update for `task`. Returns its weight and its values.
///
/// # Panics
/// If the bytes are not a valid update for `task`.
pub fn read_update(task: &TestTask, bytes: &[u8]) -> (u64, Vec<f32>) {
    let header = bytes.first_chunk::<HEADER_BYTES>().expect("an update has a header");
    let header = UpdateHeader::decode(header).expect("what was accepted can be read");
    if header.is_compressed {
        let values = decode(&task.schema, &bytes[HEADER_BYTES..]).expect("what was accepted can be read");
        return (header.weight, values);
    }
    let (values, _) = bytes[HEADER_BYTES..].as_chunks::<4>();
    (header.weight, values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}
