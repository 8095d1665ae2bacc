//! Tests the state that a coordinator keeps from version to version, with clients that send known updates.

mod components;
mod drift;
mod flame;
mod guided;
mod parts;
