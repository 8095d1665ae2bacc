//! Protobuf's wire format: finds the fields of a message without decoding them.

use std::ops::Range;

use super::FileError;

/// The maximum number of bytes in a 64-bit varint.
const VARINT_BYTES_MAX: usize = 10;

/// The encoding of a field's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// An integer of up to 10 bytes.
    Varint,
    /// 8 bytes.
    Fixed64,
    /// Bytes, text, a message, or packed numbers, after their length.
    Length,
    /// 4 bytes.
    Fixed32,
}

/// One field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field's number in its message.
    pub number: u64,
    /// The encoding of the content.
    pub encoding: Encoding,
    /// The range of the content in the whole buffer, without tag and length.
    pub content: Range<usize>,
}

/// Iterates over the fields of the message at `message` within `bytes`.
pub fn fields(bytes: &[u8], message: Range<usize>) -> Fields<'_> {
    Fields { bytes, position: message.start, end: message.end }
}

/// The iterator of [`fields`]. It ends after the first error.
pub struct Fields<'a> {
    bytes: &'a [u8],
    position: usize,
    end: usize,
}

impl Iterator for Fields<'_> {
    type Item = Result<Field, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position >= self.end {
            return None;
        }
        let field = self.field();
        self.position = match &field {
            Ok(field) => field.content.end,
            Err(_) => self.end,
        };
        Some(field)
    }
}

impl Fields<'_> {
    fn field(&mut self) -> Result<Field, FileError> {
        let tag = self.varint()?;
        let (encoding, length) = match tag & 7 {
            0 => {
                let start = self.position;
                self.varint()?;
                return Ok(Field {
                    number: tag >> 3,
                    encoding: Encoding::Varint,
                    content: start..self.position,
                });
            }
            1 => (Encoding::Fixed64, 8),
            2 => (Encoding::Length, self.varint()?),
            5 => (Encoding::Fixed32, 4),
            other => return Err(self.malformed(&format!("wire type {other}"))),
        };
        let end = usize::try_from(length).ok().and_then(|length| self.position.checked_add(length));
        match end {
            Some(end) if end <= self.end => {
                Ok(Field { number: tag >> 3, encoding, content: self.position..end })
            }
            _ => Err(self.malformed("a field ends after its message")),
        }
    }

    fn varint(&mut self) -> Result<u64, FileError> {
        let mut value = 0u64;
        for index in 0..VARINT_BYTES_MAX {
            let Some(byte) = self.bytes[..self.end].get(self.position) else {
                return Err(self.malformed("the message is truncated"));
            };
            self.position += 1;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.malformed("a varint has more than 10 bytes"))
    }

    fn malformed(&self, reason: &str) -> FileError {
        FileError::Malformed { reason: format!("{reason} at byte {}", self.position) }
    }
}

/// Appends a varint to a message.
pub fn push_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Returns the number of bytes that a varint needs.
pub fn varint_bytes(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()).div_ceil(7).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_the_length_that_is_announced() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 62, u64::MAX] {
            // A field with number 1.
            let mut message = vec![0x08];
            push_varint(&mut message, value);
            assert_eq!(message.len(), 1 + varint_bytes(value), "{value}");
            let mut reader = fields(&message, 1..message.len());
            assert_eq!((reader.varint(), reader.position), (Ok(value), message.len()));
        }
    }

    #[test]
    fn finds_nested_content() {
        // Field 7, length 3, holding field 1 = varint 300.
        let bytes = [0x3a, 3, 0x08, 0xac, 0x02];
        let outer: Vec<_> = fields(&bytes, 0..5).collect::<Result<_, _>>().unwrap();
        assert_eq!(outer, [Field { number: 7, encoding: Encoding::Length, content: 2..5 }]);
        let inner: Vec<_> = fields(&bytes, 2..5).collect::<Result<_, _>>().unwrap();
        assert_eq!(inner, [Field { number: 1, encoding: Encoding::Varint, content: 3..5 }]);
    }

    #[test]
    fn a_cut_off_field_is_an_error_and_ends_the_iteration() {
        let bytes = [0x3a, 4, 0x08, 0xac, 0x02];
        let found: Vec<_> = fields(&bytes, 0..5).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].is_err());
    }
}
