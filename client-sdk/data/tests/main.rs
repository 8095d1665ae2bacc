//! Files in every format, well-formed and broken.
//!
//! One program for all of them: each links everything below it, which takes longer than most of them run.

mod agreement;
mod mutations;
mod samples;
