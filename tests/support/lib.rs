//! Shared pieces of the tests that need more than one room.
