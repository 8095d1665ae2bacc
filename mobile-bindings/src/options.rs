use std::collections::HashMap;

use folkmoot_client::{Client, ClientBuilder, Device, TrafficLimits};

use crate::{DevicePolicy, Limits};

/// Where to train.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Enum)]
pub enum DeviceChoice {
    /// Where a step of the plan at hand is faster.
    #[default]
    Auto,
    /// On the processor.
    Cpu,
    /// On the first graphics adapter. A slim library, built without the GPU, refuses it with `BadOption`.
    Gpu,
    /// On the adapter whose name contains this. A slim library refuses it, too.
    Named {
        /// A part of the adapter's name.
        name: String,
    },
}

impl From<DeviceChoice> for Device {
    fn from(choice: DeviceChoice) -> Self {
        match choice {
            DeviceChoice::Auto => Self::Auto,
            DeviceChoice::Cpu => Self::Cpu,
            DeviceChoice::Gpu => Self::Gpu,
            DeviceChoice::Named { name } => Self::Named(name),
        }
    }
}

/// What an app says when it connects.
#[derive(Clone, uniffi::Record)]
pub struct ConnectOptions {
    /// The coordinator's address: `https://host[:port]`; `http://` for this machine only.
    pub coordinator: String,
    /// Where key, session and blobs are kept. Each client has a directory of its own.
    pub state_directory: String,
    /// The token that the operator gave. Needed until the client is enrolled.
    #[uniffi(default = None)]
    pub enrolment_token: Option<String>,
    /// The only certificates (PEM) that may vouch for the coordinator; without any, the system's.
    #[uniffi(default = None)]
    pub certificate_pem: Option<Vec<u8>>,
    /// What the app tells the coordinator, for eligibility.
    #[uniffi(default)]
    pub attributes: HashMap<String, String>,
    /// What device rules of plans are evaluated with, here. It is never sent and never stored.
    #[uniffi(default)]
    pub private_attributes: HashMap<String, String>,
    /// Where to train; where a step of the plan at hand is faster, without this.
    #[uniffi(default = None)]
    pub device: Option<DeviceChoice>,
    /// How long a check-in waits for an assignment, in seconds, at most 60; 30 without this.
    #[uniffi(default = None)]
    pub wait_seconds: Option<u32>,
    /// Bytes of blobs that are kept; 1 GiB without this.
    #[uniffi(default = None)]
    pub blob_cache_bytes_max: Option<u64>,
    /// What has to hold of the device while it trains.
    #[uniffi(default = None)]
    pub policy: Option<DevicePolicy>,
    /// How much the client may use.
    #[uniffi(default = None)]
    pub limits: Option<Limits>,
}

impl ConnectOptions {
    /// Says the same to the client's builder.
    pub(crate) fn builder(self) -> ClientBuilder {
        let mut builder = Client::builder(self.coordinator)
            .state_directory(self.state_directory)
            .private_attributes(self.private_attributes.into_iter().collect())
            .device(self.device.unwrap_or_default().into());
        for (name, value) in self.attributes {
            builder = builder.attribute(name, value);
        }
        if let Some(token) = self.enrolment_token {
            builder = builder.enrolment_token(token);
        }
        if let Some(pem) = self.certificate_pem {
            builder = builder.certificate_pem(pem);
        }
        if let Some(seconds) = self.wait_seconds {
            builder = builder.wait_seconds(seconds);
        }
        if let Some(bytes) = self.blob_cache_bytes_max {
            builder = builder.blob_cache_bytes_max(bytes);
        }
        if let Some(policy) = self.policy {
            builder = builder.device_policy(policy.into());
        }
        let limits = self.limits.unwrap_or_default();
        builder = builder.budget(limits.budget());
        let Limits {
            bytes_per_day, bytes_per_second, training_seconds_per_day, battery_seconds_per_day, ..
        } = limits;
        if let Some(seconds) = training_seconds_per_day {
            builder = builder.training_seconds_per_day(seconds);
        }
        if let Some(seconds) = battery_seconds_per_day {
            builder = builder.battery_seconds_per_day(seconds);
        }
        builder.traffic_limits(TrafficLimits { bytes_per_day, bytes_per_second })
    }
}

#[cfg(test)]
mod tests {
    /// `cargo build --package folkmoot-mobile` is what every package is made with: without a word it has the GPU.
    #[test]
    fn the_library_trains_on_a_gpu_unless_it_is_slim() {
        let manifest = include_str!("../Cargo.toml");
        assert!(manifest.contains("\ndefault = [\"gpu\"]\n"), "{manifest}");
        const {
            assert!(
                cfg!(feature = "gpu") || !cfg!(feature = "default"),
                "`gpu` is not among the default features"
            )
        };
    }
}
