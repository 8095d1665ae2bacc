//! The limits of a load test.

/// The maximum number of devices. Each takes about a kilobyte of memory.
pub const DEVICES_MAX: i64 = 1_000_000;
/// The maximum number of devices that wait at the same time.
pub const CONNECTED_MAX: i64 = 100_000;
/// The maximum number of check-ins per second.
pub const RATE_MAX: u32 = 100_000;
/// The maximum duration in seconds: one day.
pub const SECONDS_MAX: i64 = 24 * 60 * 60;
/// The maximum number of requests at the same time, besides the devices that wait.
pub const IN_FLIGHT_MAX: i64 = 10_000;
/// The maximum number of parameters of an update.
pub const PARAMETERS_MAX: i64 = 100_000_000;
/// The lowest and highest speed of a slow upload, in bytes per second.
pub const SLOW_BYTES_MIN: i64 = 1_024;
pub const SLOW_BYTES_MAX: i64 = 1 << 30;
/// The maximum time, in seconds, for which a device that left stays away.
pub const AWAY_SECONDS_MAX: i64 = 60 * 60;
/// The maximum number of check-ins that one device may send per second. It is half of the coordinator's limit.
pub const RATE_PER_DEVICE_MAX: u32 = 10;
/// The maximum memory for updates that are uploaded at the same time, in bytes.
pub const UPDATE_BYTES_MAX: usize = 1 << 30;
