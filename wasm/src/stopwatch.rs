use std::time::Duration;

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Returns the milliseconds since the worker started.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn milliseconds() -> f64;
}

/// Returns the time since the worker started. It never goes back. This is the package's only clock.
pub(crate) fn elapsed() -> Duration {
    Duration::from_secs_f64(milliseconds().max(0.0) / 1000.0)
}
