/// The contribution of an accepted update to the metrics. The codec and the network become labels, because both have
/// few possible values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The name of the update's codec.
    pub codec: String,
    /// The class of the client's network.
    pub network: &'static str,
    /// The size of the update as sent by the client, in bytes.
    pub bytes: u64,
    /// The size that the update would have without compression, as float32, in bytes.
    pub float32_bytes: u64,
}

impl Tally {
    /// Adds the update to the metrics.
    pub fn count(self) {
        let labels = [("codec", self.codec), ("network", self.network.to_owned())];
        metrics::counter!("folkmoot_updates_total", &labels).increment(1);
        metrics::counter!("folkmoot_update_bytes_total", &labels).increment(self.bytes);
        metrics::counter!("folkmoot_update_float32_bytes_total", &labels).increment(self.float32_bytes);
    }
}
