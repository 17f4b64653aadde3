//! Policy on which addresses the service may connect to on behalf of clients. By default only public internet
//! addresses are allowed; the operator can allow more. This keeps clients from reaching hosts that only this
//! machine or its network can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Way out, appended to error messages.
pub const ALLOW_PRIVATE: &str = "the operator can allow others with RINGBACK_ALLOW_PRIVATE_URLS";

/// Reason why the service does not connect to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// The client gave an IP address, and it is not public.
    #[error("{address} is {kind}; only public addresses are taken")]
    Literal {
        /// The address after parsing, in its normal form.
        address: IpAddr,
        /// Description of the range that contains it.
        kind: &'static str,
    },
    /// The client gave a host name that has no public address. The addresses are not shown, because clients
    /// must not learn what a private name server knows.
    #[error("{host} has no public address; only public addresses are taken")]
    Resolved {
        /// The host name.
        host: String,
    },
}

/// Rule that decides which addresses may be connected to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    all: bool,
    also: Vec<IpAddr>,
}

impl AddressPolicy {
    /// Allows public addresses only.
    pub fn public_only() -> Self {
        Self::default()
    }

    /// Allows every address.
    pub fn everything() -> Self {
        Self {
            all: true,
            also: Vec::new(),
        }
    }

    /// Also allows this address, even if it is not public.
    #[must_use]
    pub fn also(mut self, address: IpAddr) -> Self {
        self.also.push(address);
        self
    }

    /// Returns whether the service may connect to this address.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.check(address).is_ok()
    }

    fn check(&self, address: IpAddr) -> Result<(), NotAllowed> {
        if self.all || self.also.contains(&address) {
            return Ok(());
        }
        let kind = match address {
            IpAddr::V4(address) => special_v4(address),
            IpAddr::V6(address) => special_v6(address),
        };
        kind.map_or(Ok(()), |kind| Err(NotAllowed::Literal { address, kind }))
    }

    /// Checks the host of a URL if it is an IP address. Parsing has already normalised every notation
    /// (`0x7f.1`, `2130706433`, `%31…`). A host name is checked when it is resolved.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is not allowed.
    pub fn check_literal(&self, url: &Url) -> Result<(), NotAllowed> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(address.into()),
            Some(Host::Ipv6(address)) => self.check(address.into()),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }
}

/// IPv4 ranges that are not public: first address, prefix length, description. Source: IANA's registry of
/// special-purpose addresses, with the anycast blocks of AS112, AMT and 6to4, and multicast.
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 19] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "a this-network address (0.0.0.0/8)"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "a carrier-grade NAT address (100.64.0.0/10)",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (
        Ipv4Addr::new(192, 0, 0, 0),
        24,
        "a protocol assignment address (192.0.0.0/24)",
    ),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation address"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "an AS112 address"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "an AMT address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "an AS112 address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmarking address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a documentation address"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(255, 255, 255, 255), 32, "the broadcast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// IPv6 ranges within 2000::/3 that are not public. Everything outside 2000::/3 (loopback, link-local, unique
/// local, multicast, IPv4-mapped and -compatible, NAT64 …) is never public.
const SPECIAL_V6: [(Ipv6Addr, u32, &str); 4] = [
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        23,
        "a protocol address, such as Teredo",
    ),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "a documentation address",
    ),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a 6to4 address"),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "a documentation address",
    ),
];

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |first: Ipv4Addr, prefix: u32| (address.to_bits() ^ first.to_bits()).leading_zeros() >= prefix;
    let found = SPECIAL_V4
        .into_iter()
        .find(|(first, prefix, _)| within(*first, *prefix));
    found.map(|(_, _, kind)| kind)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |first: Ipv6Addr, prefix: u32| (address.to_bits() ^ first.to_bits()).leading_zeros() >= prefix;
    if !within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3) {
        return Some("not a public IPv6 address");
    }
    let found = SPECIAL_V6
        .into_iter()
        .find(|(first, prefix, _)| within(*first, *prefix));
    found.map(|(_, _, kind)| kind)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allowed(text: &str) -> bool {
        AddressPolicy::public_only().allows(text.parse().unwrap())
    }

    #[test]
    fn the_edges_of_every_range_are_where_they_should_be() {
        for (inside, outside) in [
            (["0.0.0.0", "0.255.255.255"], ["1.0.0.0", "9.255.255.255"]),
            (["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]),
            (["100.64.0.0", "100.127.255.255"], ["100.63.255.255", "100.128.0.0"]),
            (["127.0.0.0", "127.255.255.255"], ["126.255.255.255", "128.0.0.0"]),
            (["169.254.0.0", "169.254.169.254"], ["169.253.255.255", "169.255.0.0"]),
            (["172.16.0.0", "172.31.255.255"], ["172.15.255.255", "172.32.0.0"]),
            (["192.168.0.0", "192.168.255.255"], ["192.167.255.255", "192.169.0.0"]),
            (["198.18.0.0", "198.19.255.255"], ["198.17.255.255", "198.20.0.0"]),
            (["224.0.0.0", "255.255.255.255"], ["223.255.255.255", "8.8.8.8"]),
            (["2001::", "2001:1ff:ffff::"], ["2001:200::", "2000::"]),
            (["2002::", "2002:ffff::"], ["2003::", "2606:4700::1111"]),
            (["2001:db8::", "3fff:fff::"], ["2001:db9::", "3ffe::"]),
            (["::", "1fff:ffff::"], ["2a00::", "2000::1"]),
            (["4000::", "fd00::1"], ["3fff:1000::", "2c0f::"]),
        ] {
            for address in inside {
                assert!(!allowed(address), "{address}");
            }
            for address in outside {
                assert!(allowed(address), "{address}");
            }
        }
    }

    #[test]
    fn embedded_and_local_addresses_are_refused() {
        for address in [
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!allowed(address), "{address}");
        }
    }

    #[test]
    fn the_operator_may_allow_all_or_one() {
        let loopback: IpAddr = "127.0.0.1".parse().unwrap();
        assert!(AddressPolicy::everything().allows(loopback));
        let one = AddressPolicy::public_only().also(loopback);
        assert!(one.allows(loopback) && !one.allows("127.0.0.2".parse().unwrap()));
    }

    #[test]
    fn a_literal_is_found_however_it_is_written() {
        let policy = AddressPolicy::public_only();
        for text in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1./",
            "http://%31%32%37.0.0.1/",
            "http://１２７.0.0.1/",
            "http://[::ffff:7f00:1]/",
        ] {
            let url = Url::parse(text).unwrap();
            assert!(policy.check_literal(&url).is_err(), "{text}");
        }
        assert!(policy.check_literal(&Url::parse("http://8.8.8.8/").unwrap()).is_ok());
    }

    proptest! {
        #[test]
        fn the_standard_librarys_idea_of_private_is_never_allowed(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_unspecified() || address.is_broadcast()
                || address.is_documentation();
            if special {
                prop_assert!(!AddressPolicy::public_only().allows(address.into()));
            }
            prop_assert!(!AddressPolicy::public_only().allows(address.to_ipv6_mapped().into()));
        }
    }
}
