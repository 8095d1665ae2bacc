//! Work on several threads, with results in order.

use std::panic::resume_unwind;

/// Calls `compute` for each index from 0 to `count` − 1, and returns the results in order. A call may depend on its
/// index only, so that the number of threads changes nothing.
///
/// # Errors
/// The error of a failed call.
pub fn in_parallel<T: Send, E: Send>(
    threads: usize,
    count: usize,
    compute: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let threads = threads.clamp(1, count.max(1));
    let of_thread = |first: usize| -> Result<Vec<(usize, T)>, E> {
        (first..count).step_by(threads).map(|index| Ok((index, compute(index)?))).collect()
    };
    let of_thread = &of_thread;
    let parts = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        let parts =
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        parts.collect::<Result<Vec<_>, E>>()
    })?;
    let mut results: Vec<(usize, T)> = parts.into_iter().flatten().collect();
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for threads in [0, 1, 3, 50] {
            let squares = in_parallel(threads, 10, |index| Ok::<usize, ()>(index * index)).unwrap();
            assert_eq!(squares, (0..10).map(|index| index * index).collect::<Vec<usize>>());
        }
        assert_eq!(in_parallel(2, 0, |_| Ok::<usize, ()>(0)), Ok(vec![]));
        assert_eq!(in_parallel(2, 4, |index| if index == 3 { Err("three") } else { Ok(()) }), Err("three"));
    }
}
