use std::io;

use tokio::signal;

/// The operating system does not let the process handle a signal.
#[derive(Debug, thiserror::Error)]
#[error("cannot install signal handlers: {0}")]
pub struct SignalError(#[from] io::Error);

/// Installs handlers for ctrl-c and SIGTERM, and returns a future that resolves at the first signal.
///
/// # Errors
/// If the handlers cannot be installed.
pub fn stop_signal() -> Result<impl Future<Output = ()>, SignalError> {
    #[cfg(unix)]
    let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
    #[cfg(unix)]
    let mut interrupt = signal::unix::signal(signal::unix::SignalKind::interrupt())?;
    #[cfg(windows)]
    let mut interrupt = signal::windows::ctrl_c()?;
    Ok(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        #[cfg(windows)]
        let _ = interrupt.recv().await;
    })
}

/// The SIGHUP signals of the process, which ask a server to reload its files. Once this value exists, SIGHUP no
/// longer ends the process.
pub struct Hangups {
    #[cfg(unix)]
    signal: signal::unix::Signal,
}

impl Hangups {
    /// Installs the handler.
    ///
    /// # Errors
    /// If the handler cannot be installed.
    pub fn listen() -> Result<Self, SignalError> {
        Ok(Self {
            #[cfg(unix)]
            signal: signal::unix::signal(signal::unix::SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal. On systems without SIGHUP, waits forever.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}
