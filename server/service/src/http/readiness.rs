//! Checks whether the process can do its work, for load balancers and operators.

use folkmoot_protocol::Timestamp;
use folkmoot_storage::TaskRepository;

use super::App;
use crate::disk::check_room;

/// The earliest plausible time: the start of 2023, in milliseconds since 1970. A clock with an earlier time is wrong.
pub const EARLIEST: Timestamp = Timestamp(1_672_531_200_000);
/// The largest step back, in milliseconds, that is accepted as a normal clock correction.
const BACK_MAX: u64 = 60_000;

/// Returns the reasons why the coordinator is not ready, one sentence each; empty if it is ready.
pub async fn problems(app: &App) -> Vec<String> {
    let coordinator = &app.coordinator;
    let mut problems = Vec::new();
    if *app.closing.borrow() {
        problems.push("the coordinator is shutting down".to_owned());
    }
    if let Err(error) = coordinator.storage.tasks_to_drive().await {
        problems.push(format!("the database does not answer: {error}"));
    }
    if let Err(error) = coordinator.blobs.check().await {
        problems.push(format!("the store of models and weights does not answer: {error}"));
    }
    if let Some(folder) = coordinator.ingest.log().folder() {
        problems.extend(check_room(folder).err());
    }
    if app.drivers.is_down() {
        problems.push("the drivers panicked and are restarting; the log has the reason".to_owned());
    }
    // Check the clock last, and only if nothing else is wrong. A clock that cannot be read also stops the drivers, and
    // that problem is already in the list.
    if problems.is_empty() {
        problems.extend(wrong_clock(app.started_at, (app.clock)()));
    }
    problems
}

/// Returns a sentence about the clock if its time is implausible. Signatures, deadlines and tokens depend on the clock.
fn wrong_clock(started_at: Timestamp, now: Timestamp) -> Option<String> {
    const REMEDY: &str = "set the machine's clock, by NTP for example, and restart";
    if now < EARLIEST {
        return Some(format!("the clock shows a time before 2023: {REMEDY}"));
    }
    (started_at.milliseconds_since(now) > BACK_MAX)
        .then(|| format!("the clock was set back to before the start of this process: {REMEDY}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_wrong_is_told_of() {
        let late = EARLIEST.plus_milliseconds(10 * BACK_MAX);
        let back = Timestamp(late.0 - BACK_MAX);
        assert_eq!(wrong_clock(late, late), None);
        assert_eq!(wrong_clock(late, back), None);
        let told = |started, now| wrong_clock(started, now).unwrap();
        assert!(told(late, Timestamp(back.0 - 1)).contains("set back"));
        assert!(told(Timestamp(0), Timestamp(EARLIEST.0 - 1)).contains("before 2023"));
    }
}
