//! Serialised states of correlated noise: one byte for the kind, one for the version, then little-endian numbers.

/// The first byte of a tree's state.
pub(super) const TREE: u8 = b'T';

/// The first byte of a buffered Toeplitz factorisation's state.
pub(super) const BLT: u8 = b'B';

/// The second byte: the version of both formats.
const VERSION: u8 = 1;

/// The bytes are not a state of correlated noise. Without its state the planned stream cannot continue, so later
/// releases need a separate budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The state is for another kind of noise.
    #[error(
        "byte 0 of a noise state is {found}, but this task uses another kind of noise; use the state of this task"
    )]
    Kind {
        /// The kind that was found.
        found: u8,
    },
    /// The state has another version.
    #[error(
        "byte 1 of a noise state says version {found}; this build reads version {VERSION}; use the build that wrote it"
    )]
    Version {
        /// The version that was found.
        found: u8,
    },
    /// The state has too few or too many bytes.
    #[error(
        "a noise state has {found} bytes, but needs {needed}; it is truncated or not a noise state; read it again"
    )]
    Length {
        /// The number of bytes that were found.
        found: usize,
        /// The number of bytes that are needed; `usize::MAX` if the number does not fit into a `usize`.
        needed: usize,
    },
    /// The state contains a number that is out of range.
    #[error("{name} of a noise state is {value}; it must be {range}")]
    Value {
        /// The number's name, as it appears in the message.
        name: &'static str,
        /// The value that was found.
        value: u64,
        /// The permitted range in words.
        range: &'static str,
    },
}

/// Begins a state with its kind and version, and reserves memory for `numbers` numbers.
pub(super) fn begin(kind: u8, numbers: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + 8 * numbers);
    bytes.extend([kind, VERSION]);
    bytes
}

/// Appends the numbers, each as 8 little-endian bytes.
pub(super) fn put(bytes: &mut Vec<u8>, numbers: &[i64]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

/// The unread rest of a state.
pub(super) struct Reader<'a> {
    /// The total number of bytes.
    found: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks the kind and the version, and creates a reader that begins after them.
    pub fn new(bytes: &'a [u8], kind: u8) -> Result<Self, StateError> {
        let (head, rest) =
            bytes.split_first_chunk::<2>().ok_or(StateError::Length { found: bytes.len(), needed: 2 })?;
        match *head {
            [found, _] if found != kind => Err(StateError::Kind { found }),
            [_, found] if found != VERSION => Err(StateError::Version { found }),
            _ => Ok(Self { found: bytes.len(), rest }),
        }
    }

    /// Reads an unsigned 64-bit number.
    pub fn count(&mut self) -> Result<u64, StateError> {
        let needed = self.found - self.rest.len() + 8;
        let (head, rest) =
            self.rest.split_first_chunk().ok_or(StateError::Length { found: self.found, needed })?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*head))
    }

    /// Checks that the unread rest consists of exactly `vectors` vectors of `count` numbers, and returns `count` as a
    /// `usize`.
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

    /// Reads a vector of `count` numbers, or all remaining numbers if there are fewer.
    pub fn numbers(&mut self, count: usize) -> Vec<i64> {
        let (head, rest) = self.rest.split_at(count.saturating_mul(8).min(self.rest.len()));
        self.rest = rest;
        head.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number)).collect()
    }
}

/// Returns an error that names the value and its range unless `is_right` holds.
pub(super) fn unless(
    is_right: bool,
    name: &'static str,
    value: u64,
    range: &'static str,
) -> Result<(), StateError> {
    if is_right { Ok(()) } else { Err(StateError::Value { name, value, range }) }
}
