//! Phone numbers of the carriers' accounts.

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::catalog::{CarrierNumbers, Offer},
};
use futures_util::future::join_all;
use net::cached::Cached;

use super::settings::{CarrierSettings, SetCarrier};
use crate::{http::SetupError, kind::ask::Asker};

/// Numbers of the configured carriers, kept for some minutes.
pub struct NumberLists {
    ask: Asker,
    lists: Vec<List>,
}

struct List {
    of: SetCarrier,
    cached: Cached<PhoneNumber>,
}

impl NumberLists {
    /// Creates the lists of these carriers.
    pub fn new(settings: &CarrierSettings) -> Result<Self, SetupError> {
        let listing = settings.carriers().iter().filter(|set| set.kind.lists_numbers);
        let list = |of: &SetCarrier| List {
            of: of.clone(),
            cached: Cached::default(),
        };
        Ok(Self {
            ask: Asker::new()?,
            lists: listing.map(list).collect(),
        })
    }

    async fn offer(&self, List { of, cached }: &List) -> Offer<PhoneNumber> {
        let provider = of.kind.name;
        let fetch = || async { of.account.numbers(&self.ask).await.map_err(|problem| problem.0) };
        Offer {
            provider: provider.to_owned(),
            items: cached.get(provider, fetch).await,
        }
    }
}

#[async_trait]
impl CarrierNumbers for NumberLists {
    async fn numbers(&self) -> Vec<Offer<PhoneNumber>> {
        join_all(self.lists.iter().map(|list| self.offer(list))).await
    }
}
