use folkmoot_protocol::Timestamp;

use crate::participation::History;

/// The maximum number of doublings: the cool-down is at most 64 times its initial length.
const DOUBLINGS_MAX: u32 = 6;
const SECONDS_MAX: u64 = 30 * 24 * 3600;

/// Returns whether the cool-down is over. After the n-th consecutive failure it lasts seconds·2^(n − 1).
pub(super) fn is_over(seconds: u64, history: &History, now: Timestamp) -> bool {
    let Some(failed_at) = history.failed_at.filter(|_| history.failures > 0) else { return true };
    let doublings = (history.failures - 1).min(DOUBLINGS_MAX);
    now >= failed_at.plus_seconds(seconds.saturating_mul(1 << doublings))
}

pub(super) fn is_allowed(seconds: u64) -> bool {
    (1..=SECONDS_MAX).contains(&seconds)
}
