#![doc = include_str!("../README.md")]

mod answers;
mod ask;
mod error;
mod files;
mod host;
mod http;
mod member;
mod secret;

pub use ask::{HttpCommittee, MemberConfig, MemberConfigError};
pub use error::{MemberError, MemberFileError};
pub use host::{MemberHost, MemberHostConfig, MemberHostError};
pub use http::{MemberLimits, router};
pub use member::Member;
