//! Sign-in of people: `folkmoot login`, `folkmoot logout` and `folkmoot whoami`.

pub mod login;
pub mod logout;
pub mod whoami;
