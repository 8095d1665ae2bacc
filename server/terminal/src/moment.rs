use folkmoot_protocol::Timestamp;

/// Formats a time in UTC: `2026-01-31T12:00:00Z`. A time that a calendar cannot express is `-`.
pub fn moment(at: Timestamp) -> String {
    let shown = i64::try_from(at.0)
        .ok()
        .and_then(|milliseconds| jiff::Timestamp::from_millisecond(milliseconds).ok());
    shown.map_or_else(|| "-".into(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_in_utc() {
        assert_eq!(moment(Timestamp(1_700_000_000_123)), "2023-11-14T22:13:20Z");
        assert_eq!(moment(Timestamp(u64::MAX)), "-");
    }
}
