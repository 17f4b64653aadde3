//! Cache of indexed documents, shared between calls. They are read from the store once and dropped when
//! memory runs short.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    id::{AccountId, DocumentId, GroupId},
    knowledge::{Document, Library},
    ports::{
        knowledge::{KnowledgeBase, KnowledgeError, OpenKnowledge},
        store::{Store, StoreError},
    },
};
use tokio::{
    sync::{OnceCell, Semaphore},
    task::JoinSet,
    time::sleep,
};

use crate::knowledge::{
    book::{Book, Reading},
    embeddings::{BATCH, Embeddings},
    vectors::Vectors,
};

/// Memory that cached books may use, in bytes.
const MOST_BYTES: usize = 256 * 1024 * 1024;

/// Maximum number of cached books, whatever their size. Books that could not be read count too.
const MOST_BOOKS: usize = 2_000;

/// Characters read of one agent's documents, about 10,000 passages. The documents after that are left out.
const MOST_CHARACTERS: i64 = 6_000_000;

/// Text length up to which documents are indexed on the async thread, in less than ten milliseconds. Longer
/// ones are indexed on a blocking thread.
const AT_ONCE_CHARACTERS: usize = 60_000;

/// Batches of passages that are embedded at once. After a start every agent's documents wait for their
/// vectors, and callers' questions go to the same model.
const ASKED_AT_ONCE: usize = 3;

/// Pauses between attempts to get the vectors of passages.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Knowledge cache of this node.
pub struct KnowledgeCache {
    store: Arc<dyn Store>,
    embeddings: Option<Embeddings>,
    /// Cached books, least recently used first.
    places: Mutex<Vec<Place>>,
    /// Tasks that request vectors. They end with the cache.
    asking: Mutex<JoinSet<()>>,
    seats: Arc<Semaphore>,
}

/// Cache entry of a book. Documents never change, so the same ids always mean the same book.
struct Place {
    documents: Arc<[DocumentId]>,
    book: Arc<OnceCell<Arc<Book>>>,
}

fn unavailable(error: &StoreError) -> KnowledgeError {
    KnowledgeError(error.to_string())
}

impl KnowledgeCache {
    /// Creates an empty cache. If there is an embeddings model, its books are compared by meaning too.
    pub fn new(store: Arc<dyn Store>, embeddings: Option<Embeddings>) -> Self {
        Self {
            store,
            embeddings,
            places: Mutex::default(),
            asking: Mutex::default(),
            seats: Arc::new(Semaphore::new(ASKED_AT_ONCE)),
        }
    }

    /// Resolves ids of documents and groups to documents of this account, in order and without duplicates.
    async fn resolve(&self, account: AccountId, held: &[String]) -> Result<Vec<DocumentId>, StoreError> {
        let ids: Vec<DocumentId> = held.iter().filter_map(|id| id.parse().ok()).collect();
        let known = self.store.known_documents(account, &ids).await?;
        let mut documents: Vec<DocumentId> = Vec::new();
        for id in held {
            let found: Vec<DocumentId> = match id.parse::<DocumentId>().ok().filter(|id| known.contains(id)) {
                Some(document) => vec![document],
                None => self.members(account, id).await?,
            };
            for document in found {
                if !documents.contains(&document) {
                    documents.push(document);
                }
            }
        }
        Ok(documents)
    }

    async fn members(&self, account: AccountId, id: &str) -> Result<Vec<DocumentId>, StoreError> {
        let Ok(group) = id.parse::<GroupId>() else {
            return Ok(Vec::new());
        };
        match self.store.group(account, group).await {
            Ok(group) => Ok(group.documents.into_iter().map(|document| document.id).collect()),
            Err(StoreError::NotFound) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn place(&self, documents: &[DocumentId]) -> Arc<OnceCell<Arc<Book>>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let at = places.iter().position(|place| &*place.documents == documents);
        let place = match at {
            Some(at) => places.remove(at),
            None => Place {
                documents: documents.into(),
                book: Arc::default(),
            },
        };
        let book = place.book.clone();
        places.push(place);
        make_room(&mut places, MOST_BYTES);
        book
    }

    async fn read(&self, account: AccountId, ids: &[DocumentId]) -> Result<Arc<Book>, StoreError> {
        let (mut documents, mut kept, mut left) = (Vec::new(), Vec::new(), MOST_CHARACTERS);
        for id in ids {
            let row = match self.store.document(account, *id).await {
                Ok(row) => row,
                // Deleted since its id was resolved.
                Err(StoreError::NotFound) => continue,
                Err(error) => return Err(error),
            };
            left -= row.characters;
            if left < 0 {
                tracing::warn!(%account, document = row.name, "agent's documents too long, leaving out the rest");
                break;
            }
            match self.store.document_text(account, *id).await {
                Ok(text) => {
                    documents.push(Document { name: row.name, text });
                    kept.push(*id);
                }
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        let library = indexed(documents).await?;
        let embeddings = self.embeddings.clone().filter(|_| !library.is_small());
        let book = Arc::new(Book {
            library,
            ids: kept,
            embeddings: embeddings.clone(),
            vectors: OnceLock::new(),
        });
        if let Some(embeddings) = embeddings {
            let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
            while asking.try_join_next().is_some() {}
            asking.spawn(compare(Arc::downgrade(&book), embeddings, self.seats.clone()));
        }
        Ok(book)
    }
}

#[async_trait]
impl KnowledgeBase for KnowledgeCache {
    async fn open(&self, account: AccountId, held: &[String]) -> Result<Arc<dyn OpenKnowledge>, KnowledgeError> {
        let documents = self.resolve(account, held).await.map_err(|error| unavailable(&error))?;
        let place = self.place(&documents);
        let book = place.get_or_try_init(|| self.read(account, &documents)).await;
        let book = book.map_err(|error| unavailable(&error))?.clone();
        Ok(Arc::new(Reading(book)))
    }
}

/// Removes the least recently used books until the rest takes at most `most` bytes. The last book always stays.
fn make_room(places: &mut Vec<Place>, most: usize) {
    let bytes = |place: &Place| place.book.get().map_or(0, |book| book.bytes());
    let mut taken: usize = places.iter().map(bytes).sum();
    while places.len() > 1 && (taken > most || places.len() > MOST_BOOKS) {
        taken -= bytes(&places.remove(0));
    }
}

async fn indexed(documents: Vec<Document>) -> Result<Library, StoreError> {
    let characters: usize = documents.iter().map(|document| document.text.len()).sum();
    if characters <= AT_ONCE_CHARACTERS {
        return Ok(Library::new(documents));
    }
    let indexed = tokio::task::spawn_blocking(move || Library::new(documents)).await;
    indexed.map_err(|_| StoreError::Unavailable("indexing documents crashed".into()))
}

/// Requests the vectors of a book's passages while somebody uses the book.
async fn compare(book: Weak<Book>, embeddings: Embeddings, seats: Arc<Semaphore>) {
    let mut vectors: Vec<Vec<f32>> = Vec::new();
    let mut pause = FIRST_PAUSE;
    // The semaphore is never closed. Each batch acquires a permit anew, so that a long book does not block short ones.
    while let Ok(seat) = seats.acquire().await {
        let texts = book.upgrade().map(|book| batch(&book, vectors.len()));
        let Some(texts) = texts.filter(|texts| !texts.is_empty()) else {
            break;
        };
        let answer = embeddings.of_batch(&texts).await;
        drop(seat);
        match answer {
            Ok(more) => {
                vectors.extend(more);
                pause = FIRST_PAUSE;
            }
            Err(why) => {
                tracing::warn!(
                    %why,
                    "embeddings of documents failed, searching by words until they succeed"
                );
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
    if let (Some(book), Some(vectors)) = (book.upgrade(), Vectors::of(vectors)) {
        let _ = book.vectors.set(vectors);
    }
}

fn batch(book: &Book, from: usize) -> Vec<String> {
    (from..from + BATCH)
        .map_while(|passage| book.library.told(passage))
        .collect()
}

#[cfg(test)]
mod tests;
