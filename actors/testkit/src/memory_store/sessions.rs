//! Browser sessions and login links in memory.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::{MemoryStore, tables::Tables};
use domain::{
    id::{AccountId, ApiKeyId, SessionId},
    ports::store::{
        Account, ApiKeyRow, FoundSession, LOGIN_LINK_LASTS_US, OpenedWith, SESSION_IDLE_US, SESSION_LASTS_US, SESSIONS,
        SessionRow, SessionStore, StoreError, StoreResult, StoredApiKey, USE_RECORDED_EVERY_US,
    },
    scope::Scopes,
    secret_token::TokenHash,
    time::Timestamp,
};

pub(super) struct SessionEntry {
    token: TokenHash,
    /// Hash of the key that it depends on.
    key: Option<[u8; 32]>,
    row: SessionRow,
}

impl Tables {
    /// Returns the present row of a session, unless it has ended.
    fn open_session(&self, entry: &SessionEntry, now: Timestamp) -> Option<SessionRow> {
        let mut row = entry.row.clone();
        if let Some(hash) = entry.key {
            let (_, key) = self.keys.iter().find(|(stored, _)| stored.hash == hash)?;
            row.key_name = Some(key.name.clone());
            row.scopes = key.scopes.clone();
            row.key_expires_at = key.expires_at;
        }
        let ends = [Some(row.expires_at), row.key_expires_at];
        let is_over = ends.into_iter().flatten().any(|end| end <= now);
        (!is_over && row.last_used_at.0 > now.0 - SESSION_IDLE_US).then_some(row)
    }

    fn open_sessions(&self, account: AccountId, now: Timestamp) -> Vec<SessionRow> {
        let own = self.sessions.iter().filter(|entry| entry.row.account == account);
        let mut rows: Vec<SessionRow> = own.filter_map(|entry| self.open_session(entry, now)).collect();
        rows.sort_by_key(|row| Reverse((row.created_at, row.id)));
        rows
    }

    /// Lets the session `keep` go on with `new` or without a key, if it was opened with this key.
    pub(super) fn follow_key(&mut self, key: ApiKeyId, keep: Option<SessionId>, new: Option<&StoredApiKey>) {
        let Some((stored, row)) = self.keys.iter().find(|(_, row)| row.id == key) else {
            return;
        };
        let (
            hash,
            ApiKeyRow {
                name,
                scopes,
                expires_at,
                ..
            },
        ) = (stored.hash, row.clone());
        let mut sessions = self.sessions.iter_mut();
        let kept = sessions.find(|entry| Some(entry.row.id) == keep && entry.key == Some(hash));
        if let Some(entry) = kept {
            entry.key = new.map(|new| new.hash);
            entry.row.key_name = Some(name);
            entry.row.scopes = scopes;
            entry.row.key_expires_at = expires_at;
        }
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn open_session(&self, token: TokenHash, with: OpenedWith) -> StoreResult<FoundSession> {
        let (mut tables, now) = (self.open()?, self.now());
        let (account, key, key_name, scopes) = match with {
            OpenedWith::Key {
                account,
                hash,
                name,
                scopes,
            } => (account, Some(hash), Some(name), scopes),
            OpenedWith::Link(link) => {
                let found = tables.login_links.get(&link).copied().filter(|(_, end)| *end > now);
                let (account, _) = found.ok_or(StoreError::NotFound)?;
                tables.login_links.remove(&link);
                (account, None, None, Scopes::all())
            }
        };
        let kept: Vec<SessionId> = tables
            .open_sessions(account, now)
            .into_iter()
            .map(|row| row.id)
            .collect();
        let kept = &kept[..kept.len().min(SESSIONS - 1)];
        tables
            .sessions
            .retain(|entry| entry.row.account != account || kept.contains(&entry.row.id));
        let entry = SessionEntry {
            token,
            key,
            row: SessionRow {
                id: SessionId::new(),
                account,
                key_name,
                scopes,
                key_expires_at: None,
                created_at: now,
                last_used_at: now,
                expires_at: Timestamp(now.0 + SESSION_LASTS_US),
            },
        };
        let row = tables.open_session(&entry, now).ok_or(StoreError::NotFound)?;
        let account = tables.accounts.get(&account).ok_or(StoreError::NotFound)?.clone();
        tables.sessions.push(entry);
        Ok(FoundSession {
            account,
            row,
            read_at: now,
        })
    }

    async fn session(&self, token: TokenHash) -> StoreResult<Option<FoundSession>> {
        let (tables, now) = (self.open()?, self.now());
        let entry = tables.sessions.iter().find(|entry| entry.token == token);
        let row = entry.and_then(|entry| tables.open_session(entry, now));
        Ok(row.and_then(|row| {
            Some(FoundSession {
                account: tables.accounts.get(&row.account)?.clone(),
                row,
                read_at: now,
            })
        }))
    }

    async fn sessions_of(&self, account: AccountId) -> StoreResult<Vec<SessionRow>> {
        Ok(self.open()?.open_sessions(account, self.now()))
    }

    async fn end_session(&self, account: AccountId, id: SessionId) -> StoreResult<()> {
        let mut tables = self.open()?;
        let open = tables.open_sessions(account, self.now());
        if !open.iter().any(|row| row.id == id) {
            return Err(StoreError::NotFound);
        }
        tables.sessions.retain(|entry| entry.row.id != id);
        Ok(())
    }

    async fn session_used(&self, id: SessionId) -> StoreResult<()> {
        let (mut tables, now) = (self.open()?, self.now());
        let recordable = now.0 - SESSION_IDLE_US + 1..=now.0 - USE_RECORDED_EVERY_US;
        let mut rows = tables.sessions.iter_mut().map(|entry| &mut entry.row);
        if let Some(row) = rows.find(|row| row.id == id && recordable.contains(&row.last_used_at.0)) {
            row.last_used_at = now;
        }
        Ok(())
    }

    async fn add_login_link(&self, email: &str, token: TokenHash) -> StoreResult<()> {
        let (mut tables, now) = (self.open()?, self.now());
        let mut accounts = tables.accounts.values();
        let account = accounts
            .find(|account| account.email == email)
            .map(|account| account.id);
        let end = Timestamp(now.0 + LOGIN_LINK_LASTS_US);
        let link = (account.ok_or(StoreError::NotFound)?, end);
        tables.login_links.insert(token, link);
        Ok(())
    }

    async fn first_accounts(&self, limit: i64) -> StoreResult<Vec<Account>> {
        let mut accounts: Vec<Account> = self.open()?.accounts.values().cloned().collect();
        accounts.sort_by_key(|account| account.id);
        accounts.truncate(usize::try_from(limit).unwrap_or_default());
        Ok(accounts)
    }
}
