//! Check-ins at a rate.

use std::{sync::Arc, time::Duration};

use folkmoot_client::Transport;
use folkmoot_protocol::messages::CheckInResponse;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use super::{LoadError, Rate, chance::Chance, record::Kind, shared::Shared, update::offer};

/// The longest time after which a device drops its check-in.
const DROPS_WITHIN: Duration = Duration::from_millis(20);
/// The longest time for updates to finish after the last check-in.
const FINISHES_WITHIN: Duration = Duration::from_secs(30);

/// The extent of a storm that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storm {
    /// The duration of the check-ins.
    pub duration: Duration,
    /// The number of check-ins that were due and not sent, because `in_flight` earlier ones had no answer yet.
    pub unsent: u64,
}

/// Sends check-ins until the time is over or `stop` is true, and waits for their answers. Devices take turns.
///
/// The latency of a check-in at a rate counts from the moment at which it was due. A coordinator that falls behind
/// cannot hide it by slowing the test down.
///
/// # Errors
/// [`LoadError::Interruption`] if a check-in panics.
pub async fn storm(
    shared: &Arc<Shared>,
    devices: &[Transport],
    stop: &mut watch::Receiver<bool>,
) -> Result<Storm, LoadError> {
    let begun = Instant::now();
    let end = begun + Duration::from_secs(shared.settings.seconds.into());
    let mut chance = Chance::new(shared.settings.seed, 0);
    let mut requests = JoinSet::new();
    let mut sent = 0;
    let total = total(shared.settings.rate, shared.settings.seconds);
    for device in devices.iter().cycle() {
        if total.is_some_and(|total| sent >= total) || *stop.borrow() {
            break;
        }
        let due = due(shared.settings.rate, begun, sent);
        let turn = async {
            if let Some(due) = due {
                sleep_until(due).await;
            }
            shared.permits.clone().acquire_owned().await.expect("the semaphore is never closed")
        };
        let permit = tokio::select! {
            biased;
            _ = stop.changed() => break,
            () = sleep_until(end) => break,
            permit = turn => permit,
        };
        let (shared, device) = (Arc::clone(shared), device.clone());
        let drops = chance.happens(shared.settings.drop).then(|| chance.part_of(DROPS_WITHIN));
        let number = sent;
        requests.spawn(async move {
            let assigned = check_in(&shared, &device, due.unwrap_or_else(Instant::now), drops).await;
            drop(permit);
            if let Some(CheckInResponse::Assigned { assignment }) = assigned {
                // Numbers of devices end before half of the range.
                let mut chance = Chance::new(shared.settings.seed, u64::MAX / 2 + number);
                shared.take_part(&device, &assignment, &mut chance).await;
            }
        });
        sent += 1;
        while let Some(done) = requests.try_join_next() {
            done?;
        }
    }
    // The devices that wait stay connected to the end, also if there are few check-ins or none.
    if !*stop.borrow() {
        tokio::select! {
            biased;
            _ = stop.changed() => {}
            () = sleep_until(end) => {}
        }
    }
    let duration = begun.elapsed();
    let finish = async {
        while let Some(done) = requests.join_next().await {
            done?;
        }
        Ok::<_, LoadError>(())
    };
    if let Ok(finished) = timeout(FINISHES_WITHIN, finish).await {
        finished?;
    }
    let unsent = if *stop.borrow() { 0 } else { total.unwrap_or(sent).saturating_sub(sent) };
    Ok(Storm { duration, unsent })
}

/// Sends one check-in. Returns the answer, if there is one.
async fn check_in(
    shared: &Shared,
    device: &Transport,
    since: Instant,
    drops: Option<Duration>,
) -> Option<CheckInResponse> {
    let offer = offer();
    let request = device.check_in(&offer, 0);
    let Some(early) = drops else {
        return shared.recorder.time(Kind::CheckIn, since, request).await.ok();
    };
    match timeout(early, request).await {
        Ok(Ok(answer)) => {
            shared.recorder.answered(Kind::CheckIn, since.elapsed());
            Some(answer)
        }
        Ok(Err(error)) => {
            shared.recorder.failed(Kind::CheckIn, &error.into());
            None
        }
        Err(_) => {
            shared.recorder.dropped(Kind::CheckIn);
            None
        }
    }
}

/// Returns the number of check-ins; `None` for as many as fit into the time.
fn total(rate: Rate, seconds: u32) -> Option<u64> {
    match rate {
        Rate::PerSecond(rate) => Some(u64::from(rate) * u64::from(seconds)),
        Rate::Max => None,
    }
}

/// Returns the moment at which a check-in is due; `None` if it follows the answer of an earlier one.
fn due(rate: Rate, begun: Instant, number: u64) -> Option<Instant> {
    match rate {
        Rate::PerSecond(rate) => {
            Some(begun + Duration::from_secs_f64(number as f64 / f64::from(rate.max(1))))
        }
        Rate::Max => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_ins_are_due_evenly_and_none_after_the_last_second() {
        let begun = Instant::now();
        let rate = Rate::PerSecond(4);
        assert_eq!(total(rate, 3), Some(12));
        assert_eq!(due(rate, begun, 0), Some(begun));
        assert_eq!(due(rate, begun, 11), Some(begun + Duration::from_millis(2_750)));
        assert_eq!((total(Rate::Max, 3), due(Rate::Max, begun, 5)), (None, None));
        assert_eq!(total(Rate::PerSecond(0), 3), Some(0));
    }
}
