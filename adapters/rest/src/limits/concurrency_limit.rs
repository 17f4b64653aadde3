//! Limits long-running operations: per account, and in total.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::id::AccountId;
use tokio::sync::{Notify, Semaphore};

/// Most operations that wait for a slot.
const WAITING: usize = 64;

/// Longest wait for a slot.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Slots in use, by account.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    per_account: usize,
    in_all: usize,
    taken: Arc<Mutex<HashMap<AccountId, usize>>>,
    freed: Arc<Notify>,
    queue: Arc<Semaphore>,
}

/// A slot; freed on drop.
#[derive(Debug)]
pub struct ConcurrencySlot {
    account: AccountId,
    limit: ConcurrencyLimit,
}

impl ConcurrencySlot {
    /// Returns how many slots are taken in all.
    pub fn taken_in_all(&self) -> usize {
        let taken = self.limit.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.values().sum()
    }
}

impl ConcurrencyLimit {
    /// Creates a limit with all slots free.
    pub fn new(per_account: usize, in_all: usize) -> Self {
        Self {
            per_account,
            in_all,
            taken: Arc::default(),
            freed: Arc::default(),
            queue: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// Returns whether an account has all slots that it may have.
    pub fn is_account_full(&self, account: AccountId) -> bool {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get(&account).copied().unwrap_or(0) >= self.per_account
    }

    /// Takes a slot, unless the limit of the account or the total is reached.
    pub fn take(&self, account: AccountId) -> Option<ConcurrencySlot> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&account).copied().unwrap_or(0);
        if own >= self.per_account || taken.values().sum::<usize>() >= self.in_all {
            return None;
        }
        taken.insert(account, own + 1);
        Some(ConcurrencySlot {
            account,
            limit: self.clone(),
        })
    }

    /// Takes a slot, and waits for one if none is free. Returns `None` at once if 64 others wait, or after 30 s.
    pub async fn wait(&self, account: AccountId) -> Option<ConcurrencySlot> {
        if let Some(slot) = self.take(account) {
            return Some(slot);
        }
        let _place = self.queue.try_acquire().ok()?;
        let freed = async {
            loop {
                // Created first, so that a slot freed meanwhile is noticed.
                let freed = self.freed.notified();
                if let Some(slot) = self.take(account) {
                    return slot;
                }
                freed.await;
            }
        };
        tokio::time::timeout(LONGEST_WAIT, freed).await.ok()
    }
}

impl Drop for ConcurrencySlot {
    fn drop(&mut self) {
        let mut taken = self.limit.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.account) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.account);
            }
        }
        drop(taken);
        self.limit.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_when_it_is_dropped() {
        let limit = ConcurrencyLimit::new(2, 3);
        let (ada, eve) = (AccountId::new(), AccountId::new());
        let first = limit.take(ada);
        let _second = limit.take(ada);
        assert!(limit.take(ada).is_none());
        let _third = limit.take(eve);
        assert!(limit.take(eve).is_none());
        drop(first);
        assert!(limit.take(eve).is_some());
        assert!(limit.taken.lock().unwrap().len() == 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_waited_for_in_a_bounded_queue_for_30_seconds() {
        let limit = ConcurrencyLimit::new(1, 2);
        let (ada, eve) = (AccountId::new(), AccountId::new());
        let held = limit.take(ada);
        let began = tokio::time::Instant::now();
        assert!(limit.wait(ada).await.is_none());
        assert_eq!(began.elapsed(), LONGEST_WAIT);
        let waiting = (0..WAITING).map(|_| {
            let limit = limit.clone();
            tokio::spawn(async move { limit.wait(ada).await.is_some() })
        });
        let waiting: Vec<_> = waiting.collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let began = tokio::time::Instant::now();
        assert!(limit.wait(ada).await.is_none() && began.elapsed().is_zero());
        assert!(limit.wait(eve).await.is_some(), "another account has its own limit");
        drop(held);
        for waiting in waiting {
            assert!(waiting.await.unwrap());
        }
    }
}
