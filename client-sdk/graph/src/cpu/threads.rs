//! Divides work among threads. The division depends only on the number of threads.

/// The data of one kernel run, to be divided among threads. The run consists of independent units, such as images. Each
/// unit has a fixed part of the input and of the output.
pub(super) struct Shared<'a, E> {
    /// The input slice, and the number of its elements per unit.
    pub(super) reads: (&'a [E], usize),
    /// The output slice, and the number of its elements per unit.
    pub(super) writes: (&'a mut [E], usize),
    /// The workspace slice, and the number of its elements per thread.
    pub(super) scratch: (&'a mut [E], usize),
    /// The numbers of the units to run.
    pub(super) units: std::ops::Range<usize>,
}

/// Divides the units into up to `threads` shares of neighbouring units. Calls `work(first unit, reads, writes,
/// scratch)` once for each share, with the parts of the slices that belong to it. With the feature `threads`, the calls
/// run in parallel.
pub(super) fn spread<E: Send + Sync>(
    shared: Shared<'_, E>,
    threads: usize,
    work: &(impl Fn(usize, &[E], &mut [E], &mut [E]) + Sync),
) {
    let Shared { reads, writes, scratch, units } = shared;
    if threads <= 1 || units.len() <= 1 {
        return work(units.start, reads.0, writes.0, scratch.0);
    }
    let (left, left_units) = (threads / 2, units.len() * (threads / 2) / threads);
    let (left_reads, right_reads) = reads.0.split_at(left_units * reads.1);
    let (left_writes, right_writes) = writes.0.split_at_mut(left_units * writes.1);
    let (left_scratch, right_scratch) = scratch.0.split_at_mut(left * scratch.1);
    let first = Shared {
        reads: (left_reads, reads.1),
        writes: (left_writes, writes.1),
        scratch: (left_scratch, scratch.1),
        units: units.start..units.start + left_units,
    };
    let second = Shared {
        reads: (right_reads, reads.1),
        writes: (right_writes, writes.1),
        scratch: (right_scratch, scratch.1),
        units: units.start + left_units..units.end,
    };
    both(|| spread(first, left, work), || spread(second, threads - left, work));
}

#[cfg(feature = "threads")]
fn both(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    rayon::join(left, right);
}

#[cfg(not(feature = "threads"))]
fn both(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    left();
    right();
}
