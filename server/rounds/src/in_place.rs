//! Work for a processor or a disk inside an async handler.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Runs what blocks where it stands; other tasks of its thread go on on another one. A runtime of a single thread, as
/// simulations have it, waits.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let has_others =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_others { block_in_place(work) } else { work() }
}
