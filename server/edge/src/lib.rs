#![doc = include_str!("../README.md")]

mod activity;
mod address;
mod budget;
mod connections;
pub mod cors;
mod edge;
mod files;
pub mod folders;
mod limits;
mod names;
mod problem;
mod request_id;
mod serve;
mod stream;
mod tarpit;
mod throttle;
pub mod tls;
mod turnstile;
mod warning;

pub use address::{Peer, Proxies, local_url, near};
pub use budget::{Budget, Lent};
pub use edge::Edge;
pub use files::raise_open_files;
pub use limits::HttpLimits;
pub use names::Names;
pub use problem::problem_response;
pub use request_id::{REQUEST_ID, RequestId, RequestIds, identify, request_span};
pub use serve::{Listener, ServeError, serve};
pub use throttle::Throttle;
pub use warning::warn_of;
