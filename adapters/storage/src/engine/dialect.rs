//! SQL fragments that differ between databases. Everything else is one SQL text.

use crate::engine::word_index::WordIndex;

/// SQL fragments and settings of one database.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Starts a transaction that will write.
    pub(crate) begin: &'static str,
    /// Appended to the subquery of a claim: locks its rows and skips locked ones.
    pub(crate) skip_locked: &'static str,
    /// Appended to the permit's read: locks the attempt `a` and the campaign `c` until the end of the transaction.
    pub(crate) permit_lock: &'static str,
    /// Appended to a read of a campaign `c`: locks it until the end of the transaction.
    pub(crate) campaign_lock: &'static str,
    /// Whether several transactions write at once, so that [`super::locks`] are needed.
    pub(crate) concurrent: bool,
    /// Whether several processes may share the database. If not, a new process means that the earlier ones are dead.
    pub(crate) many_nodes: bool,
    /// Appended to an INSERT: the contacts in the JSON array `$3`, each an array of number, name, e-mail and
    /// further fields, as rows of list `$1` from index `$2` on. Binding each column separately would take
    /// twice the time.
    pub(crate) contacts_of_json: &'static str,
    /// Full-text index of transcripts.
    pub(crate) words: WordIndex,
    /// Statements run once on a connection that writes.
    pub(crate) writer_setup: &'static [&'static str],
    /// Statements run once on a connection that reads.
    pub(crate) reader_setup: &'static [&'static str],
}

/// SQLite: there is one writer, so a row read in a transaction cannot change before its end.
pub(crate) static SQLITE: Dialect = Dialect {
    begin: "BEGIN IMMEDIATE",
    skip_locked: "",
    permit_lock: "",
    campaign_lock: "",
    concurrent: false,
    many_nodes: false,
    contacts_of_json: "SELECT $1, $2 + j.key, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3 \
                       FROM json_each($3) AS j",
    words: WordIndex::Fts5,
    // FULL syncs the log at each commit; with NORMAL a power cut may lose a dial permit.
    writer_setup: &[
        "PRAGMA busy_timeout = 5000",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        // Overwrite erased data instead of only freeing its pages.
        "PRAGMA secure_delete = ON",
    ],
    reader_setup: &["PRAGMA busy_timeout = 5000", "PRAGMA query_only = ON"],
};

/// PostgreSQL 13 or later: several writers at once, each transaction on a connection of its own.
pub(crate) static POSTGRES: Dialect = Dialect {
    // A statement that waited for a lock must see the changes of the lock's last holder. At this level each
    // statement sees everything committed before it.
    begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
    skip_locked: " FOR UPDATE SKIP LOCKED",
    permit_lock: " FOR UPDATE OF a FOR SHARE OF c",
    campaign_lock: " FOR SHARE OF c",
    concurrent: true,
    many_nodes: true,
    contacts_of_json: "SELECT $1, $2 + j.place - 1, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3 \
                       FROM json_array_elements(CAST($3 AS JSON)) WITH ORDINALITY AS j (value, place)",
    words: WordIndex::Gin,
    writer_setup: &[
        // Whatever the server's default is: a permit must survive a crash.
        "SET synchronous_commit = on",
        // A stalled process delays the others by at most this long.
        "SET idle_in_transaction_session_timeout = '3s'",
        "SET lock_timeout = '2s'",
        "SET statement_timeout = '5s'",
        // A process whose machine is gone delays them hardly longer.
        "SET tcp_keepalives_idle = 5",
        "SET tcp_keepalives_interval = 2",
        "SET tcp_keepalives_count = 3",
    ],
    reader_setup: &[
        "SET default_transaction_read_only = on",
        "SET statement_timeout = '5s'",
        "SET tcp_keepalives_idle = 5",
        "SET tcp_keepalives_interval = 2",
        "SET tcp_keepalives_count = 3",
    ],
};
