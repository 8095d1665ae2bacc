//! Thrift's compact protocol, just enough to check sizes before the Parquet library trusts them (Apache Thrift, "Thrift
//! compact protocol encoding").

use crate::Fault;

/// The maximum nesting of structs and lists. Valid Parquet files nest less.
const DEPTH_MAX: u32 = 24;

/// A callback for every integer, with the ids of the enclosing fields, outermost first.
pub(super) type Visit<'v> = dyn FnMut(&[i16], i64) -> Result<(), Fault> + 'v;

/// Walks through an encoded struct.
pub(super) struct Walker<'a> {
    bytes: &'a [u8],
    position: usize,
    depth: u32,
    path: Vec<i16>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, depth: 0, path: Vec::new() }
    }

    /// Walks through one struct and returns its length in bytes.
    ///
    /// # Errors
    /// Returns a fault if the struct is truncated, nested too deeply, or declares lengths beyond the end.
    pub(super) fn walk(mut self, visit: &mut Visit<'_>) -> Result<usize, Fault> {
        self.structure(visit)?;
        Ok(self.position)
    }

    fn structure(&mut self, visit: &mut Visit<'_>) -> Result<(), Fault> {
        self.enter()?;
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                break;
            }
            id = match header >> 4 {
                0 => i16::try_from(self.integer()?).map_err(|_| damaged())?,
                delta => id.checked_add(i16::from(delta)).ok_or_else(damaged)?,
            };
            self.path.push(id);
            // A field of type 1 or 2 is a boolean without further bytes.
            if !matches!(header & 0x0f, 1 | 2) {
                self.value(header & 0x0f, visit)?;
            }
            self.path.pop();
        }
        self.depth -= 1;
        Ok(())
    }

    fn value(&mut self, kind: u8, visit: &mut Visit<'_>) -> Result<(), Fault> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let integer = self.integer()?;
                visit(&self.path, integer)
            }
            7 => self.skip(8),
            8 => {
                let length = self.length()?;
                self.skip(length)
            }
            9 | 10 => self.list(visit),
            11 => self.map(visit),
            12 => self.structure(visit),
            _ => Err(damaged()),
        }
    }

    fn list(&mut self, visit: &mut Visit<'_>) -> Result<(), Fault> {
        self.enter()?;
        let header = self.byte()?;
        let length = if header >> 4 == 15 { self.length()? } else { usize::from(header >> 4) };
        self.expect(length)?;
        for _ in 0..length {
            self.value(header & 0x0f, visit)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn map(&mut self, visit: &mut Visit<'_>) -> Result<(), Fault> {
        self.enter()?;
        let length = self.length()?;
        self.expect(length)?;
        if length > 0 {
            let kinds = self.byte()?;
            for _ in 0..length {
                self.value(kinds >> 4, visit)?;
                self.value(kinds & 0x0f, visit)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth <= DEPTH_MAX { Ok(()) } else { Err(damaged()) }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = self.bytes.get(self.position).copied().ok_or_else(damaged)?;
        self.position += 1;
        Ok(byte)
    }

    /// Reads a varint: seven bits per byte, the lowest first.
    fn variable(&mut self) -> Result<u64, Fault> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// Reads a zigzag integer: the sign is in the lowest bit.
    fn integer(&mut self) -> Result<i64, Fault> {
        let number = self.variable()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn length(&mut self) -> Result<usize, Fault> {
        usize::try_from(self.variable()?).map_err(|_| damaged())
    }

    /// Checks that enough bytes follow for this many elements. Each element takes at least one byte.
    fn expect(&self, length: usize) -> Result<(), Fault> {
        if length <= self.bytes.len() - self.position { Ok(()) } else { Err(damaged()) }
    }

    fn skip(&mut self, length: usize) -> Result<(), Fault> {
        self.expect(length)?;
        self.position += length;
        Ok(())
    }
}

fn damaged() -> Fault {
    Fault::damaged("cannot be read as a Parquet file: a header is truncated or declares too large a size")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer and its enclosing fields.
    type Found = (Vec<i16>, i64);

    fn integers(bytes: &[u8]) -> Result<(usize, Vec<Found>), Fault> {
        let mut found = Vec::new();
        let length = Walker::new(bytes).walk(&mut |path, integer| {
            found.push((path.to_vec(), integer));
            Ok(())
        })?;
        Ok((length, found))
    }

    #[test]
    fn integers_are_found_in_structs_and_lists() {
        let bytes = [
            0x15, 0x04, // field 1, i32 2
            0x11, // field 2, true
            0x28, 0x02, b'a', b'b', // field 4, two bytes
            0x19, 0x2c, // field 5, a list of two structs
            0x16, 0x03, 0x00, // of which each has field 1, i64 -2
            0x16, 0xac, 0x02, 0x00, // and 150
            0x06, 0x14, 0x01, // field 10 by its own number, i64 -1
            0x00, 0xff,
        ];
        let expected = vec![(vec![1], 2), (vec![5, 1], -2), (vec![5, 1], 150), (vec![10], -1)];
        assert_eq!(integers(&bytes), Ok((bytes.len() - 1, expected)));
        for length in 0..bytes.len() - 1 {
            assert!(integers(&bytes[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn lengths_behind_the_end_and_deep_nests_are_refused() {
        assert!(integers(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]).is_err());
        assert!(integers(&[0x19, 0xf3, 0xff, 0xff, 0x03, 0]).is_err());
        assert!(integers(&[0x1c; 100_000]).is_err());
        assert!(integers(&[&[0x19][..], &[0x19; 100_000]].concat()).is_err());
        assert!(integers(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]).is_err());
    }
}
