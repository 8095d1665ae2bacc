#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod answers;
pub mod audit_retention;
pub mod catalog;
pub mod charged;
pub mod clock;
pub mod collection;
pub mod components;
pub mod coordinator;
pub mod credential;
pub mod device;
pub mod downstream;
pub mod drivers;
pub mod evaluation_views;
pub mod last_uses;
pub mod privacy;
pub mod registry;
pub mod signals;
pub mod sum_shapes;
pub mod tenants;

pub use folkmoot_combine::{self as combine, in_place, ingest, refusal};
pub use folkmoot_noise as noise;
