//! State that the calls of an exchange share.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    audio::{played::PlayedAudio, stagger::Stagger},
    handset::Background,
    log::Log,
    registry::{Calling, Registry},
    settings::ExchangeSettings,
};

/// State that all calls share.
pub(super) struct Switch {
    pub(super) settings: ExchangeSettings,
    pub(super) log: Log,
    pub(super) client: reqwest::Client,
    pub(super) lines: Arc<Semaphore>,
    pub(super) registry: Registry,
    /// Calls that the phones make themselves.
    pub(super) calling: Calling,
    pub(super) background: Arc<Background>,
    pub(super) played_audio: PlayedAudio,
    pub(super) stagger: Stagger,
    pub(super) tasks: Mutex<JoinSet<()>>,
}

impl Switch {
    /// Starts a task that ends with the exchange.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}
