//! The limits of a client's settings.

use folkmoot_protocol::limits::{ATTRIBUTE_BYTES_MAX, ATTRIBUTES_MAX, LONG_POLL_SECONDS_MAX};

use super::{ClientBuilder, ClientError};
use crate::Device;

impl ClientBuilder {
    pub(super) fn check_limits(&self) -> Result<(), ClientError> {
        let too_long = |text: &String| text.len() > ATTRIBUTE_BYTES_MAX;
        if self.attributes.len() > ATTRIBUTES_MAX {
            return Err(ClientError::Builder(format!(
                "there are more than {ATTRIBUTES_MAX} attributes; remove some"
            )));
        }
        if let Some((name, _)) =
            self.attributes.iter().find(|(name, value)| too_long(name) || too_long(value))
        {
            let text = format!(
                "attribute `{name}`: the name or the value has more than {ATTRIBUTE_BYTES_MAX} bytes; shorten it"
            );
            return Err(ClientError::Builder(text));
        }
        // The text contains neither names nor values, because errors may be logged.
        if self.private_attributes.len() > ATTRIBUTES_MAX {
            let text = format!("there are more than {ATTRIBUTES_MAX} private attributes; remove some");
            return Err(ClientError::Builder(text));
        }
        if self.private_attributes.iter().any(|(name, value)| too_long(name) || too_long(value)) {
            let text = format!(
                "a private attribute's name or value has more than {ATTRIBUTE_BYTES_MAX} bytes; shorten it"
            );
            return Err(ClientError::Builder(text));
        }
        let settings = &self.settings;
        if self.http.is_some() && (settings.client_certificate.is_some() || !settings.pins.is_empty()) {
            let text = "shared connections have a TLS configuration of their own; give the client certificate and the pins to \
                        `build_http`, not to the client";
            return Err(ClientError::Builder(text.into()));
        }
        self.traffic_limits.validate().map_err(ClientError::Builder)?;
        self.budget.validate().map_err(ClientError::Builder)?;
        self.policy.validate().map_err(ClientError::Builder)?;
        if let Some(text) = lacking(&self.device, cfg!(feature = "gpu")) {
            return Err(ClientError::Builder(text));
        }
        if self.wait_seconds > LONG_POLL_SECONDS_MAX {
            let text = format!(
                "wait_seconds is above {LONG_POLL_SECONDS_MAX}, the maximum wait of a check-in; lower it"
            );
            return Err(ClientError::Builder(text));
        }
        Ok(())
    }
}

/// Returns the error text if this device needs GPU support and the build has none.
fn lacking(device: &Device, has_gpu: bool) -> Option<String> {
    match device {
        Device::Auto | Device::Cpu => None,
        Device::Gpu | Device::Named(_) if has_gpu => None,
        Device::Gpu | Device::Named(_) => Some(format!(
            "the device is `{device}`, but this library was built without the feature `gpu` (a slim build), so it trains on \
             the CPU only. Choose the device `auto` or `cpu`, or use the library that is not slim."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HttpSettings, build_http};

    #[test]
    fn shared_connections_have_their_own_pins() {
        let http = build_http(&HttpSettings::default()).unwrap();
        let builder = || ClientBuilder::new("https://localhost".into()).http(http.clone());
        let refused = |builder: ClientBuilder| matches!(builder.build(), Err(ClientError::Builder(text)) if text.contains("build_http"));
        assert!(refused(builder().pins(vec!["a".repeat(44)])));
        assert!(refused(builder().client_certificate("a", "b")));
        assert!(!refused(builder()));
    }

    #[test]
    fn a_slim_build_refuses_a_gpu_and_says_what_to_do() {
        for device in [Device::Gpu, Device::Named("Adreno".into())] {
            let text = lacking(&device, false).unwrap();
            assert!(text.starts_with(&format!("the device is `{device}`")), "{text}");
            assert!(text.contains("slim") && text.contains("Choose the device `auto` or `cpu`"), "{text}");
            assert_eq!(lacking(&device, true), None);
        }
        assert_eq!([Device::Auto, Device::Cpu].map(|device| lacking(&device, false)), [None, None]);
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn a_client_is_not_built_for_a_gpu_that_is_not_there() {
        let builder = ClientBuilder::new("http://localhost".into()).device(Device::Gpu);
        assert!(matches!(builder.build(), Err(ClientError::Builder(_))));
    }
}
