//! Results of a campaign's contacts: as pages of a list, and as one streamed CSV file.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use domain::{
    agent::Entities,
    conversation,
    id::CampaignId,
    phone_number::PhoneNumber,
    ports::store::{
        AgentRow, CampaignContact, CampaignRow, ContactPage, ContactResult, ContactStatus, ResultFilter, Store,
        StoreError,
    },
    time::Timestamp,
};
use futures_util::stream;
use serde_json::{Value, json};

use super::view::ShownResult;
use crate::{
    caller::Caller,
    request::{
        contact_fields::EXTRA_FIELDS,
        cursor::Binding,
        path_id::PathId,
        query::{Parameters, Query, RawQuery},
    },
    resources::results_file::{
        CollectedColumns, EMAIL, FileParameters, HEADERS, Lines, attachment, harmless, header_of,
    },
    response::{
        envelope::{Pagination, Reply},
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Parameters of the list.
#[derive(Debug, Clone)]
pub struct ListParameters {
    filter: ResultFilter,
    cursor: Option<String>,
    page_size: i64,
}

impl Parameters for ListParameters {
    const NAMES: &'static [&'static str] = &["status", "search", "cursor", "pageSize"];

    fn read(query: &mut RawQuery) -> Self {
        let statuses = ContactStatus::ALL.map(ContactStatus::as_str).join(", ");
        Self {
            filter: ResultFilter {
                status: query.parsed("status", &format!("one of {statuses}"), ContactStatus::parse),
                search: query.search(),
            },
            cursor: query.text("cursor"),
            page_size: query.page_size(),
        }
    }
}

/// Handles `GET /public/v1/campaigns/{campaignId}/contacts`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<ListParameters>,
    PathId(id): PathId<CampaignId>,
) -> ApiResult<Reply> {
    let (filter, page_size) = (parameters.filter, parameters.page_size);
    let row = state.store.campaign(account.id, id).await.or_no_such("campaign")?;
    let binding = Binding::new(account.id, "campaign contacts", format!("{id} {filter:?}"));
    let mut known = None;
    let from = match parameters.cursor {
        None => 0,
        Some(cursor) => {
            let (index, list) = place(&binding, &cursor)?;
            known = Some(list);
            index
        }
    };
    let page = state.store.contact_results(id, filter, from, page_size + 1).await?;
    if known.is_some_and(|known| known != page.list) {
        return Err(bad_cursor());
    }
    let ContactPage { list, mut results } = page;
    let page = usize::try_from(page_size).unwrap_or_default();
    let has_more = results.len() > page;
    results.truncate(page);
    let last = results.last().filter(|_| has_more);
    let pagination = Pagination {
        page_size,
        has_more,
        next_cursor: last.map(|last| binding.cursor(Timestamp(last.index + 1), &list.to_string())),
        ..Pagination::default()
    };
    let entities = entities(&*state.store, &row).await?;
    let numbers: Vec<PhoneNumber> = results.iter().map(|result| result.who.phone_number.clone()).collect();
    let listed = state.store.among_do_not_call(account.id, &numbers).await?;
    let items = results.iter().map(|result| ShownResult {
        do_not_call: listed.contains(&result.who.phone_number),
        ..ShownResult::of(result, &entities)
    });
    Ok(Reply::page(items.collect(), pagination))
}

/// Returns the index and the list in a cursor.
fn place(binding: &Binding, cursor: &str) -> ApiResult<(i64, i64)> {
    let place = binding.place(cursor);
    let place = place.and_then(|(index, list)| Some((index.0, list.parse().ok()?)));
    place.ok_or_else(bad_cursor)
}

fn bad_cursor() -> ApiError {
    ApiError::field(
        "cursor",
        "invalid_cursor",
        "is damaged, or belongs to a list with another filter or replaced contacts; start again without it",
    )
}

/// Returns the entities of the campaign's agent, or none if the agent was deleted.
async fn entities(store: &dyn Store, row: &CampaignRow) -> ApiResult<Entities> {
    let agent: Option<AgentRow> = match store.agent(row.account, row.agent).await {
        Ok(agent) => Some(agent),
        Err(StoreError::NotFound) => None,
        Err(other) => return Err(other.into()),
    };
    Ok(conversation::entities(agent.as_ref()))
}

/// Rows of the file per read.
const PAGE: i64 = 1_000;

/// Handles `GET /public/v1/campaigns/{campaignId}/results.csv`.
pub async fn file(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(parameters): Query<FileParameters>,
    PathId(campaign): PathId<CampaignId>,
) -> ApiResult<Response> {
    let row = state
        .store
        .campaign(account.id, campaign)
        .await
        .or_no_such("campaign")?;
    let mut collected = CollectedColumns::default();
    collected.add(entities(&*state.store, &row).await?.iter().map(|(name, _)| name));
    // Reads from the list before the response begins, so that an unavailable store is still a 503.
    let first = state
        .store
        .contact_results(campaign, ResultFilter::default(), 0, 1)
        .await?;
    let reading = Reading {
        store: state.store,
        list: first.list,
        campaign,
        from: 0,
        columns: OwnColumns {
            collected,
            ..OwnColumns::default()
        },
        begins: Some(parameters),
    };
    let body = Body::from_stream(stream::try_unfold(reading, Reading::page));
    Ok(attachment(
        body,
        "text/csv; charset=utf-8",
        &format!("results-{campaign}.csv"),
    ))
}

/// Progress of writing the file.
struct Reading {
    store: Arc<dyn Store>,
    campaign: CampaignId,
    /// List of contacts that is read. Contacts of another list would make the file a mixture.
    list: i64,
    from: i64,
    columns: OwnColumns,
    /// Parameters of the file before its header line is written.
    begins: Option<FileParameters>,
}

impl Reading {
    /// Returns the next piece. An error ends the response early, so that clients notice that it is incomplete.
    async fn page(mut self) -> Result<Option<(Bytes, Self)>, FileError> {
        let begins = self.begins.take();
        if begins.is_some() {
            self.columns.read(&*self.store, self.campaign).await?;
        }
        // The contacts come first: their list cannot have been replaced before if the results still have it.
        let contacts = self.store.campaign_contacts(self.campaign, self.from, PAGE).await?;
        let page = self
            .store
            .contact_results(self.campaign, ResultFilter::default(), self.from, PAGE)
            .await?;
        if page.list != self.list {
            return Err(FileError::Replaced);
        }
        let page = page.results;
        let Some(last) = page.last() else {
            let piece = begins.map(|begins| lines(&self.columns, &[], &[], Some(begins)));
            return Ok(piece.transpose()?.map(|piece| (piece, self)));
        };
        self.from = last.index + 1;
        let piece = lines(&self.columns, &page, &contacts, begins)?;
        Ok(Some((piece, self)))
    }
}

/// Reason why the file ended early.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the contacts were replaced while they were read")]
    Replaced,
    #[error(transparent)]
    Csv(#[from] csv::Error),
}

/// Columns of the collected values and of the contacts' own fields, the latter in the order in which they first appear.
#[derive(Debug, Default)]
struct OwnColumns {
    collected: CollectedColumns,
    email: bool,
    fields: Vec<String>,
    known: HashSet<String>,
}

impl OwnColumns {
    /// Reads them from all contacts of the campaign and their results.
    async fn read(&mut self, store: &dyn Store, campaign: CampaignId) -> Result<(), StoreError> {
        let mut from = 0;
        loop {
            let contacts = store.campaign_contacts(campaign, from, PAGE).await?;
            let page = store
                .contact_results(campaign, ResultFilter::default(), from, PAGE)
                .await?;
            from += PAGE;
            contacts.iter().for_each(|contact| self.add(contact));
            let last = page.results.iter().filter_map(|result| result.last.as_ref());
            last.for_each(|last| self.collected.add(last.collected.keys()));
            if contacts.is_empty() {
                return Ok(());
            }
        }
    }

    fn add(&mut self, contact: &CampaignContact) {
        self.email |= contact.email.is_some();
        for name in contact.extra.keys() {
            // An upload takes no more fields than this.
            if self.fields.len() < EXTRA_FIELDS && !self.known.contains(name) {
                self.fields.push(name.clone());
                self.known.insert(name.clone());
            }
        }
    }

    fn headers(&self) -> impl Iterator<Item = String> {
        let email = self.email.then(|| EMAIL.to_owned());
        let fields = self.fields.iter().map(|field| header_of(field));
        let collected = self.collected.headers();
        let own = HEADERS.into_iter().map(str::to_owned).chain(collected);
        own.chain(email).chain(fields)
    }

    fn cells(&self, result: &ContactResult, contact: &CampaignContact) -> impl Iterator<Item = String> {
        let last = result.last.iter().flat_map(|last| &last.collected);
        let values: BTreeMap<&str, &str> = last.map(|(name, value)| (&**name, &**value)).collect();
        let collected: Vec<String> = self.collected.cells(&values).collect();
        let email = self.email.then(|| contact.email.clone().unwrap_or_default());
        let fields = self.fields.iter().map(|field| match contact.extra.get(field) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        });
        collected
            .into_iter()
            .chain(email.into_iter().chain(fields).map(harmless))
    }
}

fn lines(
    columns: &OwnColumns,
    page: &[ContactResult],
    contacts: &[CampaignContact],
    begins: Option<FileParameters>,
) -> Result<Bytes, FileError> {
    let mut lines = begins.map(Lines::first).unwrap_or_default();
    if begins.is_some() {
        lines.add(columns.headers())?;
    }
    for (result, contact) in page.iter().zip(contacts) {
        lines.add(cells(result).into_iter().chain(columns.cells(result, contact)))?;
    }
    Ok(Bytes::from(lines.into_bytes()))
}

fn cells(result: &ContactResult) -> [String; 9] {
    let last = result.last.as_ref();
    let collected = last.filter(|last| !last.collected.is_empty());
    let cells = [
        String::from(result.who.phone_number.clone()),
        result.who.name.clone().unwrap_or_default(),
        result.who.contact.map(String::from).unwrap_or_default(),
        result.status.as_str().to_owned(),
        last.and_then(|last| last.error.clone()).unwrap_or_default(),
        last.map_or(0, |last| last.number).to_string(),
        last.map(|last| last.id.to_string()).unwrap_or_default(),
        last.is_some_and(|last| last.voicemail).to_string(),
        collected.map_or_else(String::new, |last| json!(last.collected).to_string()),
    ];
    cells.map(harmless)
}

#[cfg(test)]
mod tests {
    use domain::ports::store::Callee;
    use proptest::prelude::*;

    use super::*;
    use crate::resources::campaign_csv::contacts_of;

    fn contact() -> impl Strategy<Value = (Option<String>, bool, Vec<(String, String)>)> {
        let text = || "[=+@'a-c1,;\"\n. -]{0,8}".prop_map(|text| text.trim().to_owned());
        let named = prop::sample::select(vec![
            "name",
            "email",
            "phoneNumber",
            "phone",
            "Full Name",
            "status",
            "contact_id",
            "meta-data",
            "field.name",
            "field.field.x",
            "override.voice",
            "Override.",
            "collected.city",
            "=city",
            "'=city",
            "city",
        ]);
        let field = prop_oneof![named.prop_map(str::to_owned), text()];
        (
            prop::option::of(text()),
            any::<bool>(),
            prop::collection::vec((field, text()), 0..5),
        )
    }

    proptest! {
        #[test]
        fn an_uploaded_file_of_results_brings_the_same_contacts(people in prop::collection::vec(contact(), 1..5)) {
            let mut contacts = Vec::new();
            for (index, (name, has_email, extra)) in people.into_iter().enumerate() {
                contacts.push(CampaignContact {
                    phone_number: PhoneNumber::parse(&format!("+1555000000{index}")).unwrap(),
                    contact: None,
                    name: name.filter(|name| !name.is_empty()),
                    email: has_email.then(|| "ada@example.com".to_owned()),
                    extra: extra
                        .into_iter()
                        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
                        .map(|(name, value)| (name, value.into()))
                        .collect(),
                });
            }
            let mut columns = OwnColumns::default();
            columns.collected.add([&"day".to_owned(), &"=x".to_owned()]);
            contacts.iter().for_each(|contact| columns.add(contact));
            let results: Vec<ContactResult> = contacts.iter().zip(0..).map(|(contact, index)| ContactResult {
                index,
                who: Callee {
                    phone_number: contact.phone_number.clone(),
                    name: contact.name.clone(),
                    contact: None,
                },
                status: ContactStatus::Pending,
                last: None,
            }).collect();
            let begins = FileParameters::read(&mut RawQuery::default());
            let file = lines(&columns, &results, &contacts, Some(begins)).unwrap();
            let read: Vec<CampaignContact> = contacts_of(&file).expect("it is taken").collect();
            prop_assert_eq!(read, contacts);
        }
    }
}
