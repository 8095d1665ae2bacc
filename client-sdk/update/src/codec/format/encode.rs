use folkmoot_protocol::{OuterProducts, TensorSchema};

use super::{
    memory::{Memory, PendingMemory},
    payload::{MAGNITUDE_MAX, write_header},
    recorded::{self, OfSides},
    tag::Format,
    tile::{TileDecoder, TileEncoder, TileValues, Workspace},
};
use crate::codec::kinds::{
    deep_gradient,
    factors::{self, Sides},
};
use crate::codec::transform::{
    random::Place,
    selection::{Selection, share_of},
    sums::{largest_magnitude, sum_of_squares},
};
use crate::codec::{Codec, Recipe, RecipeFault, TILE};

/// An encoded update.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// The payload.
    pub bytes: Vec<u8>,
    /// The memory after this update, if there was one before.
    pub memory: Option<PendingMemory>,
}

/// Why an update cannot be encoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EncodeError {
    /// The recipe contains an invalid number.
    #[error("the recipe cannot be used: {0}")]
    Recipe(RecipeFault),
    /// The number of values differs from the model's.
    #[error("there are {found} values, but the model has {expected}")]
    ValueCount {
        /// The number of values.
        found: usize,
        /// The number of elements in the model.
        expected: u64,
    },
    /// The memory belongs to another model.
    #[error("the memory belongs to another model; begin with an empty one")]
    OtherMemory,
    /// A value is NaN, infinite, or has a magnitude above 2^96.
    #[error("value {index} is {value}; it must be finite and at most 2^96")]
    Value {
        /// The index of the value. The value may include what the memory added.
        index: u64,
        /// The value.
        value: f32,
    },
}

/// Encodes an update. `values` are the elements of the schema's tensors, one after the other.
///
/// The seed determines all random choices and is part of the payload. It must be different for every client and round,
/// because equal rounding errors of two clients do not average out. The memory is used for tensors whose codec needs
/// one ([`Codec::uses_memory`]). The returned memory becomes the client's once the update has been accepted.
///
/// # Errors
/// [`EncodeError`] if the recipe, the values or the memory cannot be used.
pub fn encode(
    schema: &TensorSchema,
    recipe: &Recipe,
    values: &[f32],
    seed: u64,
    memory: Option<&Memory>,
) -> Result<Encoded, EncodeError> {
    encode_recorded(schema, recipe, values, &[], seed, memory)
}

/// Encodes an update with recorded outer products. The products of a tensor must add up to its values, except for the
/// rounding of weights to float32; `None` means that nothing was recorded. Products that do not match a tensor's shape
/// are ignored.
///
/// # Errors
/// As [`encode()`].
pub fn encode_recorded(
    schema: &TensorSchema,
    recipe: &Recipe,
    values: &[f32],
    products: &[Option<OuterProducts>],
    seed: u64,
    memory: Option<&Memory>,
) -> Result<Encoded, EncodeError> {
    if let Some(fault) = recipe.validate().into_iter().next() {
        return Err(EncodeError::Recipe(fault));
    }
    let expected = schema.parameter_count();
    if values.len() as u64 != expected {
        return Err(EncodeError::ValueCount { found: values.len(), expected });
    }
    if memory.is_some_and(|memory| {
        memory.residual.len() as u64 != expected || memory.schema_digest != schema.digest()
    }) {
        return Err(EncodeError::OtherMemory);
    }
    check(values, 0)?;
    let codecs = recipe.codecs(schema);
    let mut encoder = Encoder {
        bytes: Vec::new(),
        seed,
        lossless: recipe.lossless,
        memory: memory.cloned(),
        gradient_norm: gradient_norm(schema, &codecs, values),
        products: None,
        workspace: Workspace::default(),
    };
    write_header(schema.tensors.len(), seed, &mut encoder.bytes);
    let mut first = 0;
    for (index, (tensor, codec)) in schema.tensors.iter().zip(codecs).enumerate() {
        let count = tensor.element_count().unwrap_or(0) as usize;
        let sides = Sides::of(&tensor.shape);
        encoder.products = products.get(index).and_then(Option::as_ref);
        encoder.tensor(index, codec, sides, first, &values[first..first + count])?;
        first += count;
    }
    let memory = encoder.memory.map(|memory| PendingMemory(Memory { rounds: memory.rounds + 1, ..memory }));
    Ok(Encoded { bytes: encoder.bytes, memory })
}

/// Returns the L2 norm over all tensors with deep gradient compression. The codec clips all these tensors by the same
/// factor.
fn gradient_norm(schema: &TensorSchema, codecs: &[Codec], values: &[f32]) -> f64 {
    let (mut first, mut squares) = (0, 0.0);
    for (tensor, codec) in schema.tensors.iter().zip(codecs) {
        let count = tensor.element_count().unwrap_or(0) as usize;
        if matches!(codec, Codec::DeepGradient { .. }) {
            squares += sum_of_squares(&values[first..first + count]);
        }
        first += count;
    }
    squares.sqrt()
}

fn check(values: &[f32], first: usize) -> Result<(), EncodeError> {
    if largest_magnitude(values) <= MAGNITUDE_MAX {
        return Ok(());
    }
    let is_wrong = |value: &f32| value.is_nan() || value.abs() > MAGNITUDE_MAX;
    let at = values.iter().position(is_wrong).expect("the largest is one of them");
    Err(EncodeError::Value { index: (first + at) as u64, value: values[at] })
}

struct Encoder<'a> {
    bytes: Vec<u8>,
    seed: u64,
    lossless: bool,
    memory: Option<Memory>,
    gradient_norm: f64,
    /// The recorded products of the current tensor.
    products: Option<&'a OuterProducts>,
    workspace: Workspace,
}

impl Encoder<'_> {
    /// Appends one tensor in its shortest form and stores its residual in the memory.
    fn tensor(
        &mut self,
        index: usize,
        codec: Codec,
        sides: Option<Sides>,
        first: usize,
        values: &[f32],
    ) -> Result<(), EncodeError> {
        let range = first..first + values.len();
        let gathered = self.gather(codec, range, values);
        if let Some(gathered) = &gathered {
            check(gathered, first)?;
        }
        let values = gathered.as_deref().unwrap_or(values);
        let tiles = self.prepare(index as u32, codec, sides, values);
        let hybrid = matches!(codec, Codec::SufficientFactors { .. }) && tiles.factors.is_some();
        let start = self.bytes.len();
        self.write(index, first, tiles, sides, values);
        if hybrid {
            // Entropy-coded float32 values may be shorter than the factors; the shorter form is sent.
            let factors = self.bytes.split_off(start);
            self.write(index, first, self.tiles(codec), sides, values);
            if self.bytes.len() - start > factors.len() {
                self.bytes.truncate(start);
                self.bytes.extend(factors);
            }
        }
        Ok(())
    }

    /// Appends a tensor in its codec's format or as factors, and stores its residual in the memory.
    fn write(
        &mut self,
        index: usize,
        first: usize,
        mut tiles: TileEncoder,
        sides: Option<Sides>,
        values: &[f32],
    ) {
        let codec = tiles.codec;
        tiles.format.write(&mut self.bytes);
        self.bytes.extend((values.len() as u32).to_le_bytes());
        if let Some((factors, _)) = &tiles.factors {
            factors.write_right(&mut self.bytes);
        }
        let right = tiles.factors.as_ref().map(|(factors, _)| factors.right.clone()).unwrap_or_default();
        let reader = TileDecoder { format: tiles.format, sides, right };
        for (tile, values) in values.chunks(TILE).enumerate() {
            let place = Place { seed: self.seed, tensor: index as u32, tile: tile as u32 };
            let start = self.bytes.len();
            self.bytes.extend([0; 4]);
            tiles.encode(values, place, tile * TILE, &mut self.bytes);
            let body = start + 4..self.bytes.len();
            self.bytes[start..start + 4].copy_from_slice(&(body.len() as u32).to_le_bytes());
            if let Some(memory) = self.memory.as_mut().filter(|_| codec.uses_memory()) {
                let body = &self.bytes[body];
                let decoded = reader.decode(body, place, tile * TILE, values.len(), &mut self.workspace);
                let decoded = decoded.expect("what was encoded can be decoded");
                leave(memory, first + tile * TILE, values, decoded);
            }
        }
    }

    /// Adds the memory to a tensor's values, if the codec uses one.
    fn gather(&mut self, codec: Codec, range: std::ops::Range<usize>, values: &[f32]) -> Option<Vec<f32>> {
        if let Codec::DeepGradient { momentum, clip, clients, .. } = codec {
            let clipped = |clip| deep_gradient::clip_factor(self.gradient_norm, clip, clients);
            let factor = clip.map_or(1.0, clipped);
            let Some(memory) = &mut self.memory else {
                return Some(values.iter().map(|value| value * factor as f32).collect());
            };
            memory.momentum.resize(memory.residual.len(), 0.0);
            let (u, v) = (&mut memory.momentum[range.clone()], &mut memory.residual[range]);
            deep_gradient::accumulate(values, factor, momentum, u, v);
            return Some(v.to_vec());
        }
        let memory = self.memory.as_ref().filter(|_| codec.uses_memory())?;
        Some(values.iter().zip(&memory.residual[range]).map(|(value, residual)| value + residual).collect())
    }

    /// Computes everything that depends on the whole tensor: the elements to send, or the factors.
    fn prepare(&mut self, index: u32, codec: Codec, sides: Option<Sides>, values: &[f32]) -> TileEncoder {
        let largest = |share| Some(Selection::largest(values, share_of(share, values.len() as u64)));
        let round = self.memory.as_ref().map_or(u32::MAX, |memory| memory.rounds);
        let selection = match codec {
            Codec::TopK { share, .. } => largest(share),
            Codec::DeepGradient { share, warmup_rounds, .. } => {
                largest(deep_gradient::share_in_round(share, warmup_rounds, round))
            }
            Codec::Threshold { magnitude, .. } => Some(Selection::from_magnitude(magnitude as f32)),
            _ => None,
        };
        let factors = match (codec, sides) {
            (Codec::LowRank { rank, iterations }, Some(sides)) if sides.gains(rank as usize) => {
                let place = Place { seed: self.seed, tensor: index, tile: 0 };
                let start = self.memory.as_ref().and_then(|memory| memory.starts.get(&index));
                let start = start.map(Vec::as_slice);
                Some((factors::low_rank(values, sides, rank as usize, iterations, start, place), sides))
            }
            (Codec::SufficientFactors { rank_max, error }, Some(sides)) => {
                let place = Place { seed: self.seed, tensor: index, tile: 0 };
                let rank_max = rank_max as usize;
                let recorded = self.products.filter(|products| products.are_of(sides));
                let factors = match recorded {
                    Some(products) => recorded::factors(products, sides, rank_max, error, place),
                    None => factors::sufficient(values, sides, rank_max, error, place),
                };
                factors.map(|factors| (factors, sides))
            }
            _ => None,
        };
        if let (Some((factors, _)), Some(memory), Codec::LowRank { .. }) = (&factors, &mut self.memory, codec)
        {
            memory.starts.insert(index, factors.right.clone());
        }
        let format = match &factors {
            Some((factors, _)) => Format::Factors { rank: factors.rank as u16 },
            None => Format::of(&codec),
        };
        TileEncoder { format, selection, factors, ..self.tiles(codec) }
    }

    /// Returns the tile encoder of a codec that does not depend on the whole tensor.
    fn tiles(&self, codec: Codec) -> TileEncoder {
        let format = Format::of(&codec);
        TileEncoder { codec, format, lossless: self.lossless, selection: None, factors: None }
    }
}

/// Stores the residual of a tile: the values minus the decoded values. The momentum of sent elements is cleared
/// (momentum factor masking).
fn leave(memory: &mut Memory, first: usize, values: &[f32], decoded: TileValues<'_>) {
    let residual = &mut memory.residual[first..first + values.len()];
    match decoded {
        TileValues::Dense(decoded) => {
            for ((residual, value), decoded) in residual.iter_mut().zip(values).zip(decoded) {
                *residual = value - decoded;
            }
        }
        TileValues::Sparse { positions, values: sent } => {
            residual.copy_from_slice(values);
            if let Some(momentum) = memory.momentum.get_mut(first..first + values.len()) {
                deep_gradient::mask(positions, momentum, residual);
            }
            for (position, sent) in positions.iter().zip(sent) {
                let at = *position as usize;
                residual[at] = values[at] - sent;
            }
        }
    }
}
