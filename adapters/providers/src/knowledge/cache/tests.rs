//! Tests of the cache's memory limit.

use super::*;

fn place(document: DocumentId, words: usize) -> Place {
    let text = "word ".repeat(words);
    let library = Library::new(vec![Document {
        name: "any".into(),
        text,
    }]);
    let book = Book {
        library,
        ids: vec![document],
        embeddings: None,
        vectors: OnceLock::new(),
    };
    Place {
        documents: [document].into(),
        book: Arc::new(OnceCell::new_with(Some(Arc::new(book)))),
    }
}

#[test]
fn the_books_used_longest_ago_are_forgotten_first() {
    let ids = [DocumentId::new(), DocumentId::new(), DocumentId::new()];
    let mut places: Vec<Place> = ids.iter().map(|id| place(*id, 4_000)).collect();
    let one = places[0].book.get().unwrap().bytes();
    assert!(one > 20_000, "{one}");
    make_room(&mut places, 3 * one);
    assert_eq!(places.len(), 3);
    make_room(&mut places, 2 * one + one / 2);
    let left: Vec<DocumentId> = places.iter().map(|place| place.documents[0]).collect();
    assert_eq!(left, ids[1..]);
    make_room(&mut places, 10);
    assert_eq!(places.len(), 1, "the one that is wanted now stays");
}
