//! Work on several threads, with the CPU time that it takes. Other programs disturb CPU time less than wall-clock time.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use crate::{Failure, clock, process};

/// The time that some work took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of all threads.
    pub cpu: Duration,
}

/// Returns the result of the work and its CPU time on this thread.
///
/// # Errors
/// If the work fails, or the kernel does not report CPU time.
pub fn timed<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, Duration), Failure> {
    let begin = process::thread_cpu_time()?;
    let result = work()?;
    Ok((result, process::thread_cpu_time()?.saturating_sub(begin)))
}

/// Runs the work on each of `threads` threads.
///
/// # Errors
/// The first error of a thread.
pub fn on_all(threads: usize, work: impl Fn() -> Result<(), Failure> + Sync) -> Result<Spent, Failure> {
    let begin = clock::start();
    let cpu: Result<Duration, Failure> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| timed(&work))).collect();
        running.into_iter().map(|thread| Ok(joined(thread)?.1)).sum()
    });
    Ok(Spent { wall: begin.elapsed(), cpu: cpu? })
}

/// Computes a result for each index below `count`, on `threads` threads.
///
/// # Errors
/// The first error of a thread.
pub fn map<T: Send>(
    threads: usize,
    count: usize,
    compute: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(results);
            }
            results.push((index, compute(index)?));
        }
    };
    let mut results = Vec::with_capacity(count);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().try_for_each(|thread| {
            results.extend(joined(thread)?);
            Ok::<_, Failure>(())
        })
    })?;
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().unwrap_or_else(|_| Err("a thread panicked".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_indices() {
        let squares = map(3, 100, |index| Ok(index * index)).unwrap();
        assert!(squares.into_iter().eq((0..100).map(|index| index * index)));
    }

    #[test]
    fn an_error_of_one_thread_is_returned() {
        let failed = map(2, 10, |index| if index == 7 { Err("seven".into()) } else { Ok(()) });
        assert_eq!(failed.unwrap_err().to_string(), "seven");
        assert_eq!(on_all(2, || Err("all".into())).unwrap_err().to_string(), "all");
    }
}
