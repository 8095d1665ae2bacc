//! The graphics adapter of tests, also for those of the engine and of the client, which include this file.

use super::Gpu;

/// Opens the adapter whose name holds `FOLKMOOT_ADAPTER`, or the first. `None`, after a loud message, if there is none; with
/// `FOLKMOOT_GPU=required` that is a failure.
pub fn gpu() -> Option<Gpu> {
    let wanted = std::env::var("FOLKMOOT_ADAPTER").ok();
    match Gpu::find(wanted.as_deref()) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var("FOLKMOOT_GPU").is_ok_and(|word| word == "required") => {
            panic!("the tests of the GPU cannot run: {error}")
        }
        Err(error) => {
            eprintln!("LEFT OUT: the tests of the GPU cannot run: {error}");
            None
        }
    }
}
