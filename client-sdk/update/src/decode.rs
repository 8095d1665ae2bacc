use folkmoot_protocol::{
    Recipe, TensorSchema,
    update::{CODEC_PAYLOAD, HEADER_BYTES, HeaderError, UpdateHeader},
};

use crate::codec::{CutOff, Decoder, PayloadError, Tile, TileValues};

/// A piece of an update, in the order of its bytes.
#[derive(Debug)]
pub enum Piece<'a> {
    /// The header, which comes once.
    Header(&'a UpdateHeader),
    /// A run of values.
    Values {
        /// The index of the first value in the whole update.
        first: u64,
        /// The bytes of the values: little-endian float32, a multiple of 4.
        bytes: &'a [u8],
    },
}

/// Why bytes are not an update. `E` is the visitor's error.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum DecodeError<E> {
    /// The header cannot be read.
    #[error(transparent)]
    Header(HeaderError),
    /// There are more bytes than the header's element count allows.
    #[error("the update has more bytes than its header announces")]
    TooLong,
    /// The payload after the header does not belong to this model.
    #[error(transparent)]
    Payload(PayloadError<CutOff>),
    /// The visitor refused a piece.
    #[error("{0}")]
    Refused(E),
}

/// Decodes an update as its bytes arrive, in pieces of any size. It needs memory for one header and one value, or for
/// one tile of a payload.
#[derive(Default)]
pub struct UpdateDecoder {
    header_bytes: Vec<u8>,
    header: Option<UpdateHeader>,
    split_value: Vec<u8>,
    elements: u64,
    payload: Option<Box<Decoder>>,
    /// The values of the current tile, as bytes.
    tile: Vec<u8>,
}

impl UpdateDecoder {
    /// Creates a decoder of float32 updates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a decoder that also accepts payloads of this recipe.
    pub fn with_recipe(schema: &TensorSchema, recipe: &Recipe) -> Self {
        Self { payload: Some(Box::new(Decoder::expecting(schema, recipe))), ..Self::default() }
    }

    /// Creates a decoder that also accepts payloads of one of at most 32 recipes.
    pub fn with_recipes(schema: &TensorSchema, recipes: &[Recipe]) -> Self {
        Self { payload: Some(Box::new(Decoder::expecting_one_of(schema, recipes))), ..Self::default() }
    }

    /// Returns the indices of the recipes that could have written the payload, as far as the bytes so far show; empty
    /// for float32.
    pub fn recipes(&self) -> Vec<usize> {
        let is_compressed = self.header.as_ref().is_some_and(|header| header.is_compressed);
        let payload = self.payload.as_ref().filter(|_| is_compressed);
        payload.map(|payload| payload.recipes().collect()).unwrap_or_default()
    }

    /// Frees the memory for decoded tiles. The next bytes allocate it again.
    pub fn rest(&mut self) {
        self.tile = Vec::new();
        if let Some(payload) = &mut self.payload {
            payload.rest();
        }
    }

    /// Returns the header, once it has arrived.
    pub fn header(&self) -> Option<&UpdateHeader> {
        self.header.as_ref()
    }

    /// Returns whether all values that the header announces have arrived.
    pub fn is_complete(&self) -> bool {
        let is_closed = |header: &UpdateHeader| {
            let payload = self.payload.as_ref().filter(|_| header.is_compressed);
            payload.is_none_or(|payload| payload.is_complete())
        };
        self.header.as_ref().is_some_and(|header| header.element_count == self.elements && is_closed(header))
    }

    /// Processes the next bytes and passes their pieces to `visit`.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not an update, or `visit` fails. The decoder cannot be used afterwards.
    pub fn push<E>(
        &mut self,
        mut bytes: &[u8],
        visit: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), DecodeError<E>> {
        if self.header.is_none() {
            let missing = HEADER_BYTES - self.header_bytes.len();
            let (head, rest) = bytes.split_at(missing.min(bytes.len()));
            self.header_bytes.extend_from_slice(head);
            bytes = rest;
            let Ok(header) = <&[u8; HEADER_BYTES]>::try_from(self.header_bytes.as_slice()) else {
                return Ok(());
            };
            let header = UpdateHeader::decode(header).map_err(DecodeError::Header)?;
            if header.is_compressed && self.payload.is_none() {
                return Err(DecodeError::Header(HeaderError::Codec(CODEC_PAYLOAD)));
            }
            visit(Piece::Header(&header)).map_err(DecodeError::Refused)?;
            self.header = Some(header);
        }
        if self.header.as_ref().is_some_and(|header| header.is_compressed) {
            return self.compressed(bytes, visit);
        }
        if !self.split_value.is_empty() {
            let missing = 4 - self.split_value.len();
            let (head, rest) = bytes.split_at(missing.min(bytes.len()));
            self.split_value.extend_from_slice(head);
            bytes = rest;
            if self.split_value.len() < 4 {
                return Ok(());
            }
            let value = std::mem::take(&mut self.split_value);
            self.values(&value, visit)?;
        }
        let (whole, rest) = bytes.split_at(bytes.len() / 4 * 4);
        self.split_value.extend_from_slice(rest);
        if whole.is_empty() { self.room_for(rest.len()) } else { self.values(whole, visit) }
    }

    fn compressed<E>(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), DecodeError<E>> {
        let Self { payload, tile: dense, elements, header, .. } = self;
        let announced = header.as_ref().map_or(0, |header| header.element_count);
        let Some(payload) = payload else { return Ok(()) };
        payload
            .push(bytes, &mut |tile: Tile<'_>| {
                if tile.count as u64 > announced - *elements {
                    return Err(DecodeError::TooLong);
                }
                write_dense(&tile, dense);
                visit(Piece::Values { first: *elements, bytes: dense }).map_err(DecodeError::Refused)?;
                *elements += tile.count as u64;
                Ok(())
            })
            .map_err(payload_error)
    }

    fn values<E>(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), DecodeError<E>> {
        self.room_for(bytes.len())?;
        visit(Piece::Values { first: self.elements, bytes }).map_err(DecodeError::Refused)?;
        self.elements += bytes.len() as u64 / 4;
        Ok(())
    }

    fn room_for<E>(&self, byte_count: usize) -> Result<(), DecodeError<E>> {
        let announced = self.header.as_ref().map_or(0, |header| header.element_count);
        let arriving = (byte_count as u64).div_ceil(4);
        if arriving > announced - self.elements { Err(DecodeError::TooLong) } else { Ok(()) }
    }
}

/// Writes all elements of a tile as float32.
fn write_dense(tile: &Tile<'_>, dense: &mut Vec<u8>) {
    dense.clear();
    match tile.values {
        TileValues::Dense(values) => dense.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        TileValues::Sparse { positions, values } => {
            dense.resize(4 * tile.count, 0);
            let (elements, _) = dense.as_chunks_mut::<4>();
            for (position, value) in positions.iter().zip(values) {
                elements[*position as usize] = value.to_le_bytes();
            }
        }
    }
}

fn payload_error<E>(error: PayloadError<DecodeError<E>>) -> DecodeError<E> {
    let error = match error {
        PayloadError::Refused(refused) => return refused,
        PayloadError::Magic => PayloadError::Magic,
        PayloadError::FormatVersion(version) => PayloadError::FormatVersion(version),
        PayloadError::TensorCount { found, expected } => PayloadError::TensorCount { found, expected },
        PayloadError::Codec { tensor, detail } => PayloadError::Codec { tensor, detail },
        PayloadError::OtherCodec { tensor, codec } => PayloadError::OtherCodec { tensor, codec },
        PayloadError::ElementCount { tensor, found, expected } => {
            PayloadError::ElementCount { tensor, found, expected }
        }
        PayloadError::Tile { first, detail } => PayloadError::Tile { first, detail },
        PayloadError::NotFinite { first } => PayloadError::NotFinite { first },
        PayloadError::TooLong => PayloadError::TooLong,
    };
    DecodeError::Payload(error)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use folkmoot_protocol::{AssignmentId, update::UpdateMetrics};
    use proptest::prelude::*;

    use super::*;
    use crate::encode_update;

    fn header() -> UpdateHeader {
        UpdateHeader {
            assignment_id: AssignmentId::from_random_bytes([3; 16]),
            schema_digest: [5; 32],
            base_version: 7,
            weight: 11,
            metrics: UpdateMetrics { example_count: 11, loss_sum: 1.5, correct_count: 4, step_count: 2 },
            element_count: 0,
            is_compressed: false,
        }
    }

    proptest! {
        #[test]
        fn an_update_survives_any_cut(values in prop::collection::vec(-1e3f32..1e3, 0..200), cuts in prop::collection::vec(1usize..300, 1..40)) {
            let bytes = encode_update(&header(), &values);
            let mut decoder = UpdateDecoder::new();
            let mut seen = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                decoder.push(head, &mut |piece| -> Result<(), Infallible> {
                    if let Piece::Values { first, bytes } = piece {
                        assert_eq!(first, seen.len() as u64);
                        seen.extend(bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())));
                    }
                    Ok(())
                }).unwrap();
                rest = tail;
                if rest.is_empty() { break }
            }
            prop_assert!(decoder.is_complete());
            prop_assert_eq!(seen, values);
            let one_more = decoder.push(&[0], &mut |_| Ok::<(), Infallible>(()));
            prop_assert_eq!(one_more, Err(DecodeError::TooLong));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = UpdateDecoder::new().push(&bytes, &mut |_| Ok::<(), Infallible>(()));
        }
    }

    fn schema() -> TensorSchema {
        let tensor = |name: &str, shape: &[u64]| folkmoot_protocol::TensorSpec {
            name: name.into(),
            shape: shape.to_vec(),
        };
        TensorSchema { tensors: vec![tensor("a", &[40, 30]), tensor("b", &[7])] }
    }

    fn payload(codec: &str) -> (Recipe, Vec<f32>, Vec<u8>) {
        let recipe = Recipe { exact_below: 100, ..Recipe::of(codec.parse().unwrap()) };
        let values: Vec<f32> = (0..1207).map(|step| (step as f32).sin()).collect();
        let encoded = crate::codec::encode(&schema(), &recipe, &values, 9, None).unwrap();
        let header = UpdateHeader { element_count: 1207, is_compressed: true, ..header() };
        let arriving = crate::codec::decode(&schema(), &encoded.bytes).unwrap();
        (recipe, arriving, [header.encode().as_slice(), &encoded.bytes].concat())
    }

    #[test]
    fn a_payload_is_shown_as_the_values_that_it_stands_for() {
        for codec in ["eden:4", "top_k:0.1", "random_k:0.2", "fp16", "low_rank:2", "none"] {
            let (recipe, arriving, bytes) = payload(codec);
            for cut in [1, 7, 100, 100_000] {
                let mut decoder = UpdateDecoder::with_recipe(&schema(), &recipe);
                let mut seen: Vec<f32> = Vec::new();
                for piece in bytes.chunks(cut) {
                    assert!(!decoder.is_complete());
                    decoder
                        .push(piece, &mut |piece| -> Result<(), Infallible> {
                            if let Piece::Values { first, bytes } = piece {
                                assert_eq!(first, seen.len() as u64);
                                let (values, _) = bytes.as_chunks::<4>();
                                seen.extend(values.iter().map(|value| f32::from_le_bytes(*value)));
                            }
                            Ok(())
                        })
                        .unwrap();
                }
                assert!(decoder.is_complete(), "{codec}");
                assert_eq!(seen, arriving, "{codec}");
            }
        }
    }

    #[test]
    fn a_payload_where_none_is_expected_is_refused() {
        let (recipe, _, bytes) = payload("eden:4");
        let refused = UpdateDecoder::new().push(&bytes, &mut |_| Ok::<(), Infallible>(()));
        assert_eq!(refused, Err(DecodeError::Header(HeaderError::Codec(CODEC_PAYLOAD))));
        let (_, _, other) = payload("eden:1");
        let mut decoder = UpdateDecoder::with_recipe(&schema(), &recipe);
        let refused = decoder.push(&other, &mut |_| Ok::<(), Infallible>(()));
        assert!(
            matches!(refused, Err(DecodeError::Payload(PayloadError::OtherCodec { tensor: 0, .. }))),
            "{refused:?}"
        );
        // A client that knows codecs may still send float32.
        let header = UpdateHeader { element_count: 1207, ..header() };
        let mut decoder = UpdateDecoder::with_recipe(&schema(), &recipe);
        let dense = encode_update(&header, &[0.5; 1207]);
        decoder.push(&dense, &mut |_| Ok::<(), Infallible>(())).unwrap();
        assert!(decoder.is_complete());
    }

    #[test]
    fn a_length_that_lies_is_refused_at_the_first_surplus_byte() {
        let mut bytes = encode_update(&header(), &[1.0, 2.0]);
        bytes[104..112].copy_from_slice(&1u64.to_le_bytes());
        let refused = UpdateDecoder::new().push(&bytes, &mut |_| Ok::<(), Infallible>(()));
        assert_eq!(refused, Err(DecodeError::TooLong));
    }
}
