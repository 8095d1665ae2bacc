//! Rows with indexes, for the questions that more than one repository asks.

mod assignment;
mod client;
mod round;
mod task;

pub(super) use assignment::AssignmentTable;
pub(super) use client::ClientTable;
pub(super) use round::RoundTable;
pub(super) use task::TaskTable;
