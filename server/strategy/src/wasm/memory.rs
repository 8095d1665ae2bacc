use wasmtime::ResourceLimiter;

/// The size of an element of a table in bytes.
const ELEMENT_BYTES: usize = 16;

/// The limit on all memories and tables of a component together. A component can consist of several modules, each with its own.
pub(super) struct MemoryLimit {
    left: usize,
}

/// A component wants more memory than it may have.
#[derive(Debug, thiserror::Error)]
#[error("out of memory")]
pub(super) struct OutOfMemory;

impl MemoryLimit {
    pub fn new(mib: u32) -> Self {
        Self { left: usize::try_from(u64::from(mib) << 20).unwrap_or(usize::MAX) }
    }

    fn take(&mut self, bytes: usize) -> wasmtime::Result<bool> {
        self.left = self.left.checked_sub(bytes).ok_or(OutOfMemory)?;
        Ok(true)
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.take(desired.saturating_sub(current))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.take(desired.saturating_sub(current).saturating_mul(ELEMENT_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_tables_share_one_limit() {
        let mut limit = MemoryLimit::new(1);
        assert!(limit.memory_growing(0, 1 << 19, None).is_ok());
        assert!(limit.table_growing(0, 1 << 14, None).is_ok());
        assert!(limit.memory_growing(0, 1 << 18, None).is_ok());
        let refused = limit.memory_growing(1 << 18, (1 << 18) + 1, None);
        assert!(refused.is_err_and(|error| error.downcast_ref::<OutOfMemory>().is_some()));
    }
}
