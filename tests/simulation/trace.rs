//! The trace of a world: a hash of all its events, and the last events as text.

use std::{
    collections::VecDeque,
    fmt::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

/// The maximum number of lines in a failure's report.
const LINES_MAX: usize = 30;

/// The trace of a world. Clones share it, so that it outlives a panic of the world.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    is_verbose: bool,
    hash: u64,
    count: u64,
    lines: VecDeque<String>,
}

impl Trace {
    /// Creates an empty trace. A verbose trace also prints its lines to stderr.
    pub fn new(is_verbose: bool) -> Self {
        // This is the offset basis of FNV-1a.
        Self(Arc::new(Mutex::new(Inner { is_verbose, hash: 0xcbf2_9ce4_8422_2325, ..Inner::default() })))
    }

    /// Adds a line that begins with the virtual time in seconds.
    pub fn note(&self, milliseconds: u64, what: fmt::Arguments<'_>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line =
            if inner.lines.len() == LINES_MAX { inner.lines.pop_front() } else { None }.unwrap_or_default();
        line.clear();
        let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
        write!(line, "{seconds:>6}.{rest:03} {what}").expect("a string takes all");
        for byte in line.as_bytes() {
            inner.hash = (inner.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        inner.count += 1;
        if inner.is_verbose {
            eprintln!("{line}");
        }
        inner.lines.push_back(line);
    }

    /// Returns the hash of all lines so far.
    pub fn hash(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hash
    }

    /// Returns the last lines, at most `LINES_MAX`.
    pub fn last_lines(&self) -> Vec<String> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lines.iter().cloned().collect()
    }
}
