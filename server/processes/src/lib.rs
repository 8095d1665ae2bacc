#![doc = include_str!("../README.md")]

mod message;
mod signals;
mod table;

pub use signals::{join, run};
pub use table::{ProcessListener, ProcessRecord, ProcessTable};
