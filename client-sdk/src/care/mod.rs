//! Decides when a device may train: its conditions must hold, and the training time per day is limited.

mod day_time;
mod device_care;

pub(crate) use day_time::DayTime;
pub use device_care::DeviceCare;
pub(crate) use device_care::PauseReasons;
