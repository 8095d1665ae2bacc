#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod api_keys;
pub mod audit;
mod binary;
pub mod client;
pub mod clients;
pub mod components;
pub mod endorsements;
pub mod evaluation_data;
pub mod evaluations;
pub mod models;
pub mod organisations;
pub mod overview;
pub mod populations;
pub mod privacy;
pub mod rounds;
pub mod session;
pub mod sites;
pub mod statement;
pub mod stats;
pub mod system;
pub mod tasks;
pub mod tokens;
pub mod usage;
pub mod versions;

pub use binary::Binary;
pub use client::{AdminClient, AdminError, DownloadedModel, Page, TaskVerb};
