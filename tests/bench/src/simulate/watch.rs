//! Measures the CPU time of the simulation's threads while they are running.

use std::fs;

use folkmoot_simulation::{record::RoundRow, simulate::Progress};

/// CPU time of this process's threads, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Accounts {
    /// The CPU time of all threads.
    all: u64,
    /// The CPU time of the thread that runs the event loop.
    main: u64,
    /// The CPU time of the training threads. They are recognised by their lack of a separate name.
    training: u64,
}

/// Records the threads' CPU time when each round ends.
pub struct Watch {
    began: Option<Accounts>,
    last: Option<Accounts>,
}

impl Watch {
    /// Records the CPU time that was used before the simulation.
    pub fn start() -> Self {
        // The kernel updates a thread's account when it schedules the thread, so let it schedule this thread.
        std::thread::yield_now();
        Self { began: read(), last: None }
    }

    /// Returns the training threads' share of the CPU time; `None` if the kernel does not report it.
    pub fn training_share(&self) -> Option<f64> {
        let used = self.used()?;
        Some(used.training as f64 / used.all.max(1) as f64)
    }

    /// Returns the share of `seconds` of wall-clock time in which the event loop used the processor.
    pub fn loop_share(&self, seconds: f64) -> Option<f64> {
        Some(self.used()?.main as f64 / 1e9 / seconds)
    }

    fn used(&self) -> Option<Accounts> {
        let (began, last) = (self.began?, self.last?);
        Some(Accounts {
            all: last.all.saturating_sub(began.all),
            main: last.main.saturating_sub(began.main),
            training: last.training.saturating_sub(began.training),
        })
    }
}

impl Progress for Watch {
    fn round(&mut self, _row: &RoundRow) {
        self.last = read();
    }
}

/// Reads and sums the accounts. A thread without a separate name has the name of the thread that started it.
fn read() -> Option<Accounts> {
    let own = fs::read_to_string("/proc/self/comm").ok()?;
    let main = std::process::id().to_string();
    let mut accounts = Accounts::default();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let thread = thread.ok()?;
        let account = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanoseconds: u64 = account.split_whitespace().next()?.parse().ok()?;
        accounts.all += nanoseconds;
        if thread.file_name().to_str() == Some(&main) {
            accounts.main += nanoseconds;
        } else if fs::read_to_string(thread.path().join("comm")).ok()? == own {
            accounts.training += nanoseconds;
        }
    }
    Some(accounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_used_since_the_start() {
        let began = Some(Accounts { all: 100, main: 100, training: 0 });
        let last = Some(Accounts { all: 1_000_000_100, main: 500_000_100, training: 250_000_000 });
        let watch = Watch { began, last };
        assert_eq!(watch.training_share(), Some(0.25));
        assert_eq!(watch.loop_share(1.0), Some(0.5));
        assert_eq!(Watch { began: None, last }.training_share(), None);
    }
}
