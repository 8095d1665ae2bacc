//! Blocking work inside an async handler.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Runs blocking work on the current thread. A multi-threaded runtime moves the thread's other tasks to other threads.
/// In a single-threaded runtime, as in simulations, the other tasks wait.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let has_others =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_others { block_in_place(work) } else { work() }
}
