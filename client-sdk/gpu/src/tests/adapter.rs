//! Opens the GPU adapter for tests. The tests of the engine and of the client include this file too.

use super::Gpu;

/// Opens the adapter whose name contains `FOLKMOOT_ADAPTER`, or the first one. If there is none, prints a message and
/// returns `None`, or panics if `FOLKMOOT_GPU` is `required`.
pub fn gpu() -> Option<Gpu> {
    let wanted = std::env::var("FOLKMOOT_ADAPTER").ok();
    match Gpu::find(wanted.as_deref()) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var("FOLKMOOT_GPU").is_ok_and(|word| word == "required") => {
            panic!("the tests of the GPU cannot run: {error}")
        }
        Err(error) => {
            eprintln!("SKIPPED: the tests of the GPU cannot run: {error}");
            None
        }
    }
}
