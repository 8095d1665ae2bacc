use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The header in which each proxy appends the address that it received the request from, so the nearest comes last.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Returns whether the address belongs to this machine. Local programs are exempt from limits by address, because they
/// can do worse than send requests.
pub(super) fn is_this_machine(address: IpAddr) -> bool {
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].contains(&address.to_canonical())
}

/// Returns the address at which programs on this machine reach a socket, also one that is bound to all addresses.
pub fn near(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        false => address,
    }
}

/// Returns the URL at which programs on this machine reach a socket; see [`near`].
pub fn local_url(address: SocketAddr, has_tls: bool) -> String {
    let scheme = if has_tls { "https" } else { "http" };
    format!("{scheme}://{}", near(address))
}

/// The address by which a peer is limited: an IPv4 address, or the 64-bit network that an IPv6 subscriber gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer(IpAddr);

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

impl Peer {
    /// Returns whether the peer is a local program, which is exempt from limits by address. A local program could also
    /// be a proxy that was not configured as trusted, with all clients behind it.
    pub fn is_this_machine(self) -> bool {
        is_this_machine(self.0)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => write!(f, "{v4}"),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

/// The proxies whose `x-forwarded-for` header is trusted, as networks such as `10.0.0.0/8` or single addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies(Vec<IpNet>);

impl Proxies {
    /// Parses networks and addresses.
    ///
    /// # Errors
    /// A message that names the invalid entry.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        let network = |text: &String| {
            IpNet::from_str(text).or_else(|_| IpAddr::from_str(text).map(IpNet::from)).map_err(|_| {
                format!("`{text}` is not a network (such as 10.0.0.0/8) or an address (such as 10.0.0.7)")
            })
        };
        texts.iter().map(network).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether `address` belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns the sender of a request that came from `address`. If that is a trusted proxy, the sender is the last
    /// address in `x-forwarded-for` that is not itself a trusted proxy. Earlier addresses may be forged.
    pub fn sender(&self, address: IpAddr, headers: &HeaderMap) -> Peer {
        if !self.contains(address) {
            return address.into();
        }
        let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
        let named: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
        for text in named.iter().rev() {
            match text.trim().parse() {
                Ok(named) if self.contains(named) => {}
                Ok(named) => return named.into(),
                // An invalid entry cannot come from a trusted proxy, so the trusted part of the list ends here.
                Err(_) => break,
            }
        }
        address.into()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn peer(text: &str) -> Peer {
        IpAddr::from_str(text).unwrap().into()
    }

    #[test]
    fn one_subscriber_is_one_peer() {
        assert_eq!(peer("2001:db8:1:2:3:4:5:6"), peer("2001:db8:1:2:ffff::1"));
        assert_ne!(peer("2001:db8:1:2::"), peer("2001:db8:1:3::"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_eq!(peer("2001:db8:1:2:3:4:5:6").to_string(), "2001:db8:1:2::/64");
    }

    #[test]
    fn a_header_is_believed_of_a_trusted_proxy_only() {
        let proxies = Proxies::parse(&["10.0.0.0/8".into(), "2001:db8::1".into()]).unwrap();
        let sender = |address: &str, header: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(FORWARDED_FOR, HeaderValue::from_static(header));
            proxies.sender(address.parse().unwrap(), &headers)
        };
        assert_eq!(sender("192.0.2.9", "198.51.100.1"), peer("192.0.2.9"), "a stranger's word");
        assert_eq!(sender("10.1.2.3", "198.51.100.1"), peer("198.51.100.1"));
        assert_eq!(sender("::ffff:10.1.2.3", "198.51.100.1"), peer("198.51.100.1"));
        assert_eq!(sender("10.1.2.3", "203.0.113.7, 198.51.100.1, 10.0.0.4"), peer("198.51.100.1"));
        assert_eq!(sender("10.1.2.3", "198.51.100.1, nonsense"), peer("10.1.2.3"));
        assert_eq!(sender("2001:db8::1", "2001:db8:9::7"), peer("2001:db8:9::7"));
    }

    #[test]
    fn what_is_no_network_is_named() {
        let error = Proxies::parse(&["10.0.0.0/8".into(), "10.0.0".into()]).unwrap_err();
        assert!(error.contains("`10.0.0`"), "{error}");
    }
}
