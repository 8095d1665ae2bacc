#![doc = include_str!("../README.md")]

mod board;
mod channel;
mod config;
mod deliveries;
mod email;
mod error;
mod notice;
#[cfg(feature = "test-recipient")]
pub mod recipient;
mod secret;
mod webhook;

pub use board::{Board, ChannelState, ChannelSummary};
pub use channel::{Channel, Channels};
pub use config::{EmailConfig, EmailTls, NotificationConfig, WebhookConfig, WebhookFormat};
pub use deliveries::{Deliveries, Outcome};
pub use error::{DeliveryError, NotificationConfigError};
pub use notice::{Event, Notice, TaskName};
