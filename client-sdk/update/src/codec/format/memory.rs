use std::collections::BTreeMap;

use folkmoot_protocol::{Recipe, TaskId, TensorSchema, limits::PARAMETERS_MAX};

use crate::codec::Fault;
use crate::codec::coding::bytes::Bytes;

/// The first four bytes of a stored memory.
const MAGIC: [u8; 4] = *b"FMEM";
/// The maximum number of versions for which a residual is kept. An older residual is too stale to be added to an
/// update.
const VERSIONS_MAX: u64 = 10;
/// The format version that this build writes and reads.
const FORMAT_VERSION: u16 = 2;

/// The part of its updates that a client did not send, kept on the device for its next round of the same task (Seide et
/// al. 2014; Karimireddy et al. 2019, algorithm 2): `p = x + e`; `C(p)` is sent; `e = p - C(p)`.
///
/// It has a float32 for every element, so it is as large as the model, or twice as large with momentum.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    pub(crate) task_id: TaskId,
    pub(crate) schema_digest: [u8; 32],
    /// The digest of the recipe to which momentum, rounds and starts belong; zeros if it is unknown. The residual does
    /// not depend on the recipe.
    pub(crate) recipe_digest: [u8; 32],
    /// The model version on which the next update is based.
    pub(crate) version: u64,
    /// The number of updates so far.
    pub(crate) rounds: u32,
    /// The residual of every element.
    pub(crate) residual: Vec<f32>,
    /// The momentum of every element. Empty unless the codec is deep gradient compression.
    pub(crate) momentum: Vec<f32>,
    /// The starting factor of the next power iteration, by tensor.
    pub(crate) starts: BTreeMap<u32, Vec<f32>>,
}

/// The memory that takes effect if the coordinator accepts the update; otherwise it must be dropped.
///
/// Between upload and answer, it is stored beside the current memory, as [`Self::to_bytes`].
#[derive(Clone, Debug, PartialEq)]
pub struct PendingMemory(pub(crate) Memory);

/// The bytes are not a stored memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored memory cannot be read: {0}; delete it")]
pub struct MemoryError(&'static str);

impl Memory {
    /// Creates an empty memory for the updates of one task. The next update starts from `version`.
    pub fn new(task_id: TaskId, schema: &TensorSchema, version: u64) -> Self {
        let residual = vec![0.0; schema.parameter_count() as usize];
        let (momentum, starts) = (Vec::new(), BTreeMap::new());
        let (schema_digest, recipe_digest) = (schema.digest(), [0; 32]);
        Self { task_id, schema_digest, recipe_digest, version, rounds: 0, residual, momentum, starts }
    }

    /// Returns the memory for the next update: the stored memory, or an empty one if there is none or it is stale.
    /// `None` if the recipe needs no memory. If another recipe wrote the stored memory, its residual is kept, except
    /// for tensors that need no memory under this recipe, and its momentum and starting factors are dropped.
    pub fn with_recipe(
        recipe: Option<&Recipe>,
        stored: Option<Self>,
        task_id: TaskId,
        schema: &TensorSchema,
        version: u64,
    ) -> Option<Self> {
        let recipe = recipe.filter(|recipe| recipe.uses_memory())?;
        let stored = stored.and_then(|memory| memory.for_update(task_id, schema, version, VERSIONS_MAX));
        let memory = stored.unwrap_or_else(|| Self::new(task_id, schema, version));
        Some(memory.of_recipe(recipe, schema))
    }

    fn of_recipe(mut self, recipe: &Recipe, schema: &TensorSchema) -> Self {
        let recipe_digest = recipe.digest();
        if self.recipe_digest == recipe_digest {
            return self;
        }
        let mut rest = self.residual.as_mut_slice();
        for (tensor, codec) in schema.tensors.iter().zip(recipe.codecs(schema)) {
            let count = tensor.element_count().unwrap_or(0) as usize;
            let (own, after) = rest.split_at_mut(count.min(rest.len()));
            if !codec.uses_memory() {
                own.fill(0.0);
            }
            rest = after;
        }
        Self { recipe_digest, rounds: 0, momentum: Vec::new(), starts: BTreeMap::new(), ..self }
    }

    /// Returns the memory for an update that starts from `version`, or `None` if it is stale: it belongs to another
    /// task or model, to a later version, or to one more than `versions_max` versions earlier.
    ///
    /// An old residual would push the model back to a state that it has left.
    pub fn for_update(
        self,
        task_id: TaskId,
        schema: &TensorSchema,
        version: u64,
        versions_max: u64,
    ) -> Option<Self> {
        let is_same = self.task_id == task_id && self.schema_digest == schema.digest();
        let age = version.checked_sub(self.version)?;
        (is_same && age <= versions_max).then_some(Self { version, ..self })
    }

    /// Serializes the memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128 + 4 * (self.residual.len() + self.momentum.len()));
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend(self.task_id.as_bytes());
        bytes.extend(self.schema_digest);
        bytes.extend(self.recipe_digest);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.rounds.to_le_bytes());
        bytes.extend((self.residual.len() as u32).to_le_bytes());
        bytes.push(u8::from(!self.momentum.is_empty()));
        bytes.extend((self.starts.len() as u32).to_le_bytes());
        put(&self.residual, &mut bytes);
        put(&self.momentum, &mut bytes);
        for (tensor, start) in &self.starts {
            bytes.extend(tensor.to_le_bytes());
            bytes.extend((start.len() as u32).to_le_bytes());
            put(start, &mut bytes);
        }
        bytes
    }

    /// Deserializes the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`MemoryError`] if the bytes are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MemoryError> {
        read(&mut Bytes(bytes)).map_err(|Fault(detail)| MemoryError(detail))
    }
}

impl PendingMemory {
    /// Converts the pending memory to the current one. Call it once the coordinator has accepted the update.
    pub fn accepted(self) -> Memory {
        self.0
    }

    /// Serializes the pending memory, in the format of a memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// Deserializes the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`MemoryError`] if the bytes are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MemoryError> {
        Memory::from_bytes(bytes).map(Self)
    }
}

fn put(values: &[f32], bytes: &mut Vec<u8>) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn read(bytes: &mut Bytes<'_>) -> Result<Memory, Fault> {
    if bytes.array()? != MAGIC || u16::from_le_bytes(bytes.array()?) != FORMAT_VERSION {
        return Err(Fault("its format is unknown"));
    }
    let task_id = TaskId::from_bytes(bytes.array()?);
    let schema_digest = bytes.array()?;
    let recipe_digest = bytes.array()?;
    let version = u64::from_le_bytes(bytes.array()?);
    let rounds = bytes.u32()?;
    let count = bytes.u32()?;
    let [has_momentum] = bytes.array()?;
    let start_count = bytes.u32()?;
    if u64::from(count) > PARAMETERS_MAX || has_momentum > 1 {
        return Err(Fault("its lengths are inconsistent"));
    }
    let residual = floats(bytes, count as usize)?;
    let momentum = if has_momentum == 1 { floats(bytes, count as usize)? } else { Vec::new() };
    let mut starts = BTreeMap::new();
    for _ in 0..start_count {
        let (tensor, length) = (bytes.u32()?, bytes.u32()?);
        starts.insert(tensor, floats(bytes, length as usize)?);
    }
    bytes.end()?;
    Ok(Memory { task_id, schema_digest, recipe_digest, version, rounds, residual, momentum, starts })
}

fn floats(bytes: &mut Bytes<'_>, count: usize) -> Result<Vec<f32>, Fault> {
    let taken = bytes.take(count.checked_mul(4).ok_or(Fault("the bytes end too early"))?)?;
    let values: Vec<f32> = taken.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let is_finite = values.iter().all(|value| value.is_finite());
    if is_finite { Ok(values) } else { Err(Fault("a value is not finite")) }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::TensorSpec;

    use super::*;

    #[test]
    fn what_another_recipe_left_out_is_still_to_be_sent() {
        let tensor = |name: &str| TensorSpec { name: name.to_owned(), shape: vec![300] };
        let schema = TensorSchema { tensors: vec![tensor("first"), tensor("second")] };
        let task = TaskId::from_random_bytes([4; 16]);
        let recipe = |codec: &str| Recipe::of(codec.parse().unwrap());
        let next = |recipe: &Recipe, stored: &Memory| {
            Memory::with_recipe(Some(recipe), Some(stored.clone()), task, &schema, 3)
        };
        let mut left_out = Memory::with_recipe(Some(&recipe("top_k:0.1")), None, task, &schema, 3).unwrap();
        (left_out.residual[2], left_out.residual[302]) = (0.5, 0.25);
        left_out.momentum = vec![0.1; 600];
        left_out.rounds = 7;
        left_out.starts.insert(1, vec![1.0]);
        let stored = Memory::from_bytes(&left_out.to_bytes()).unwrap();
        assert_eq!(next(&recipe("top_k:0.1"), &stored), Some(left_out.clone()), "the same recipe");
        let other = next(&recipe("sign"), &stored).unwrap();
        assert_eq!(other.residual, left_out.residual);
        assert_eq!((other.momentum.len(), other.rounds, other.starts.len()), (0, 0, 0));
        let rule =
            folkmoot_protocol::codec::Rule { tensors: "second".into(), codec: "eden:4".parse().unwrap() };
        let partly = next(&Recipe { rules: vec![rule], ..recipe("sign") }, &stored).unwrap();
        assert_eq!(
            (partly.residual[2], partly.residual[302]),
            (0.5, 0.0),
            "of the second nothing is left out"
        );
        assert_eq!(next(&recipe("eden:4"), &stored), None);
        let stale =
            Memory::with_recipe(Some(&recipe("sign")), Some(stored), task, &schema, 3 + VERSIONS_MAX + 1);
        assert!(stale.unwrap().residual.iter().all(|value| *value == 0.0));
    }
}
