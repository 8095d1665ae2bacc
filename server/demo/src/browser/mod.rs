//! `folkmoot demo --browser`: a web page on which a person draws digits, and clients that train together with it.
//!
//! `run` drives the demo. `package` reads what `cargo xtask wasm` has built, `site` serves it together with the page
//! of `examples/browser-digits`, and `screen` prints progress.

mod package;
mod run;
mod screen;
mod site;

pub use run::run;
