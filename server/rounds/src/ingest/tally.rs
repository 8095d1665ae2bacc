/// What an update that counts adds to the metrics: labels of few values, and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The name of the codec in which it came.
    pub codec: String,
    /// Over what kind of network.
    pub network: &'static str,
    /// The bytes that came.
    pub bytes: u64,
    /// Those that float32 would have been.
    pub float32_bytes: u64,
}

impl Tally {
    /// Counts it.
    pub fn count(self) {
        let labels = [("codec", self.codec), ("network", self.network.to_owned())];
        metrics::counter!("folkmoot_updates_total", &labels).increment(1);
        metrics::counter!("folkmoot_update_bytes_total", &labels).increment(self.bytes);
        metrics::counter!("folkmoot_update_float32_bytes_total", &labels).increment(self.float32_bytes);
    }
}
