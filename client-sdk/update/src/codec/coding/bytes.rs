use crate::codec::Fault;

/// A reader of a tile's body.
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Takes the next bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Fault("the bytes end too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes a fixed number of bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.take(N).map(|taken| taken.try_into().expect("N bytes were taken"))
    }

    /// Takes a little-endian u32.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes a little-endian float32 that is finite.
    pub fn f32(&mut self) -> Result<f32, Fault> {
        let value = f32::from_le_bytes(self.array()?);
        if value.is_finite() { Ok(value) } else { Err(Fault("a scale is not finite")) }
    }

    /// Checks that no bytes are left.
    pub fn end(&self) -> Result<(), Fault> {
        if self.0.is_empty() { Ok(()) } else { Err(Fault("bytes follow after the last value")) }
    }
}
