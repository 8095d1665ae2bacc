//! Progress on stderr, so that stdout has the result only.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval},
};

use super::record::{Progress, Recorder};

const EVERY: Duration = Duration::from_secs(5);

/// Prints progress, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// One line for each phase, and one every five seconds.
    Lines,
    /// Nothing, for tests and benchmarks.
    Silent,
}

impl Screen {
    /// Prints a line.
    pub fn say(self, text: &str) {
        if self == Self::Lines {
            eprintln!("{text}");
        }
    }

    /// Prints the counts until the returned value is dropped.
    pub fn watch(self, recorder: &Arc<Recorder>) -> Watching {
        let recorder = Arc::clone(recorder);
        Watching(tokio::spawn(async move {
            let begun = Instant::now();
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            ticks.tick().await;
            loop {
                ticks.tick().await;
                self.say(&line(begun.elapsed().as_secs(), recorder.progress()));
            }
        }))
    }
}

/// Ends the lines of progress when it is dropped.
pub struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn line(seconds: u64, progress: Progress) -> String {
    let Progress { connected, check_ins, uploads, failures } = progress;
    format!(
        "{seconds:>5} s: {connected} connected, {check_ins} check-ins, {uploads} uploads, {failures} failures"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_every_count() {
        let progress = Progress { connected: 1, check_ins: 2, uploads: 3, failures: 4 };
        assert_eq!(line(10, progress), "   10 s: 1 connected, 2 check-ins, 3 uploads, 4 failures");
    }
}
