use folkmoot_protocol::TensorSchema;

use super::{
    payload::{FORMAT_VERSION, HEADER_BYTES, MAGIC},
    tag::Format,
    tile::{TileDecoder, TileValues, Workspace},
};
use crate::codec::coding::bytes::Bytes;
use crate::codec::kinds::factors::{self, Sides};
use crate::codec::transform::random::Place;
use crate::codec::{Codec, Fault, Recipe, TILE};

/// The maximum number of alternative recipes.
const RECIPES_MAX: usize = u32::BITS as usize;

/// A decoded part of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile<'a> {
    /// The index of the tile's first element in the whole update.
    pub first: u64,
    /// The number of elements, at most 65,536.
    pub count: usize,
    /// The values of the elements, all finite.
    pub values: TileValues<'a>,
}

/// Why bytes are not a compressed update of a model. `E` is the visitor's error.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum PayloadError<E> {
    /// The first four bytes are not `FMUC`.
    #[error("the payload does not start with FMUC")]
    Magic,
    /// A format version that this build does not know.
    #[error("the payload format version {0} is unknown")]
    FormatVersion(u16),
    /// The payload belongs to another model.
    #[error("the payload has {found} tensors, but the model has {expected}")]
    TensorCount {
        /// The number of tensors in the payload.
        found: u32,
        /// The number of tensors in the model.
        expected: usize,
    },
    /// A tensor's tag or parameters are unknown.
    #[error("tensor {tensor}: {detail}")]
    Codec {
        /// The tensor's index.
        tensor: usize,
        /// The problem.
        detail: &'static str,
    },
    /// A tensor does not have the encoding that the recipe requires.
    #[error("tensor {tensor} is not encoded with `{codec}`, as the recipe requires")]
    OtherCodec {
        /// The tensor's index.
        tensor: usize,
        /// The recipe's codec.
        codec: Codec,
    },
    /// A tensor's length differs from the model's.
    #[error("tensor {tensor} has {found} elements, but the model's tensor has {expected}")]
    ElementCount {
        /// The tensor's index.
        tensor: usize,
        /// The number of elements in the payload.
        found: u32,
        /// The number of elements in the model.
        expected: u64,
    },
    /// A tile's bytes are not valid for its codec.
    #[error("the tile that starts at element {first} cannot be decoded: {detail}")]
    Tile {
        /// The index of the tile's first element in the whole update.
        first: u64,
        /// The problem.
        detail: &'static str,
    },
    /// A decoded value is NaN or infinite.
    #[error("a value of the tile that starts at element {first} is NaN or infinite")]
    NotFinite {
        /// The index of the tile's first element in the whole update.
        first: u64,
    },
    /// There are bytes after the last tensor.
    #[error("the payload has bytes after its last tensor")]
    TooLong,
    /// The visitor refused a tile.
    #[error("{0}")]
    Refused(E),
}

/// A tensor's schema, and its codec in each recipe.
#[derive(Debug)]
struct Expected {
    count: u64,
    sides: Option<Sides>,
    codecs: Vec<Codec>,
}

/// The content of the next bytes.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Header,
    Tag,
    Parameters { tag: u8, length: usize },
    Right { length: usize },
    TileLength,
    Tile { length: usize },
    Done,
}

/// Decodes a compressed update as its bytes arrive, in pieces of any size, and passes on the tiles in order.
///
/// The decoder keeps one tile in encoded and decoded form, and the bytes that are not processed yet: about 2 MiB. For a
/// tensor of factors, it also keeps the factor `Q` in encoded and decoded form, at most 16 MiB each. It allocates
/// memory for a length only once that length is known to be the model's, and for bytes only as they arrive.
pub struct Decoder {
    tensors: Vec<Expected>,
    /// The recipes that may have written all tensors so far, as a bit set.
    possible: u32,
    stage: Stage,
    waiting: Vec<u8>,
    seed: u64,
    /// The current tensor.
    tensor: usize,
    reader: TileDecoder,
    /// The number of elements of the current tensor before the next tile.
    at: u64,
    /// The number of elements of all earlier tensors.
    before: u64,
    workspace: Workspace,
}

impl Decoder {
    /// Creates a decoder for updates of a model in any codec. The schema must have been validated.
    pub fn new(schema: &TensorSchema) -> Self {
        Self::expecting_one_of(schema, &[])
    }

    /// Creates a decoder that accepts only encodings of this recipe.
    pub fn expecting(schema: &TensorSchema, recipe: &Recipe) -> Self {
        Self::expecting_one_of(schema, std::slice::from_ref(recipe))
    }

    /// Creates a decoder of updates that one of the first 32 recipes wrote. Without recipes, accepts any encoding.
    pub fn expecting_one_of(schema: &TensorSchema, recipes: &[Recipe]) -> Self {
        let recipes = &recipes[..recipes.len().min(RECIPES_MAX)];
        let codecs: Vec<Vec<Codec>> = recipes.iter().map(|recipe| recipe.codecs(schema)).collect();
        let expected = |(index, tensor): (usize, &folkmoot_protocol::TensorSpec)| Expected {
            count: tensor.element_count().unwrap_or(u64::MAX),
            sides: Sides::of(&tensor.shape),
            codecs: codecs.iter().map(|of_recipe| of_recipe[index]).collect(),
        };
        Self {
            tensors: schema.tensors.iter().enumerate().map(expected).collect(),
            possible: (0..recipes.len()).fold(0, |possible, recipe| possible | 1 << recipe),
            stage: Stage::Header,
            waiting: Vec::new(),
            seed: 0,
            tensor: 0,
            reader: TileDecoder { format: Format::Float16, sides: None, right: Vec::new() },
            at: 0,
            before: 0,
            workspace: Workspace::default(),
        }
    }

    /// Returns whether the whole payload has arrived.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    /// Returns the indices of the recipes that could have written the bytes so far. There may be several even at the
    /// end, because not all parameters appear in the bytes, for example the share of top-k.
    pub fn recipes(&self) -> impl Iterator<Item = usize> {
        (0..RECIPES_MAX).filter(|recipe| self.possible >> recipe & 1 == 1)
    }

    /// Frees the memory for decoded tiles; the next bytes allocate it again. The bytes of an incomplete tile are kept.
    pub fn rest(&mut self) {
        self.workspace = Workspace::default();
        self.waiting.shrink_to_fit();
    }

    /// Processes the next bytes and passes the completed tiles to `visit`.
    ///
    /// # Errors
    /// [`PayloadError`] if the bytes are not an update of the model, or `visit` fails. Drop the decoder then.
    pub fn push<E>(
        &mut self,
        mut bytes: &[u8],
        visit: &mut impl FnMut(Tile<'_>) -> Result<(), E>,
    ) -> Result<(), PayloadError<E>> {
        loop {
            let needed = match self.stage {
                Stage::Header => HEADER_BYTES,
                Stage::Tag => 1,
                Stage::Parameters { length, .. } => length + 4,
                Stage::Right { length } | Stage::Tile { length } => length,
                Stage::TileLength => 4,
                Stage::Done if bytes.is_empty() => return Ok(()),
                Stage::Done => return Err(PayloadError::TooLong),
            };
            let (taken, rest) = bytes.split_at((needed - self.waiting.len()).min(bytes.len()));
            bytes = rest;
            if self.waiting.is_empty() && taken.len() == needed {
                self.take(taken, visit)?;
                continue;
            }
            self.waiting.extend_from_slice(taken);
            if self.waiting.len() < needed {
                return Ok(());
            }
            let whole = std::mem::take(&mut self.waiting);
            self.take(&whole, visit)?;
            // Keep the allocation for the next tile.
            self.waiting = whole;
            self.waiting.clear();
        }
    }

    fn take<E>(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(Tile<'_>) -> Result<(), E>,
    ) -> Result<(), PayloadError<E>> {
        self.stage = match self.stage {
            Stage::Header => self.header(bytes)?,
            Stage::Tag => {
                let tensor = self.tensor;
                let unknown = PayloadError::Codec { tensor, detail: "its codec is not known" };
                Stage::Parameters { tag: bytes[0], length: Format::parameter_bytes(bytes[0]).ok_or(unknown)? }
            }
            Stage::Parameters { tag, .. } => self.parameters(tag, bytes)?,
            Stage::Right { .. } => {
                self.reader.right = factors::read_right(bytes);
                self.next_tile()
            }
            Stage::TileLength => {
                let length = u32::from_le_bytes(bytes.try_into().expect("four bytes were taken")) as usize;
                if length > TileDecoder::body_bytes_max(self.tile_count()) {
                    let first = self.before + self.at;
                    return Err(PayloadError::Tile {
                        first,
                        detail: "its body is longer than any codec can produce",
                    });
                }
                Stage::Tile { length }
            }
            Stage::Tile { .. } => {
                self.tile(bytes, visit)?;
                self.next_tile()
            }
            Stage::Done => Stage::Done,
        };
        Ok(())
    }

    fn header<E>(&mut self, bytes: &[u8]) -> Result<Stage, PayloadError<E>> {
        let mut bytes = Bytes(bytes);
        let cut_off = |_| PayloadError::Magic;
        if bytes.array().map_err(cut_off)? != MAGIC {
            return Err(PayloadError::Magic);
        }
        let version = u16::from_le_bytes(bytes.array().map_err(cut_off)?);
        if version != FORMAT_VERSION {
            return Err(PayloadError::FormatVersion(version));
        }
        let found = bytes.u32().map_err(cut_off)?;
        if found as usize != self.tensors.len() {
            return Err(PayloadError::TensorCount { found, expected: self.tensors.len() });
        }
        self.seed = u64::from_le_bytes(bytes.array().map_err(cut_off)?);
        Ok(if self.tensors.is_empty() { Stage::Done } else { Stage::Tag })
    }

    fn parameters<E>(&mut self, tag: u8, bytes: &[u8]) -> Result<Stage, PayloadError<E>> {
        let tensor = self.tensor;
        let expected = &self.tensors[tensor];
        let fault = |Fault(detail)| PayloadError::Codec { tensor, detail };
        let mut bytes = Bytes(bytes);
        let format = Format::read(tag, &mut bytes, expected.sides).map_err(fault)?;
        let first = self.recipes().next();
        if let Some(first) = first {
            let possible = self.possible;
            let wrote = |recipe: &usize| {
                possible >> recipe & 1 == 1 && format.is_of(&expected.codecs[*recipe], expected.sides)
            };
            let recipes = (0..expected.codecs.len()).filter(wrote);
            self.possible = recipes.fold(0, |possible, recipe| possible | 1 << recipe);
            if self.possible == 0 {
                return Err(PayloadError::OtherCodec { tensor, codec: expected.codecs[first] });
            }
        }
        let found = bytes.u32().map_err(fault)?;
        if u64::from(found) != expected.count {
            return Err(PayloadError::ElementCount { tensor, found, expected: expected.count });
        }
        self.reader = TileDecoder { format, sides: expected.sides, right: Vec::new() };
        if let (Format::Factors { rank }, Some(sides)) = (format, expected.sides) {
            return Ok(Stage::Right { length: factors::right_bytes(sides, rank.into()) });
        }
        Ok(self.next_tile())
    }

    /// Moves on to the next tile of the tensor, or to the next tensor after the last tile.
    fn next_tile(&mut self) -> Stage {
        if self.at < self.tensors[self.tensor].count {
            return Stage::TileLength;
        }
        self.before += self.at;
        self.at = 0;
        self.tensor += 1;
        if self.tensor < self.tensors.len() { Stage::Tag } else { Stage::Done }
    }

    fn tile_count(&self) -> usize {
        (self.tensors[self.tensor].count - self.at).min(TILE as u64) as usize
    }

    fn tile<E>(
        &mut self,
        body: &[u8],
        visit: &mut impl FnMut(Tile<'_>) -> Result<(), E>,
    ) -> Result<(), PayloadError<E>> {
        let (first, count) = (self.before + self.at, self.tile_count());
        let place =
            Place { seed: self.seed, tensor: self.tensor as u32, tile: (self.at / TILE as u64) as u32 };
        let values = self
            .reader
            .decode(body, place, self.at as usize, count, &mut self.workspace)
            .map_err(|Fault(detail)| PayloadError::Tile { first, detail })?;
        if !crate::codec::transform::sums::largest_magnitude(values.present()).is_finite() {
            return Err(PayloadError::NotFinite { first });
        }
        self.at += count as u64;
        visit(Tile { first, count, values }).map_err(PayloadError::Refused)
    }
}

/// Decodes a whole payload into one vector, for a client's final check of its update and for tests.
///
/// # Errors
/// [`PayloadError`] if the bytes are not a complete update of the model.
pub fn decode(schema: &TensorSchema, bytes: &[u8]) -> Result<Vec<f32>, PayloadError<CutOff>> {
    let mut decoder = Decoder::new(schema);
    let mut values: Vec<f32> = Vec::new();
    decoder.push(bytes, &mut |tile: Tile<'_>| -> Result<(), CutOff> {
        match tile.values {
            TileValues::Dense(dense) => values.extend_from_slice(dense),
            TileValues::Sparse { positions, values: chosen } => {
                let start = values.len();
                values.resize(start + tile.count, 0.0);
                for (position, value) in positions.iter().zip(chosen) {
                    values[start + *position as usize] = *value;
                }
            }
        }
        Ok(())
    })?;
    if decoder.is_complete() { Ok(values) } else { Err(PayloadError::Refused(CutOff)) }
}

/// The payload ends before its last tensor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is truncated")]
pub struct CutOff;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use folkmoot_protocol::TensorSpec;

    use super::*;
    use crate::codec::encode;

    #[test]
    fn what_waits_is_bounded_by_the_model() {
        let tensor = TensorSpec { name: "t".to_owned(), shape: vec![100] };
        let schema = TensorSchema { tensors: vec![tensor] };
        let recipe = Recipe { exact_below: 0, ..Recipe::default() };
        let bytes = encode(&schema, &recipe, &[1.0; 100], 1, None).expect("ones can be encoded").bytes;
        let most = TileDecoder::body_bytes_max(100);
        for (length, is_taken) in [(most, true), (most + 1, false), (u32::MAX as usize, false)] {
            let mut payload = bytes[..25].to_vec();
            payload.extend((length as u32).to_le_bytes());
            payload.resize(1 << 20, 7);
            let mut decoder = Decoder::new(&schema);
            let mut outcome = Ok(());
            for piece in payload.chunks(1000) {
                outcome = outcome.and_then(|()| decoder.push(piece, &mut |_| Ok::<(), Infallible>(())));
                assert!(decoder.waiting.capacity() <= 2 * most, "{}", decoder.waiting.capacity());
            }
            let detail = "its body is longer than any codec can produce";
            let is_refused_at_once = outcome == Err(PayloadError::Tile { first: 0, detail });
            assert_eq!((outcome.is_err(), is_refused_at_once), (true, !is_taken));
        }
    }
}
