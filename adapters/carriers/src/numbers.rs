//! Phone numbers of the carriers' accounts. Vonage lists them only to other credentials than those that place calls, and
//! Asterisk has none of its own.

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::catalog::{CarrierNumbers, Offer},
};
use futures_util::future::join_all;
use net::cached::Cached;
use serde::Deserialize;

use super::{
    ask::Asker,
    http::SetupError,
    settings::CarrierSettings,
    telnyx::{self, account::TelnyxAccount},
    twilio::account::TwilioAccount,
};

/// Maximum pages of an account's numbers, of 100 each. Further numbers are left out.
const MOST_PAGES: u32 = 20;

enum Account {
    Twilio(TwilioAccount),
    Telnyx(TelnyxAccount),
}

/// Numbers of the configured carriers, kept for some minutes.
pub struct NumberLists {
    ask: Asker,
    lists: Vec<(Account, Cached<PhoneNumber>)>,
}

impl NumberLists {
    /// Creates the lists of these carriers.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be built.
    pub fn new(settings: &CarrierSettings) -> Result<Self, SetupError> {
        let twilio = [&settings.twilio, &settings.signalwire].into_iter().flatten();
        let twilio = twilio.cloned().map(Account::Twilio);
        let accounts = twilio.chain(settings.telnyx.clone().map(Account::Telnyx));
        Ok(Self {
            ask: Asker::new()?,
            lists: accounts.map(|account| (account, Cached::default())).collect(),
        })
    }

    async fn offer(&self, (account, cached): &(Account, Cached<PhoneNumber>)) -> Offer<PhoneNumber> {
        let provider = match account {
            Account::Twilio(account) => account.flavour.name(),
            Account::Telnyx(_) => telnyx::NAME,
        };
        Offer {
            provider: provider.to_owned(),
            items: cached.get(provider, || self.fetch(account)).await,
        }
    }

    async fn fetch(&self, account: &Account) -> Result<Vec<PhoneNumber>, String> {
        match account {
            Account::Twilio(account) => of_twilio(&self.ask, account).await,
            Account::Telnyx(account) => of_telnyx(&self.ask, account).await,
        }
    }
}

#[async_trait]
impl CarrierNumbers for NumberLists {
    async fn numbers(&self) -> Vec<Offer<PhoneNumber>> {
        join_all(self.lists.iter().map(|list| self.offer(list))).await
    }
}

#[derive(Deserialize)]
struct Number {
    phone_number: Option<String>,
}

#[derive(Deserialize)]
struct TwilioPage {
    incoming_phone_numbers: Vec<Number>,
    next_page_uri: Option<String>,
}

#[derive(Deserialize)]
struct TelnyxPage {
    data: Vec<Number>,
    meta: Option<TelnyxPages>,
}

#[derive(Deserialize)]
struct TelnyxPages {
    total_pages: Option<u32>,
}

/// Returns the numbers of an account at Twilio or SignalWire, or why they cannot be listed.
pub(crate) async fn of_twilio(ask: &Asker, account: &TwilioAccount) -> Result<Vec<PhoneNumber>, String> {
    let (mut found, mut address) = (Vec::new(), account.resource("/IncomingPhoneNumbers.json?PageSize=100"));
    for _ in 0..MOST_PAGES {
        let request = ask.get(&address);
        let request = request.basic_auth(&account.user, Some(account.password.secret()));
        let page: TwilioPage = ask.json(request).await?;
        found.extend(valid(page.incoming_phone_numbers));
        // Another host must not get the password.
        let next = page.next_page_uri.filter(|uri| uri.starts_with('/'));
        let Some(next) = next else { break };
        address = format!("{}{next}", account.base_url);
    }
    Ok(found)
}

/// Returns the numbers of an account at Telnyx, or why they cannot be listed.
pub(crate) async fn of_telnyx(ask: &Asker, account: &TelnyxAccount) -> Result<Vec<PhoneNumber>, String> {
    let mut found = Vec::new();
    for number in 1..=MOST_PAGES {
        let path = format!("/phone_numbers?page%5Bnumber%5D={number}&page%5Bsize%5D=100");
        let request = ask.get(&format!("{}{path}", account.base_url));
        let page: TelnyxPage = ask.json(request.bearer_auth(account.api_key.secret())).await?;
        found.extend(valid(page.data));
        let pages = page.meta.and_then(|meta| meta.total_pages).unwrap_or(1);
        if number >= pages {
            break;
        }
    }
    Ok(found)
}

/// Leaves out short codes and the like.
fn valid(numbers: Vec<Number>) -> impl Iterator<Item = PhoneNumber> {
    let texts = numbers.into_iter().filter_map(|number| number.phone_number);
    texts.filter_map(|text| PhoneNumber::parse(&text).ok())
}
