use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use folkmoot_protocol::BlobDigest;

use super::{Compiled, FUNCTIONS, Functions, StrategyError};

/// The maximum number of compiled components in memory.
const KEPT: usize = 16;

/// Compiled components by digest. The least recently used one is dropped first.
#[derive(Default)]
pub struct Strategies {
    kept: Mutex<VecDeque<(BlobDigest, Arc<Compiled>)>>,
    functions: Option<Arc<dyn Functions>>,
}

impl Strategies {
    /// Returns the components of this process: a component is the same for every coordinator and simulation in it.
    pub fn of_process() -> Arc<Self> {
        static OF_PROCESS: LazyLock<Arc<Strategies>> = LazyLock::new(Arc::default);
        OF_PROCESS.clone()
    }

    /// Returns the strategies of a simulation in which functions take the place of components.
    pub fn with_functions(functions: Arc<dyn Functions>) -> Arc<Self> {
        Arc::new(Self { functions: Some(functions), ..Self::default() })
    }

    /// Returns the functions that this digest stands for, in a simulation that has functions.
    pub fn functions(&self, digest: BlobDigest) -> Option<Arc<dyn Functions>> {
        self.functions.clone().filter(|_| digest == BlobDigest::of(FUNCTIONS))
    }

    /// Returns a component that was compiled before.
    pub fn found(&self, digest: BlobDigest) -> Option<Arc<Compiled>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(one, _)| *one == digest)?;
        let found = kept.remove(at)?;
        let compiled = found.1.clone();
        kept.push_back(found);
        Some(compiled)
    }

    /// Compiles the component in `bytes`, unless it was compiled before. Blocks, for a large component for many seconds.
    ///
    /// # Errors
    /// If the bytes are no component, or there are too many.
    pub fn compiled(&self, digest: BlobDigest, bytes: &[u8]) -> Result<Arc<Compiled>, StrategyError> {
        if let Some(found) = self.found(digest) {
            return Ok(found);
        }
        let compiled = Arc::new(Compiled::new(bytes)?);
        self.keep(digest, compiled.clone());
        Ok(compiled)
    }

    /// Keeps a compiled component. If there are too many, drops the least recently used one.
    pub fn keep(&self, digest: BlobDigest, compiled: Arc<Compiled>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(one, _)| *one != digest);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((digest, compiled));
    }
}
