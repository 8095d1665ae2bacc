use std::{
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::future::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};

/// The number of threads for I/O and decisions. Training has its own threads.
const THREADS: usize = 2;
/// The maximum time, in seconds, for threads to end. The app's own training loop must notice a stop within 250 ms.
const END_SECONDS_MAX: u64 = 5;

/// The only runtime of the process. A client may be dropped on any thread, but a runtime may not.
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// Ends the threads of all clients. Waits, at most a few seconds, until none of them is running the app's code.
///
/// Call this before an interpreter exits: a thread that returns to an interpreter that has exited crashes the process.
/// Close all clients first. A client that is used afterwards starts new threads.
#[uniffi::export]
pub fn shut_down() {
    let runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(runtime) = runtime {
        runtime.shutdown_timeout(Duration::from_secs(END_SECONDS_MAX));
    }
}

/// Runs a future on the runtime. Any executor may poll the returned future; dropping the returned future cancels it.
///
/// # Errors
/// The system's error text if it cannot start threads.
pub(crate) async fn on_runtime<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    let (task, handle) = future.remote_handle();
    runtime().map_err(|error| format!("cannot start threads: {error}"))?.spawn(task);
    Ok(handle.await)
}

fn runtime() -> io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = runtime.as_ref() {
        return Ok(runtime.handle().clone());
    }
    let made =
        Builder::new_multi_thread().worker_threads(THREADS).thread_name("folkmoot").enable_all().build()?;
    let handle = made.handle().clone();
    *runtime = Some(made);
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn threads_begin_again_after_they_ended() {
        for number in 0..3 {
            assert_eq!(block_on(on_runtime(async move { number })), Ok(number));
            shut_down();
        }
        shut_down();
    }
}
