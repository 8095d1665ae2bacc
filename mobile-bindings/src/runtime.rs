use std::{
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::future::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};

/// Threads that move bytes and take decisions; training has its own.
const THREADS: usize = 2;
/// How long threads may take to end: a training loop of the app's own is to notice a stop within 250 ms.
const END_SECONDS_MAX: u64 = 5;

/// The one runtime of the process: a client must be able to end in any thread, and a runtime may not.
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// Ends the threads of all clients, and waits until none is in the app's code any more, at most some seconds.
///
/// An interpreter calls this before it ends: a thread that comes back to one that has ended takes the process with it.
/// Clients are to be closed before; one that is used afterwards begins new threads.
#[uniffi::export]
pub fn shut_down() {
    let runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(runtime) = runtime {
        runtime.shutdown_timeout(Duration::from_secs(END_SECONDS_MAX));
    }
}

/// Runs a future on the runtime, whatever polls what is returned. When that is dropped, the future ends.
///
/// # Errors
/// The system's error, in words, if it has no threads to give.
pub(crate) async fn on_runtime<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    let (task, handle) = future.remote_handle();
    runtime().map_err(|error| format!("no threads can be started: {error}"))?.spawn(task);
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
