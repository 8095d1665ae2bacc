//! Work on several threads at a time, in parts that depend on the number of threads only.

/// What the parts of a kernel work on: `units` pieces of each slice, divided among `threads`.
pub(super) struct Shared<'a, E> {
    /// What is read, and the elements of one unit of it.
    pub(super) reads: (&'a [E], usize),
    /// What is written, and the elements of one unit of it.
    pub(super) writes: (&'a mut [E], usize),
    /// Working memory, and the elements of it for each thread.
    pub(super) scratch: (&'a mut [E], usize),
    /// The pieces of work.
    pub(super) units: std::ops::Range<usize>,
}

/// Calls `work(first unit, reads, writes, scratch)` once for each thread with its share of the units.
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
