//! Sign-in of people with an identity provider.

mod device;
mod renewal;
mod world;
