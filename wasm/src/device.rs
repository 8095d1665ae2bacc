use folkmoot_engine::{Adapter, Gpu};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

use crate::{error::thrown, stopwatch::elapsed};

/// A graphics adapter, opened through WebGPU.
#[wasm_bindgen]
pub struct Device(Gpu);

#[wasm_bindgen]
impl Device {
    /// Opens the first adapter. Measures the fastest tiling of matrix products on it, unless `tuning` gives one.
    pub async fn find(tuning: Option<String>) -> Result<Device, JsError> {
        let adapter = Adapter::find(None).await.map_err(thrown)?;
        let mut gpu = Gpu::open(&adapter).await.map_err(thrown)?;
        if !tuning.is_some_and(|name| gpu.set_tuning(&name)) {
            gpu.tune(&elapsed).await.map_err(thrown)?;
        }
        Ok(Self(gpu))
    }

    /// Returns the adapter's report, as JSON.
    pub fn report(&self) -> Result<String, JsError> {
        serde_json::to_string(self.0.report()).map_err(thrown)
    }

    /// Returns the tiling of matrix products, to be stored for the next time.
    pub fn tuning(&self) -> String {
        self.0.tuning().to_owned()
    }

    /// Destroys the device, as if it had been unplugged, for tests.
    pub fn destroy(&self) {
        self.0.destroy();
    }
}

impl Device {
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.0
    }
}
