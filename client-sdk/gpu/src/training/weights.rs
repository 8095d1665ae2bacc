//! The layout of weights on the GPU: trained ones first, so that one kernel updates them all.

use std::ops::Range;

use crate::accessor::Format;
use crate::plan::{Buffer, Place};

/// The place of each parameter in the weights buffer, and of each trained parameter in the gradient and state buffers.
#[derive(Debug, Clone)]
pub(super) struct WeightLayout {
    /// The places, by parameter index in the schema.
    places: Vec<Place>,
    /// The ranges in the host's flat vector of weights.
    ranges: Vec<Range<usize>>,
    /// The parameters that have gradients, in the order of the optimizer's state.
    trained: Vec<usize>,
    /// The size of the trained part in bytes, with its gaps.
    pub(super) trained_bytes: usize,
    /// The total size in bytes.
    pub(super) bytes: usize,
}

impl WeightLayout {
    /// Computes the layout. `ranges` are the parameters' ranges in a flat vector, `trained` the indexes of those with
    /// gradients.
    pub(super) fn new(ranges: &[Range<usize>], trained: Vec<usize>, alignment: usize) -> Self {
        let others = (0..ranges.len()).filter(|index| !trained.contains(index));
        let order: Vec<usize> = trained.iter().copied().chain(others).collect();
        let empty = Place { buffer: Buffer::Weights, start: 0, length: 0, format: Format::Single };
        let (mut places, mut end, mut trained_bytes) = (vec![empty; ranges.len()], 0, 0);
        for (position, index) in order.into_iter().enumerate() {
            places[index] = Place { start: end, length: ranges[index].len(), ..empty };
            end += places[index].bytes().max(1).next_multiple_of(alignment);
            if position < trained.len() {
                trained_bytes = end;
            }
        }
        Self { places, ranges: ranges.to_vec(), trained, trained_bytes, bytes: end }
    }

    /// Returns the place of a parameter in a buffer with the layout of the weights.
    pub(super) fn place(&self, parameter: usize, buffer: Buffer) -> Place {
        Place { buffer, ..self.places[parameter] }
    }

    /// Returns the place of the whole trained part in a buffer with the layout of the weights.
    pub(super) fn trained(&self, buffer: Buffer) -> Place {
        Place { buffer, start: 0, length: self.trained_bytes / size_of::<f32>(), format: Format::Single }
    }

    /// Divides the trained part into pieces of at most this many bytes. Returns the first byte and the number of
    /// elements of each piece.
    pub(super) fn pieces(&self, bytes_max: usize) -> Vec<(usize, usize)> {
        let step = bytes_max / 256 * 256;
        let starts = (0..self.trained_bytes).step_by(step);
        starts.map(|start| (start, (self.trained_bytes - start).min(step) / size_of::<f32>())).collect()
    }

    /// Converts a flat vector to the bytes of the GPU's layout.
    pub(super) fn weight_bytes(&self, weights: &[f32]) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes];
        for (place, range) in self.places.iter().zip(&self.ranges) {
            put(&mut bytes[place.start..], &weights[range.clone()]);
        }
        bytes
    }

    /// Converts bytes in the GPU's layout to a flat vector.
    pub(super) fn write_weights(&self, bytes: &[u8], weights: &mut [f32]) {
        for (place, range) in self.places.iter().zip(&self.ranges) {
            take(&bytes[place.start..], &mut weights[range.clone()]);
        }
    }

    /// Converts one slot of the optimizer's state to the bytes of the GPU's layout. On the host, the slots of a tensor
    /// follow each other.
    pub(super) fn slot_bytes(&self, state: &[f32], slot: usize, slots: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.trained_bytes];
        let mut start = 0;
        for index in &self.trained {
            let (place, length) = (self.places[*index], self.ranges[*index].len());
            put(&mut bytes[place.start..], &state[start + slot * length..][..length]);
            start += slots * length;
        }
        bytes
    }

    /// Writes one slot from the GPU into the host's optimizer state.
    pub(super) fn write_slot(&self, bytes: &[u8], state: &mut [f32], slot: usize, slots: usize) {
        let mut start = 0;
        for index in &self.trained {
            let (place, length) = (self.places[*index], self.ranges[*index].len());
            take(&bytes[place.start..], &mut state[start + slot * length..][..length]);
            start += slots * length;
        }
    }
}

fn put(bytes: &mut [u8], floats: &[f32]) {
    for (bytes, float) in bytes.as_chunks_mut().0.iter_mut().zip(floats) {
        *bytes = float.to_le_bytes();
    }
}

fn take(bytes: &[u8], floats: &mut [f32]) {
    for (float, bytes) in floats.iter_mut().zip(bytes.as_chunks().0) {
        *float = f32::from_le_bytes(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let layout = WeightLayout::new(&[0..3, 3..70, 70..72], vec![1, 2], 256);
        assert_eq!((layout.trained_bytes, layout.bytes), (768, 1024));
        assert_eq!(layout.pieces(600), [(0, 128), (512, 64)]);
        let weights: Vec<f32> = (0..72).map(|index| index as f32).collect();
        let mut back = vec![0.0; 72];
        layout.write_weights(&layout.weight_bytes(&weights), &mut back);
        assert_eq!(back, weights);
        let state: Vec<f32> = (0..2 * 69).map(|index| index as f32).collect();
        let mut back = vec![0.0; state.len()];
        for slot in 0..2 {
            let bytes = layout.slot_bytes(&state, slot, 2);
            layout.write_slot(&bytes, &mut back, slot, 2);
        }
        assert_eq!(back, state);
    }
}
