use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::FolkmootError;

/// Float32 values that both sides read and write in place. Even millions of values need at most one copy to cross
/// between the languages.
///
/// The values are at [`FloatBuffer::address`], in native byte order, as long as the buffer exists. A function that
/// takes a buffer also takes its values: the buffer is then empty, and its address is invalid.
#[derive(Debug, uniffi::Object)]
pub struct FloatBuffer(Mutex<Vec<f32>>);

#[uniffi::export]
impl FloatBuffer {
    /// Creates a buffer of `count` zeros.
    #[uniffi::constructor]
    pub fn zeros(count: u64) -> Result<Arc<Self>, FolkmootError> {
        let mut values = Vec::new();
        let length = usize::try_from(count).ok().filter(|length| values.try_reserve_exact(*length).is_ok());
        let length = length
            .ok_or_else(|| FolkmootError::bad_option(format!("not enough memory for {count} values")))?;
        values.resize(length, 0.0);
        Ok(Arc::new(values.into()))
    }

    /// Creates a buffer from little-endian bytes, for languages that cannot use an address.
    #[uniffi::constructor]
    pub fn from_bytes(bytes: &[u8]) -> Result<Arc<Self>, FolkmootError> {
        let (values, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            let detail = format!("{} bytes are not whole float32 values of 4 bytes", bytes.len());
            return Err(FolkmootError::bad_option(detail));
        }
        let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
        Ok(Arc::new(values.into()))
    }

    /// Returns the values as little-endian bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.lock().iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Returns the number of values; 0 after they were taken.
    pub fn count(&self) -> u64 {
        self.lock().len() as u64
    }

    /// Returns the address of the first value in this process. While you write to the memory, nothing else may use the
    /// buffer.
    pub fn address(&self) -> u64 {
        self.lock().as_mut_ptr().expose_provenance() as u64
    }
}

impl FloatBuffer {
    /// Takes the values out and leaves the buffer empty.
    pub(crate) fn take(&self) -> Vec<f32> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<f32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Vec<f32>> for FloatBuffer {
    fn from(values: Vec<f32>) -> Self {
        Self(Mutex::new(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_values_are_taken_once() {
        let bytes = [1.5f32, -2.0].map(f32::to_le_bytes).concat();
        let buffer = FloatBuffer::from_bytes(&bytes).unwrap();
        assert_eq!((buffer.to_bytes(), buffer.count()), (bytes.clone(), 2));
        assert_eq!(buffer.take(), [1.5, -2.0]);
        assert_eq!(buffer.count(), 0);
        assert!(FloatBuffer::from_bytes(&bytes[..7]).is_err());
    }

    #[test]
    fn what_no_machine_holds_is_refused() {
        assert!(FloatBuffer::zeros(u64::MAX).is_err());
        assert_eq!(FloatBuffer::zeros(3).unwrap().take(), [0.0; 3]);
    }
}
