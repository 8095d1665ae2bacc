use tokio::signal;

use super::CliError;

/// Listens for ctrl-c and SIGTERM from now on, and returns what resolves at the first of them.
///
/// # Errors
/// If the system does not let signals be listened to.
pub fn stop_signal() -> Result<impl Future<Output = ()>, CliError> {
    let failed = |error| CliError::new(format!("signals cannot be listened to: {error}"));
    #[cfg(unix)]
    let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate()).map_err(failed)?;
    #[cfg(unix)]
    let mut interrupt = signal::unix::signal(signal::unix::SignalKind::interrupt()).map_err(failed)?;
    #[cfg(windows)]
    let mut interrupt = signal::windows::ctrl_c().map_err(failed)?;
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

/// The hang-ups that the process gets: SIGHUP, by which a server is asked to read its files again. From the moment at which
/// they are listened to none ends the process.
pub struct Hangups {
    #[cfg(unix)]
    signal: signal::unix::Signal,
}

impl Hangups {
    /// Listens to them from now on.
    ///
    /// # Errors
    /// If the system does not let signals be listened to.
    pub fn listen() -> Result<Self, CliError> {
        Ok(Self {
            #[cfg(unix)]
            signal: signal::unix::signal(signal::unix::SignalKind::hangup())
                .map_err(|error| CliError::new(format!("signals cannot be listened to: {error}")))?,
        })
    }

    /// Waits for the next; for ever where there are none.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}
