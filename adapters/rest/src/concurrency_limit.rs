//! Limits long-running operations: per account, and in total.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::id::AccountId;

/// Slots in use, by account.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    per_account: usize,
    in_all: usize,
    taken: Arc<Mutex<HashMap<AccountId, usize>>>,
}

/// A slot; freed on drop.
#[derive(Debug)]
pub struct ConcurrencySlot {
    account: AccountId,
    limit: ConcurrencyLimit,
}

impl ConcurrencyLimit {
    /// Creates a limit with all slots free.
    pub fn new(per_account: usize, in_all: usize) -> Self {
        Self {
            per_account,
            in_all,
            taken: Arc::default(),
        }
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
}
