//! An in-memory object store that fails on request.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};

/// The kind of failure that is injected into a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// A read fails.
    Get,
    /// A write fails and stores nothing.
    Put,
    /// A write stores the data but reports an error.
    PutAnswer,
}

/// An object store that fails on request.
#[derive(Debug, Default)]
pub struct FaultyStore {
    inner: InMemory,
    next: Mutex<Option<StoreFault>>,
    failures: AtomicU64,
}

type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

impl FaultyStore {
    /// Lets the next call of the matching kind fail, once. With `None`, all calls succeed.
    pub fn fail_next(&self, fault: Option<StoreFault>) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// Lets all calls succeed again. Returns the fault that has not occurred yet, if there is one.
    pub fn disarm(&self) -> Option<StoreFault> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the number of failed calls.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn fails(&self, fault: StoreFault) -> bool {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let fails = *next == Some(fault);
        if fails {
            *next = None;
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        fails
    }
}

fn failure() -> object_store::Error {
    object_store::Error::Generic { store: "simulated", source: "the disk failed".into() }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

// These are the signatures that `#[async_trait]` would generate.
impl ObjectStore for FaultyStore {
    fn put_opts<'s, 'p, 'a>(
        &'s self,
        path: &'p Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Call<'a, PutResult>
    where
        's: 'a,
        'p: 'a,
        Self: 'a,
    {
        Box::pin(async move {
            if self.fails(StoreFault::Put) {
                return Err(failure());
            }
            let done = self.inner.put_opts(path, payload, options).await?;
            if self.fails(StoreFault::PutAnswer) { Err(failure()) } else { Ok(done) }
        })
    }

    fn put_multipart_opts<'s, 'p, 'a>(
        &'s self,
        path: &'p Path,
        options: PutMultipartOptions,
    ) -> Call<'a, Box<dyn MultipartUpload>>
    where
        's: 'a,
        'p: 'a,
        Self: 'a,
    {
        self.inner.put_multipart_opts(path, options)
    }

    fn get_opts<'s, 'p, 'a>(&'s self, path: &'p Path, options: GetOptions) -> Call<'a, GetResult>
    where
        's: 'a,
        'p: 'a,
        Self: 'a,
    {
        Box::pin(async move {
            if self.fails(StoreFault::Get) {
                return Err(failure());
            }
            self.inner.get_opts(path, options).await
        })
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_delimiter<'s, 'p, 'a>(&'s self, prefix: Option<&'p Path>) -> Call<'a, ListResult>
    where
        's: 'a,
        'p: 'a,
        Self: 'a,
    {
        self.inner.list_with_delimiter(prefix)
    }

    fn copy_opts<'s, 'f, 't, 'a>(&'s self, from: &'f Path, to: &'t Path, options: CopyOptions) -> Call<'a, ()>
    where
        's: 'a,
        'f: 'a,
        't: 'a,
        Self: 'a,
    {
        self.inner.copy_opts(from, to, options)
    }
}
