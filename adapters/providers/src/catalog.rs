//! Voices and language models that the configured providers offer, kept for some minutes.

mod lists;

use async_trait::async_trait;
use domain::ports::catalog::{Catalog, Offer, OfferedVoice};
use futures_util::{TryFutureExt, future::join_all};
use net::cached::Cached;

use self::lists::ListError;
use crate::{
    endpoint::Endpoint,
    provider::{List, Provider},
    registry::PROVIDERS,
    settings::ProviderSettings,
};

/// Choice of a provider's list of one kind.
type ListOf = fn(&'static Provider) -> Option<&'static List>;

/// Lists of one kind, one per provider.
struct Lists<T>(Vec<(String, Origin<T>)>);

enum Origin<T> {
    /// The provider lists them itself.
    Listed(Endpoint, &'static List, Cached<T>),
    /// The settings name them.
    Named(Vec<T>),
}

impl<T: Clone> Lists<T> {
    /// Takes the lists of providers that have one, and `named` of the others.
    fn new(list: ListOf, settings: &ProviderSettings, named: Vec<(String, T)>) -> Self {
        let listed = PROVIDERS.iter().filter_map(|provider| {
            let list = list(provider)?;
            let endpoint = settings.endpoint(provider.name).ok()?.clone();
            let origin = Origin::Listed(endpoint, list, Cached::default());
            Some((provider.name.to_owned(), origin))
        });
        let mut lists = Self(listed.collect());
        for (provider, item) in named {
            match lists.0.iter_mut().find(|(known, _)| *known == provider) {
                Some((_, Origin::Named(items))) => items.push(item),
                Some((_, Origin::Listed(..))) => {}
                None => lists.0.push((provider, Origin::Named(vec![item]))),
            }
        }
        lists
    }

    async fn offers<F>(&self, only: Option<&str>, fetch: impl Fn(Endpoint, &'static List) -> F) -> Vec<Offer<T>>
    where
        F: Future<Output = Result<Vec<T>, ListError>>,
    {
        let wanted = self.0.iter().filter(|(name, _)| only.is_none_or(|only| only == name));
        let offers = wanted.map(|(provider, origin)| {
            let fetch = &fetch;
            async move {
                let items = match origin {
                    Origin::Listed(endpoint, list, cached) => {
                        let fetch = || fetch(endpoint.clone(), list).map_err(|error| error.to_string());
                        cached.get(provider, fetch).await
                    }
                    Origin::Named(items) => Ok(items.clone()),
                };
                Offer {
                    provider: provider.clone(),
                    items,
                }
            }
        });
        join_all(offers).await
    }
}

/// The catalog of one service.
pub struct ProviderCatalog {
    http: reqwest::Client,
    voices: Lists<OfferedVoice>,
    models: Lists<String>,
}

impl ProviderCatalog {
    /// Creates the catalog. `voices` and `models` are those that the settings name, each with its provider.
    pub fn new(
        settings: &ProviderSettings,
        voices: Vec<(String, String)>,
        models: Vec<(String, String)>,
    ) -> reqwest::Result<Self> {
        let voices = voices.into_iter().map(|(provider, voice)| {
            let voice = lists::voice(&provider, &voice);
            (provider, voice)
        });
        let http = net::http_client::builder().redirect(reqwest::redirect::Policy::none());
        Ok(Self {
            http: http
                .user_agent(concat!("ringback/", env!("CARGO_PKG_VERSION")))
                .build()?,
            voices: Lists::new(|provider| provider.voices.as_ref(), settings, voices.collect()),
            models: Lists::new(|provider| provider.models.as_ref(), settings, models),
        })
    }
}

#[async_trait]
impl Catalog for ProviderCatalog {
    async fn voices(&self, provider: Option<&str>) -> Vec<Offer<OfferedVoice>> {
        let fetch = |endpoint, list: &'static List| lists::voices(self.http.clone(), endpoint, list);
        self.voices.offers(provider, fetch).await
    }

    async fn models(&self, provider: Option<&str>) -> Vec<Offer<String>> {
        let fetch = |endpoint, list: &'static List| lists::models(self.http.clone(), endpoint, list);
        self.models.offers(provider, fetch).await
    }
}
