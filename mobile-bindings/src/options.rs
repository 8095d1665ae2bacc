use std::collections::HashMap;

use folkmoot_client::{Client, ClientBuilder, Device, TrafficLimits};

use crate::{DevicePolicy, FolkmootError, Limits};

/// The choice of the training device.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Enum)]
pub enum DeviceChoice {
    /// The CPU or a graphics adapter: the one that a measurement shows to be faster for the current plan.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The first graphics adapter. A slim library, built without GPU support, fails with `BadOption`.
    Gpu,
    /// The adapter whose name contains this text. A slim library fails with `BadOption`.
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

/// The settings of a client. `coordinator` and `state_directory` are required, and `enrolment_token` until the client
/// is enrolled. All other settings have defaults.
#[derive(Clone, uniffi::Record)]
pub struct ConnectOptions {
    /// The coordinator's address: `https://host[:port]`, or `http://` for this machine only.
    pub coordinator: String,
    /// The directory for the key, session and blobs. Give each client a directory of its own.
    pub state_directory: String,
    /// The enrolment token from the operator. Needed until the client is enrolled.
    #[uniffi(default = None)]
    pub enrolment_token: Option<String>,
    /// The only certificates (PEM) to trust for the coordinator. Default: the system's certificates.
    #[uniffi(default = None)]
    pub certificate: Option<Vec<u8>>,
    /// The client's own certificate with its intermediates (PEM), for a coordinator that requires one. It comes with
    /// `client_key`.
    #[uniffi(default = None)]
    pub client_certificate: Option<Vec<u8>>,
    /// The private key of the client's own certificate (PEM).
    #[uniffi(default = None)]
    pub client_key: Option<Vec<u8>>,
    /// Pins of the coordinator's keys (at most 8): the SHA-256 of a public key in base64, as `folkmoot doctor` prints it. The
    /// client accepts only a coordinator with one of these keys. By default, it accepts every key with a trusted certificate.
    #[uniffi(default)]
    pub pins: Vec<String>,
    /// Attributes that the coordinator uses to decide eligibility.
    #[uniffi(default)]
    pub attributes: HashMap<String, String>,
    /// Attributes that never leave the device. The client evaluates the device rules of plans with them. They are never
    /// sent or stored.
    #[uniffi(default)]
    pub private_attributes: HashMap<String, String>,
    /// Ed25519 public keys (base64, at most 8). The client takes part only in tasks that one of them has endorsed for this
    /// coordinator. By default, it takes part in every task.
    #[uniffi(default)]
    pub endorsement_keys: Vec<String>,
    /// The channel whose models `update_model` fetches. Default: `stable`.
    #[uniffi(default = None)]
    pub channel: Option<String>,
    /// The device to train on. Default: `Auto`.
    #[uniffi(default = None)]
    pub device: Option<DeviceChoice>,
    /// Seconds that a check-in waits for an assignment, at most 60. Default: 30.
    #[uniffi(default = None)]
    pub wait_seconds: Option<u32>,
    /// The maximum size of all cached plans, models and weights together, in bytes. Default: 1 GiB.
    #[uniffi(default = None)]
    pub blob_cache_bytes_max: Option<u64>,
    /// The conditions under which the device trains. By default, the defaults of `DevicePolicy` apply.
    #[uniffi(default = None)]
    pub policy: Option<DevicePolicy>,
    /// Limits on traffic, training time and the cost of assignments.
    #[uniffi(default = None)]
    pub limits: Option<Limits>,
}

impl ConnectOptions {
    /// Returns a client builder with these options.
    ///
    /// # Errors
    /// [`FolkmootError::BadOption`] if the channel is not a name, or only one of client certificate and key is given.
    pub(crate) fn builder(self) -> Result<ClientBuilder, FolkmootError> {
        let mut builder = Client::builder(self.coordinator)
            .state_directory(self.state_directory)
            .private_attributes(self.private_attributes.into_iter().collect())
            .endorsement_keys(self.endorsement_keys)
            .pins(self.pins)
            .device(self.device.unwrap_or_default().into());
        for (name, value) in self.attributes {
            builder = builder.attribute(name, value);
        }
        if let Some(token) = self.enrolment_token {
            builder = builder.enrolment_token(token);
        }
        if let Some(pem) = self.certificate {
            builder = builder.certificate(pem);
        }
        match (self.client_certificate, self.client_key) {
            (Some(chain), Some(key)) => builder = builder.client_certificate(chain, key),
            (None, None) => {}
            _ => {
                let detail = "a client certificate and its private key come together; give both or neither";
                return Err(FolkmootError::bad_option(detail));
            }
        }
        if let Some(seconds) = self.wait_seconds {
            builder = builder.wait_seconds(seconds);
        }
        if let Some(bytes) = self.blob_cache_bytes_max {
            builder = builder.blob_cache_bytes_max(bytes);
        }
        if let Some(policy) = self.policy {
            builder = builder.policy(policy.into());
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
        if let Some(channel) = self.channel {
            builder = builder.channel(channel.parse().map_err(FolkmootError::bad_option)?);
        }
        Ok(builder.traffic_limits(TrafficLimits { bytes_per_day, bytes_per_second }))
    }
}

#[cfg(test)]
mod tests {
    /// Packages are built with `cargo build --package folkmoot-mobile`, so the default features must include the GPU.
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
