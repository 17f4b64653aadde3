//! Saved contacts in memory: finding and changing them.

use std::cmp::Reverse;

use super::tables::Tables;
use domain::{
    id::{AccountId, ContactId},
    ports::store::{ContactFilter, ContactRow, NewContact, StoreError, StoreResult},
};

impl Tables {
    pub(super) fn contacts_of(&self, account: AccountId, filter: &ContactFilter, limit: i64) -> Vec<ContactRow> {
        let own = self.contacts.values().filter(|row| row.account == account);
        let mut found: Vec<&ContactRow> = own.filter(|row| passes(filter, row)).collect();
        found.sort_by_key(|row| Reverse((row.created_at, row.id)));
        let limit = usize::try_from(limit).unwrap_or(0);
        found.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn replace_contact(
        &mut self,
        key: (AccountId, ContactId),
        version: i64,
        new: NewContact,
    ) -> StoreResult<ContactRow> {
        let (account, id) = key;
        let own = |row: &&ContactRow| row.account == account;
        let old = self.contacts.get(&id).filter(own).ok_or(StoreError::NotFound)?.clone();
        if old.version != version {
            return Err(StoreError::Stale);
        }
        let mut others = self.contacts.values().filter(|row| row.id != id).filter(own);
        if others.any(|row| row.phone_number == new.phone_number) {
            return Err(StoreError::Exists("phoneNumber"));
        }
        let row = ContactRow {
            phone_number: new.phone_number,
            name: new.name,
            email: new.email,
            extra: new.extra,
            version: version + 1,
            ..old
        };
        self.contacts.insert(id, row.clone());
        Ok(row)
    }
}

fn passes(filter: &ContactFilter, row: &ContactRow) -> bool {
    let name = filter.name.as_ref().map(|text| {
        let name = row.name.as_deref().unwrap_or_default();
        name.to_lowercase().contains(&text.to_lowercase())
    });
    let number = filter.number.as_ref();
    let number = number.map(|text| row.phone_number.as_str().contains(text));
    let found = (name.is_none() && number.is_none()) || name == Some(true) || number == Some(true);
    found && filter.after.is_none_or(|last| (row.created_at, row.id) < last)
}
