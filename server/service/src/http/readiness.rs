//! Checks whether the process can do its work, for load balancers and operators.

use std::{fmt::Display, time::Duration};

use folkmoot_protocol::Timestamp;
use folkmoot_storage::TaskRepository;
use tokio::time::{error::Elapsed, timeout};

use super::App;
use crate::{disk::check_room, stage::Stage};

/// The earliest plausible time: the start of 2023, in milliseconds since 1970. A clock with an earlier time is wrong.
pub const EARLIEST: Timestamp = Timestamp(1_672_531_200_000);
/// The time that the database and the store have for an answer. Load balancers wait little longer.
const ANSWER_MAX: Duration = Duration::from_secs(3);
/// The largest step back, in milliseconds, that is accepted as a normal clock correction.
const BACK_MAX: u64 = 60_000;

/// Returns the reasons why the coordinator is not ready, one sentence each; empty if it is ready.
pub async fn problems(app: &App) -> Vec<String> {
    let coordinator = &app.coordinator;
    let mut problems = Vec::new();
    match *app.stage.borrow() {
        Stage::Serving => {}
        Stage::Draining => problems.push("draining: the coordinator is about to stop".to_owned()),
        Stage::Closing => problems.push("the coordinator is shutting down".to_owned()),
    }
    let (database, blobs) = tokio::join!(
        timeout(ANSWER_MAX, coordinator.storage.tasks_to_drive()),
        timeout(ANSWER_MAX, coordinator.blobs.check()),
    );
    problems.extend(silence("the database", database));
    problems.extend(silence("the store of models and weights", blobs));
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

/// Returns a sentence about a part that failed or did not answer in time.
fn silence<T, E: Display>(part: &str, answer: Result<Result<T, E>, Elapsed>) -> Option<String> {
    match answer {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(format!("{part} does not answer: {error}")),
        Err(_) => Some(format!("{part} does not answer within {} s", ANSWER_MAX.as_secs())),
    }
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

    #[tokio::test]
    async fn a_part_that_is_silent_is_named() {
        let silent = timeout(Duration::ZERO, std::future::pending::<Result<(), &str>>()).await;
        assert_eq!(silence("the database", silent).unwrap(), "the database does not answer within 3 s");
        assert_eq!(
            silence("the database", Ok(Err::<(), _>("gone"))).unwrap(),
            "the database does not answer: gone"
        );
        assert_eq!(silence("the database", Ok(Ok::<_, &str>(()))), None);
    }

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
