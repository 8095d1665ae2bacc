//! The coordinator under load.

use std::net::{IpAddr, Ipv4Addr};

use folkmoot_client::{HttpSettings, TransportError, build_http_from, parse_coordinator};

use super::LoadError;

/// The number of connections that share one source address. A coordinator accepts 1,000 from each by default.
const CONNECTIONS_PER_ADDRESS: usize = 500;
/// The number of last bytes of a source address that are used.
const LAST_BYTES: usize = 250;

/// A coordinator's address, and the certificate to trust.
#[derive(Clone, Debug)]
pub struct Target {
    url: String,
    certificate_pem: Option<Vec<u8>>,
    is_loopback_v4: bool,
}

impl Target {
    /// Parses the address.
    ///
    /// # Errors
    /// [`LoadError::Remote`] if the address is not a loopback address and `allow_remote` is not set.
    /// [`LoadError::Transport`] if it is invalid.
    pub fn new(url: &str, certificate_pem: Option<Vec<u8>>, allow_remote: bool) -> Result<Self, LoadError> {
        let parsed = parse_coordinator(url)?;
        let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<IpAddr>().ok();
        let is_here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        if !is_here && !allow_remote {
            return Err(LoadError::Remote { host: host.to_owned() });
        }
        let is_loopback_v4 = is_here && address.is_some_and(|address| address.is_ipv4());
        Ok(Self { url: url.to_owned(), certificate_pem, is_loopback_v4 })
    }

    /// Returns the coordinator's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the certificate to trust.
    pub fn certificate_pem(&self) -> Option<&[u8]> {
        self.certificate_pem.as_deref()
    }

    /// Creates connections for the group with this number. Devices of one group share them, but a connection carries
    /// one request at a time, as on separate devices.
    pub(crate) fn connections(&self, group: usize) -> Result<reqwest::Client, TransportError> {
        let certificate_pem = self.certificate_pem.clone();
        let settings = HttpSettings { certificate_pem, http1_only: true, ..HttpSettings::default() };
        build_http_from(&settings, self.source_address(group))
    }

    /// Returns the number of devices in a group.
    pub(crate) fn group_size(&self) -> usize {
        CONNECTIONS_PER_ADDRESS
    }

    /// Returns the address from which a group connects. On Linux, every address in 127.0.0.0/8 is this machine's, so the
    /// groups can be as many addresses. Elsewhere the system chooses.
    fn source_address(&self, group: usize) -> Option<IpAddr> {
        if !cfg!(target_os = "linux") || !self.is_loopback_v4 || group == 0 {
            return None;
        }
        let third = u8::try_from(group / LAST_BYTES).ok()?;
        let last = u8::try_from(group % LAST_BYTES).ok()? + 1;
        Some(Ipv4Addr::new(127, 1, third, last).into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_this_machine_is_put_under_load_unless_others_are_allowed() {
        for here in ["https://127.0.0.1:8443", "https://127.3.2.1", "https://[::1]:1", "http://localhost:1"] {
            assert!(Target::new(here, None, false).is_ok(), "{here}");
        }
        for there in ["https://coordinator.example", "https://10.0.0.1:8443", "https://[2001:db8::1]"] {
            let error = Target::new(there, None, false).unwrap_err().to_string();
            assert!(error.contains("--allow-remote"), "{there}: {error}");
            assert!(Target::new(there, None, true).is_ok(), "{there}");
        }
        // The scheme is checked even if other machines are allowed.
        assert!(Target::new("http://coordinator.example", None, true).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn groups_come_from_different_addresses_of_this_machine() {
        let target = Target::new("https://127.0.0.1:1", None, false).unwrap();
        let addresses: BTreeSet<_> = (1..2_000).filter_map(|group| target.source_address(group)).collect();
        assert_eq!(addresses.len(), 1_999);
        assert!(addresses.iter().all(IpAddr::is_loopback));
        assert_eq!(target.source_address(0), None);
        let remote = Target::new("https://10.0.0.1", None, true).unwrap();
        assert_eq!(remote.source_address(5), None);
    }
}
