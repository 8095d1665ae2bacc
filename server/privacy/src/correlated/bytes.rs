//! States of correlated noise as bytes: one byte for the kind, one for the version, then little-endian numbers.

/// The first byte of a tree's state.
pub(super) const TREE: u8 = b'T';

/// The first byte of a buffered Toeplitz factorisation's state.
pub(super) const BLT: u8 = b'B';

/// The second byte: the version of both forms.
const VERSION: u8 = 1;

/// Bytes are not the state of correlated noise. Without the right one the planned stream cannot go on: what is released
/// after it needs a budget of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Another kind.
    #[error(
        "byte 0 of a noise state is {found} and stands for no kind of noise that is expected; take the state of this task"
    )]
    Kind {
        /// What it is.
        found: u8,
    },
    /// Another version.
    #[error(
        "byte 1 of a noise state says version {found}; this build reads version {VERSION}, take the build that wrote it"
    )]
    Version {
        /// What it is.
        found: u8,
    },
    /// Too few or too many bytes.
    #[error(
        "a noise state has {found} bytes where {needed} are needed; it was cut off or is not one, read it again"
    )]
    Length {
        /// How many there are.
        found: usize,
        /// How many there should be. The largest number if it has none.
        needed: usize,
    },
    /// A number that no state has.
    #[error("{name} of a noise state is {value}; it must be {range}")]
    Value {
        /// The name of the number.
        name: &'static str,
        /// What it is.
        value: u64,
        /// What it may be, in words.
        range: &'static str,
    },
}

/// Begins a state: kind and version, with room for so many numbers.
pub(super) fn begin(kind: u8, numbers: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + 8 * numbers);
    bytes.extend([kind, VERSION]);
    bytes
}

/// Writes numbers.
pub(super) fn put(bytes: &mut Vec<u8>, numbers: &[i64]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

/// The rest of a state that is being read.
pub(super) struct Reader<'a> {
    /// How many bytes there were at first.
    found: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Begins to read, after kind and version.
    pub fn new(bytes: &'a [u8], kind: u8) -> Result<Self, StateError> {
        let (head, rest) =
            bytes.split_first_chunk::<2>().ok_or(StateError::Length { found: bytes.len(), needed: 2 })?;
        match *head {
            [found, _] if found != kind => Err(StateError::Kind { found }),
            [_, found] if found != VERSION => Err(StateError::Version { found }),
            _ => Ok(Self { found: bytes.len(), rest }),
        }
    }

    /// Reads a number that is not below 0.
    pub fn count(&mut self) -> Result<u64, StateError> {
        let needed = self.found - self.rest.len() + 8;
        let (head, rest) =
            self.rest.split_first_chunk().ok_or(StateError::Length { found: self.found, needed })?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*head))
    }

    /// Makes sure that exactly `vectors` vectors of `count` numbers are left, and returns `count` as a length.
    pub fn expect_vectors(&self, vectors: u64, count: u64) -> Result<usize, StateError> {
        let read = (self.found - self.rest.len()) as u64;
        let needed = vectors.checked_mul(count).and_then(|numbers| numbers.checked_mul(8)?.checked_add(read));
        match (needed, usize::try_from(count)) {
            (Some(needed), Ok(count)) if needed == self.found as u64 => Ok(count),
            _ => {
                let needed = needed.and_then(|needed| usize::try_from(needed).ok()).unwrap_or(usize::MAX);
                Err(StateError::Length { found: self.found, needed })
            }
        }
    }

    /// Reads a vector of so many numbers, as many as there are at most.
    pub fn numbers(&mut self, count: usize) -> Vec<i64> {
        let (head, rest) = self.rest.split_at(count.saturating_mul(8).min(self.rest.len()));
        self.rest = rest;
        head.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number)).collect()
    }
}

/// Returns the error unless `is_right`.
pub(super) fn unless(
    is_right: bool,
    name: &'static str,
    value: u64,
    range: &'static str,
) -> Result<(), StateError> {
    if is_right { Ok(()) } else { Err(StateError::Value { name, value, range }) }
}
