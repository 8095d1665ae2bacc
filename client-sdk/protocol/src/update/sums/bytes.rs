use super::{MetricSums, OUTPUTS_MAX, count_len};

const CLASSES: u8 = 1;
const VALUES: u8 = 2;
/// The bits of a byte of a varint that belong to the number.
const LOW_BITS: u8 = 0x7f;
/// The number of sums of each output.
pub(super) const SUMS_PER_OUTPUT: usize = 4;

/// Why bytes are not metric sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumsError {
    /// The bytes end too early.
    #[error("the metric sums are truncated")]
    TooShort,
    /// Bytes follow the last number, or a run of zeros is too long.
    #[error("the metric sums have more numbers than they announce")]
    TooLong,
    /// The first byte is unknown.
    #[error("the metric sums have the unknown form {0}; it must be 1 or 2")]
    Form(u8),
    /// The first byte is not that of a measurement after a fine-tuning.
    #[error("the bytes after the header begin with {0}; a measurement after a fine-tuning begins with 3")]
    NotFineTuned(u8),
    /// A varint exceeds 64 bits.
    #[error("a count in the metric sums exceeds 64 bits")]
    Varint,
    /// There are too many outputs.
    #[error("the metric sums are for {0} outputs; the limit is {OUTPUTS_MAX}")]
    Outputs(u64),
}

impl MetricSums {
    /// Appends the bytes to an update.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Classes { classes, counts } => {
                bytes.push(CLASSES);
                put_varint(bytes, *classes);
                for run in counts.chunk_by(|one, next| *one == 0 && *next == 0) {
                    put_varint(bytes, run[0]);
                    if run[0] == 0 {
                        put_varint(bytes, run.len() as u64 - 1);
                    }
                }
            }
            Self::Values { sums } => {
                bytes.push(VALUES);
                put_varint(bytes, (sums.len() / SUMS_PER_OUTPUT) as u64);
                bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
            }
        }
    }

    /// Reads the bytes after the header of an update. The numbers must still be checked: see [`MetricSums::check`].
    ///
    /// # Errors
    /// [`SumsError`] if the bytes are not exactly one form of sums.
    pub fn decode(bytes: &[u8]) -> Result<Self, SumsError> {
        let mut rest = bytes;
        let sums = Self::take(&mut rest)?;
        if rest.is_empty() { Ok(sums) } else { Err(SumsError::TooLong) }
    }

    /// Reads one form of sums, and leaves the bytes after it.
    pub(super) fn take(rest: &mut &[u8]) -> Result<Self, SumsError> {
        let [form] = take_array(rest)?;
        match form {
            CLASSES => {
                let classes = take_varint(rest)?;
                Ok(Self::Classes { classes, counts: take_counts(rest, count_len(classes))? })
            }
            VALUES => {
                let outputs = take_varint(rest)?;
                if outputs > OUTPUTS_MAX as u64 {
                    return Err(SumsError::Outputs(outputs));
                }
                let take = |_| take_array(rest).map(f64::from_le_bytes);
                Ok(Self::Values {
                    sums: (0..SUMS_PER_OUTPUT as u64 * outputs).map(take).collect::<Result<_, _>>()?,
                })
            }
            form => Err(SumsError::Form(form)),
        }
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number > u64::from(LOW_BITS) {
        bytes.push(number.to_le_bytes()[0] | !LOW_BITS);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, SumsError> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let [byte] = take_array(bytes)?;
        let part = u64::from(byte & LOW_BITS);
        if part.leading_zeros() < shift {
            return Err(SumsError::Varint);
        }
        number |= part << shift;
        if byte <= LOW_BITS {
            return Ok(number);
        }
    }
    Err(SumsError::Varint)
}

fn take_counts(bytes: &mut &[u8], count: usize) -> Result<Vec<u64>, SumsError> {
    let mut counts = Vec::with_capacity(count);
    while counts.len() < count {
        let number = take_varint(bytes)?;
        counts.push(number);
        if number == 0 {
            let more = usize::try_from(take_varint(bytes)?).map_err(|_| SumsError::TooLong)?;
            if more > count - counts.len() {
                return Err(SumsError::TooLong);
            }
            counts.resize(counts.len() + more, 0);
        }
    }
    Ok(counts)
}

pub(super) fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], SumsError> {
    let (array, rest) = bytes.split_first_chunk().ok_or(SumsError::TooShort)?;
    *bytes = rest;
    Ok(*array)
}
