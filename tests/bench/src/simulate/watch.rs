//! Whose CPU time it was, read while the simulation's threads are there.

use std::fs;

use folkmoot_simulation::{record::RoundRow, simulate::Progress};

/// Nanoseconds of CPU time of this process's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Accounts {
    /// All threads.
    all: u64,
    /// The one that runs the loop of events.
    main: u64,
    /// Those that train: they have no name of their own.
    training: u64,
}

/// Notes at the end of every round what the threads have used.
pub struct Watch {
    began: Option<Accounts>,
    last: Option<Accounts>,
}

impl Watch {
    /// Notes what was used before.
    pub fn start() -> Self {
        // The kernel brings a thread's account up to date when it schedules it.
        std::thread::yield_now();
        Self { began: read(), last: None }
    }

    /// The share of the CPU time in the threads that train; `None` where the kernel does not say.
    pub fn training_share(&self) -> Option<f64> {
        let used = self.used()?;
        Some(used.training as f64 / used.all.max(1) as f64)
    }

    /// The share of so many seconds of the clock in which the loop of events computed.
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

/// Adds the accounts up. Threads without a name bear that of the thread which has started them.
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
