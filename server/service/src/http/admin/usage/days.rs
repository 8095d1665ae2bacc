use std::ops::RangeInclusive;

use axum::extract::{Query, rejection::QueryRejection};
use folkmoot_api::usage::DayUsageView;
use folkmoot_coordinator::tenancy::Day;
use folkmoot_protocol::{ErrorCode, OrganisationId, Timestamp};
use folkmoot_rounds::refusal::Refusal;
use jiff::civil::Date;
use serde::Deserialize;

use crate::http::{App, admin::read};

/// The longest span of days in one answer.
const DAYS_MAX: u64 = 366;
/// The number of days that are shown by default, with today.
const DAYS: u64 = 31;

/// The requested days.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Days {
    /// The first day (UTC): `2026-01-31`. Default: 30 days before the last one.
    #[param(format = "date")]
    from: Option<String>,
    /// The last day (UTC), at most 366 days after the first. Default: today.
    #[param(format = "date")]
    to: Option<String>,
}

/// Lists the usage of one or all organisations. First stores what this process has counted.
pub async fn usage(
    app: &App,
    organisation_id: Option<OrganisationId>,
    days: Result<Query<Days>, QueryRejection>,
) -> Result<Vec<DayUsageView>, Refusal> {
    let now = (app.clock)();
    let days = range(&read::query(days)?, now)?;
    let storage = &app.coordinator.storage;
    app.coordinator.tenants.settle(storage, now).await?;
    let records = storage.database()?.usage(organisation_id, days).await?;
    let view = |record: folkmoot_storage::UsageRecord| DayUsageView {
        day: date_of(record.day),
        organisation_id: record.organisation_id,
        organisation: record.organisation,
        requests: record.used.requests,
        received_bytes: record.used.received_bytes,
        sent_bytes: record.used.sent_bytes,
        updates: record.used.updates,
    };
    Ok(records.into_iter().map(view).collect())
}

fn range(days: &Days, now: Timestamp) -> Result<RangeInclusive<Day>, Refusal> {
    let malformed = |detail: String| Refusal::new(ErrorCode::MalformedRequest, detail);
    let to = days.to.as_deref().map_or(Ok(Day::from(now)), |text| day_of("to", text))?;
    let first = Day(to.0.saturating_sub(DAYS - 1));
    let from = days.from.as_deref().map_or(Ok(first), |text| day_of("from", text))?;
    match to.0.checked_sub(from.0) {
        Some(span) if span < DAYS_MAX => Ok(from..=to),
        Some(_) => {
            Err(malformed(format!("there are over {DAYS_MAX} days from `from` to `to`; ask for fewer")))
        }
        None => Err(malformed("`to` is before `from`; swap them".into())),
    }
}

/// Reads a day from 1970 on.
fn day_of(name: &str, text: &str) -> Result<Day, Refusal> {
    let days = Date::strptime("%Y-%m-%d", text).ok().and_then(|date| {
        let since = date.since(Date::constant(1970, 1, 1)).ok()?;
        u64::try_from(since.get_days()).ok()
    });
    days.map(Day).ok_or_else(|| {
        let shown: String = text.chars().take(32).collect();
        let detail = format!("`{name}` is {shown:?}; it must be a day from 1970 on, such as 2026-01-31");
        Refusal::new(ErrorCode::MalformedRequest, detail)
    })
}

fn date_of(day: Day) -> String {
    let milliseconds = i64::try_from(day.start().0).unwrap_or(i64::MAX);
    let start = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX);
    start.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_769_862_600_000);

    fn read(from: Option<&str>, to: Option<&str>) -> Result<[String; 2], String> {
        let days = Days { from: from.map(str::to_owned), to: to.map(str::to_owned) };
        let range = range(&days, NOW).map_err(|refusal| refusal.0.detail)?;
        Ok([date_of(*range.start()), date_of(*range.end())])
    }

    #[test]
    fn days_are_read_and_limited() {
        let days = |from: &str, to: &str| Ok([from.to_owned(), to.to_owned()]);
        assert_eq!(read(None, None), days("2026-01-01", "2026-01-31"));
        assert_eq!(read(Some("2026-01-31"), None), days("2026-01-31", "2026-01-31"));
        assert_eq!(read(None, Some("1970-01-02")), days("1970-01-01", "1970-01-02"));
        assert_eq!(read(Some("2024-01-01"), Some("2024-12-31")), days("2024-01-01", "2024-12-31"));
        assert!(read(Some("2024-01-01"), Some("2025-01-01")).unwrap_err().contains("over 366 days"));
        assert!(read(Some("2026-02-01"), None).unwrap_err().contains("swap"));
        for bad in ["", "today", "2026-02-30", "1969-12-31", "-000001-01-01", "2026-01-31T00:00"] {
            assert!(read(Some(bad), None).is_err(), "{bad}");
        }
        assert_eq!(read(Some("9999-12-29"), Some("9999-12-30")), days("9999-12-29", "9999-12-30"));
    }
}
