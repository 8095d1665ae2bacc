//! `folkmoot demo --browser`: a page on which a person draws digits, and clients that train together with it.
//!
//! `run` is the story; `package` is what `cargo xtask wasm` built, `site` serves it with the page of
//! `examples/browser-digits`, `screen` tells.

mod package;
mod run;
mod screen;
mod site;

pub use run::run;
