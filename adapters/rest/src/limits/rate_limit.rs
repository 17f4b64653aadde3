//! Request rate limits: a token bucket for each key or session, and one for each address that sends unknown ones.
//!
//! This is not a library's implementation, because the buckets need a bound and must record whether a key was
//! valid before. Clients that guess keys then slow down nobody with a known key.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    response::error::{ApiError, ApiResult},
    server::network,
};

/// Maximum buckets of each kind; the rest share one.
const BUCKETS: usize = 65_536;

/// Identifier of a key without its text: the first half of its SHA-256.
pub type KeyPrint = [u8; 16];

/// Returns the fingerprint of what has this hash.
pub fn print_of(hash: [u8; 32]) -> KeyPrint {
    let mut print = KeyPrint::default();
    print.copy_from_slice(&hash[..16]);
    print
}

/// Buckets of a service.
#[derive(Debug)]
pub struct RateLimit {
    /// Rate; `None` for no limit.
    rate: Option<Rate>,
    started: Instant,
    keys: Mutex<Buckets<KeyPrint>>,
    addresses: Mutex<Buckets<IpAddr>>,
}

/// A rate, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Rate {
    /// Time between two requests at the allowed rate.
    interval: u64,
    /// Maximum lead of a client over that rate.
    ahead: u64,
}

impl Rate {
    /// Creates a rate of one request per `interval`, with this many at once.
    const fn of(interval: u64, burst: u64) -> Self {
        Self {
            interval,
            ahead: interval * (burst - 1),
        }
    }
}

impl RateLimit {
    /// Creates a limit of this many requests per second for each key, with a burst of twice as many; 0 means no limit.
    pub fn per_second(requests: u32) -> Self {
        let interval = 1_000_000_000_u64.checked_div(u64::from(requests));
        let rate = interval.map(|interval| Rate::of(interval, 2 * u64::from(requests)));
        Self {
            rate,
            started: Instant::now(),
            keys: Mutex::default(),
            addresses: Mutex::default(),
        }
    }

    /// Checks the limit before a key is looked up. A key that was valid before uses its own bucket. For other
    /// keys, the address must have a token left. Returns true if the key's token was used.
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

    /// Uses a token of a key that turned out to be valid, for its first request.
    pub fn known(&self, key: &KeyPrint) -> ApiResult<()> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.take(*key, rate, self.now()).map_err(refused)
    }

    /// Moves the bucket of a replaced key to the new one, so that a new key gives no extra allowance.
    pub fn replaced(&self, old: &KeyPrint, new: KeyPrint) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = keys.full_at.get(old).copied()
            && keys.full_at.len() < BUCKETS
        {
            keys.full_at.insert(new, full_at);
        }
    }

    /// Uses a token of the address after an unknown key.
    pub fn unknown(&self, address: IpAddr) {
        let Some(rate) = self.rate else { return };
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        // The request was admitted, so the response is that the key is unknown, even if others have used up
        // the bucket since.
        let _ = addresses.take(network(address), rate, self.now());
    }

    /// Uses a token of the address for a public request without a key.
    ///
    /// # Errors
    ///
    /// Returns the seconds until the next token if the address has none left.
    pub fn visit(&self, address: IpAddr) -> Result<(), u32> {
        let Some(rate) = self.rate else { return Ok(()) };
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.take(network(address), rate, self.now()).map_err(seconds)
    }

    /// Returns the nanoseconds since the start.
    fn now(&self) -> u64 {
        since(self.started)
    }
}

/// One sign-in in 6 s, after ten (an address) or thirty (an account) at once. Only failed ones count in the end, so this
/// is no limit for whoever knows a key, also behind the address of a proxy.
const SIGN_INS: [Rate; 2] = [Rate::of(6_000_000_000, 10), Rate::of(6_000_000_000, 30)];

/// Limit on failed sign-ins, for each address and for each account.
#[derive(Debug)]
pub struct SignInLimit {
    started: Instant,
    addresses: Mutex<Buckets<IpAddr>>,
    accounts: Mutex<Buckets<KeyPrint>>,
}

impl Default for SignInLimit {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            addresses: Mutex::default(),
            accounts: Mutex::default(),
        }
    }
}

impl SignInLimit {
    /// Uses a token of the address, and of the account if one is named. Returns the error for a request without one.
    pub fn attempt(&self, address: IpAddr, account: Option<KeyPrint>) -> ApiResult<()> {
        let (now, [of_address, of_account]) = (since(self.started), SIGN_INS);
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.take(network(address), of_address, now).map_err(refused)?;
        let Some(account) = account else { return Ok(()) };
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.take(account, of_account, now).map_err(refused)
    }

    /// Gives the tokens of an attempt back, because it did not fail.
    pub fn succeeded(&self, address: IpAddr, account: Option<KeyPrint>) {
        let [of_address, of_account] = SIGN_INS;
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.give_back(&network(address), of_address);
        let Some(account) = account else { return };
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.give_back(&account, of_account);
    }
}

/// Returns the nanoseconds since an instant.
fn since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn refused(wait: u64) -> ApiError {
    ApiError::RateLimited(seconds(wait))
}

/// Returns a wait in whole seconds.
fn seconds(wait: u64) -> u32 {
    let seconds = Duration::from_nanos(wait).as_secs_f64().ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some seconds, at most minutes: so fast does a bucket refill"
    )]
    {
        (seconds as u32).max(1)
    }
}

/// Buckets, each with the time at which it is full again (GCRA). A full bucket need not be stored.
#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, u64>,
    /// Bucket of all that find no room.
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
    /// Takes a token. Returns the wait if there is none.
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

    /// Gives a token back.
    fn give_back(&mut self, key: &K, rate: Rate) {
        let full_at = self.full_at.get_mut(key).unwrap_or(&mut self.shared);
        *full_at = full_at.saturating_sub(rate.interval);
    }

    /// Returns the wait for a token, or `None` if there is one.
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

    /// Returns how many requests with a key pass at once.
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
