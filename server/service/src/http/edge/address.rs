use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The header in which proxies say for whom they ask, the nearest one last.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Says whether it is the address of programs on this machine, a proxy among them. Who is here can do worse than ask often.
pub(super) fn is_this_machine(address: IpAddr) -> bool {
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].contains(&address.to_canonical())
}

/// Where a peer is, as far as limits go: an IPv4 address, or the network of 64 bits that one subscriber of IPv6 gets.
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
    /// Says whether limits by address leave it alone: it would be everybody behind a proxy that was not named.
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

/// The proxies whose word is taken for the address of a request, as networks: `10.0.0.0/8`, or a single address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies(Vec<IpNet>);

impl Proxies {
    /// Reads networks and addresses.
    ///
    /// # Errors
    /// Names the one that is neither.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        let network = |text: &String| {
            IpNet::from_str(text)
                .or_else(|_| IpAddr::from_str(text).map(IpNet::from))
                .map_err(|_| format!("`{text}` is neither a network, 10.0.0.0/8, nor an address, 10.0.0.7"))
        };
        texts.iter().map(network).collect::<Result<_, _>>().map(Self)
    }

    /// Says whether `address` is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns who sent a request that came from `address`. Behind trusted proxies it is the last address of
    /// `x-forwarded-for` that is none of theirs: what stands before it, the sender may have written.
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
                // What a trusted proxy cannot have written ends the list of those that did.
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
