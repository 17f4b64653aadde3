//! How many requests a key may make: a bucket of tokens each, and one for each address that sends unknown keys.
//!
//! Own buckets instead of a library's: they need a bound, and must tell whether a key was good before, so that whoever
//! guesses keys slows nobody down whose key is known already.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::error::{ApiError, ApiResult};
use crate::server::network;

/// Buckets of either kind; those beyond share one.
const BUCKETS: usize = 65_536;

/// A key, known without its text: the first half of its SHA-256.
pub type KeyPrint = [u8; 16];

/// The buckets of a service.
#[derive(Debug)]
pub struct RateLimit {
    /// None: no limit at all.
    rate: Option<Rate>,
    started: Instant,
    keys: Mutex<Buckets<KeyPrint>>,
    addresses: Mutex<Buckets<IpAddr>>,
}

/// Figures in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Rate {
    /// Between two requests at the allowed pace.
    interval: u64,
    /// How far ahead of that pace a client may be.
    ahead: u64,
}

impl RateLimit {
    /// So many requests a second for each key, and twice as many at once; 0 is no limit.
    pub fn per_second(requests: u32) -> Self {
        let interval = 1_000_000_000_u64.checked_div(u64::from(requests));
        let rate = interval.map(|interval| Rate {
            interval,
            ahead: interval * (2 * u64::from(requests) - 1),
        });
        Self {
            rate,
            started: Instant::now(),
            keys: Mutex::default(),
            addresses: Mutex::default(),
        }
    }

    /// Before a key is looked up. One that was good before pays from its own bucket; of others the address must have
    /// something left. True when the key has paid.
    pub fn admit(&self, key: &KeyPrint, address: IpAddr) -> ApiResult<bool> {
        let Some(rate) = self.rate else { return Ok(true) };
        let now = self.now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.full_at.contains_key(key) {
            return keys.take(*key, rate, now).map(|()| true).map_err(refused);
        }
        drop(keys);
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = addresses.wait(&network(address), rate, now);
        waits.map_or(Ok(false), |wait| Err(refused(wait)))
    }

    /// The key that was looked up is good: its first request is paid.
    pub fn known(&self, key: &KeyPrint) -> ApiResult<()> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.take(*key, rate, self.now()).map_err(refused)
    }

    /// A key takes the place of another, with what that one has left: a new key is no new allowance.
    pub fn replaced(&self, old: &KeyPrint, new: KeyPrint) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = keys.full_at.get(old).copied()
            && keys.full_at.len() < BUCKETS
        {
            keys.full_at.insert(new, full_at);
        }
    }

    /// The key that was looked up is none: its address pays.
    pub fn unknown(&self, address: IpAddr) {
        let Some(rate) = self.rate else { return };
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        // It was admitted: the answer is that the key is not known, even if others used up the bucket since.
        let _ = addresses.take(network(address), rate, self.now());
    }

    /// Somebody at this address asks without a key for what everybody may have; else after how many seconds it may.
    ///
    /// # Errors
    ///
    /// When the address has nothing left.
    pub fn visit(&self, address: IpAddr) -> Result<(), u32> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.take(network(address), rate, self.now()).map_err(seconds)
    }

    /// Nanoseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

fn refused(wait: u64) -> ApiError {
    ApiError::RateLimited(seconds(wait))
}

/// A wait in whole seconds.
fn seconds(wait: u64) -> u32 {
    let seconds = Duration::from_nanos(wait).as_secs_f64().ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some seconds: a bucket refills within two"
    )]
    {
        (seconds as u32).max(1)
    }
}

/// Buckets by the instant at which each is full again (GCRA); one that is full need not be remembered.
#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, u64>,
    /// Of all that find no room.
    shared: u64,
}

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Self {
            full_at: HashMap::new(),
            shared: 0,
        }
    }
}

impl<K: Eq + Hash> Buckets<K> {
    /// Takes a token; else says how long there will be none.
    fn take(&mut self, key: K, rate: Rate, now: u64) -> Result<(), u64> {
        if self.full_at.len() >= BUCKETS && !self.full_at.contains_key(&key) {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        let full_at = if self.full_at.len() >= BUCKETS && !self.full_at.contains_key(&key) {
            &mut self.shared
        } else {
            self.full_at.entry(key).or_insert(0)
        };
        let used = full_at.saturating_sub(now);
        if used > rate.ahead {
            return Err(used - rate.ahead);
        }
        *full_at = now + used + rate.interval;
        Ok(())
    }

    /// How long there will be no token; none when there is one.
    fn wait(&self, key: &K, rate: Rate, now: u64) -> Option<u64> {
        let full_at = match self.full_at.get(key) {
            Some(full_at) => *full_at,
            None if self.full_at.len() >= BUCKETS => self.shared,
            None => return None,
        };
        let wait = full_at.saturating_sub(now).saturating_sub(rate.ahead);
        (wait > 0).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn key(n: u8) -> KeyPrint {
        [n; 16]
    }

    /// How many requests with a key pass at once.
    fn burst(limit: &RateLimit, key: &KeyPrint) -> usize {
        let passes = |_: &usize| {
            limit
                .admit(key, HERE)
                .and_then(|paid| if paid { Ok(()) } else { limit.known(key) })
                .is_ok()
        };
        (0..1_000).take_while(passes).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_holds_twice_the_rate_and_refills_at_the_rate() {
        let limit = RateLimit::per_second(50);
        assert_eq!(burst(&limit, &key(1)), 100);
        assert_eq!(burst(&limit, &key(2)), 100);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(burst(&limit, &key(1)), 25);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(burst(&limit, &key(1)), 100);
        assert_eq!(burst(&RateLimit::per_second(0), &key(1)), 1_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_guesser_is_slowed_and_whoever_was_known_is_not() {
        let limit = RateLimit::per_second(5);
        limit.known(&key(1)).unwrap();
        let guesses = (10..100).take_while(|n| {
            let admitted = limit.admit(&key(*n), HERE);
            limit.unknown(HERE);
            admitted.is_ok()
        });
        assert_eq!(guesses.count(), 10);
        assert_eq!(limit.admit(&key(1), HERE).ok(), Some(true));
        let elsewhere = "10.0.0.1".parse().unwrap();
        assert_eq!(limit.admit(&key(200), elsewhere).ok(), Some(false));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(limit.admit(&key(200), HERE).ok(), Some(false));
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_is_bounded() {
        let limit = RateLimit::per_second(1);
        for n in 0..BUCKETS as u32 + 1_000 {
            limit.unknown(std::net::Ipv4Addr::from_bits(n).into());
        }
        assert_eq!(limit.addresses.lock().unwrap().full_at.len(), BUCKETS);
        tokio::time::advance(Duration::from_secs(10)).await;
        limit.unknown(HERE);
        assert_eq!(limit.addresses.lock().unwrap().full_at.len(), 1);
    }
}
