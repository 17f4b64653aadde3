//! Limits the open connections per address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use super::ServerLimits;

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Returns the address that counts. For IPv6 this is the /64, because the owner of one address has all of them.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

/// Limit of connections per address.
pub(super) struct ConnectionLimit {
    counts: Counts,
    limit: usize,
    loopback_is_exempt: bool,
}

/// A counted connection; frees its slot on drop.
pub(super) struct ConnectionSlot {
    counted: Option<(Counts, IpAddr)>,
}

impl ConnectionLimit {
    pub(super) fn new(limits: &ServerLimits) -> Self {
        Self {
            counts: Arc::default(),
            limit: limits.connections_per_address,
            loopback_is_exempt: limits.loopback_is_exempt,
        }
    }

    /// Takes a slot for one more connection of `address`, unless its limit is reached.
    pub(super) fn admit(&self, address: IpAddr) -> Option<ConnectionSlot> {
        if self.loopback_is_exempt && address.to_canonical().is_loopback() {
            return Some(ConnectionSlot { counted: None });
        }
        let address = network(address);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_insert(0);
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot {
            counted: Some((Arc::clone(&self.counts), address)),
        })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some((counts, address)) = self.counted.take() else {
            return;
        };
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_gets_it_back() {
        let limit = ConnectionLimit::new(&ServerLimits {
            connections_per_address: 2,
            ..ServerLimits::default()
        });
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let first = limit.admit(a).unwrap();
        let _second = limit.admit(a).unwrap();
        assert!(limit.admit(a).is_none());
        assert!(limit.admit("::ffff:192.0.2.1".parse().unwrap()).is_none());
        let _other = limit.admit(b).unwrap();
        let whole: Vec<_> = ["2001:db8::1", "2001:db8::1:0:0:2"]
            .map(|of_64| limit.admit(of_64.parse().unwrap()).unwrap())
            .into();
        assert!(limit.admit("2001:db8::3".parse().unwrap()).is_none());
        assert!(limit.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
        drop(whole);
        drop(first);
        assert!(limit.admit(a).is_some());
        assert_eq!(limit.counts.lock().unwrap().len(), 2);
        for _ in 0..10 {
            assert!(limit.admit("127.0.0.1".parse().unwrap()).is_some());
        }
    }
}
