//! The few words that differ between databases. Everything else is one SQL text.

/// What one database calls things.
#[derive(Debug)]
pub(super) struct Dialect {
    /// Starts a transaction that will write.
    pub(super) begin: &'static str,
    /// Behind the subquery of a claim: lock these rows and pass over locked ones.
    pub(super) skip_locked: &'static str,
    /// Behind the permit's read: the attempt `a` and the campaign `c` stay as they are until its end.
    pub(super) permit_lock: &'static str,
    /// Behind a read of a campaign `c`: it stays as it is until the transaction's end.
    pub(super) campaign_lock: &'static str,
    /// Whether several transactions write at once, so that [`super::locks`] are taken.
    pub(super) concurrent: bool,
    /// Whether several processes may live on it; else a new one means that the earlier ones are dead.
    pub(super) many_nodes: bool,
    /// Behind an INSERT: the contacts of the JSON array `$3`, each an array of number, name, e-mail and further fields,
    /// as rows of list `$1` from index `$2` on. A value for each column would cost twice the time.
    pub(super) contacts_of_json: &'static str,
    /// Run once on a connection that writes.
    pub(super) writer_setup: &'static [&'static str],
    /// Run once on a connection that reads.
    pub(super) reader_setup: &'static [&'static str],
}

/// SQLite: one writer, so that a row read in a transaction cannot change before its end.
pub(super) static SQLITE: Dialect = Dialect {
    begin: "BEGIN IMMEDIATE",
    skip_locked: "",
    permit_lock: "",
    campaign_lock: "",
    concurrent: false,
    many_nodes: false,
    contacts_of_json: "SELECT $1, $2 + j.key, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3 \
                       FROM json_each($3) AS j",
    // FULL syncs the log at each commit: with NORMAL a power cut may take a dial permit back.
    writer_setup: &[
        "PRAGMA busy_timeout = 5000",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        // What is erased is written over, not only let go of.
        "PRAGMA secure_delete = ON",
    ],
    reader_setup: &["PRAGMA busy_timeout = 5000", "PRAGMA query_only = ON"],
};

/// PostgreSQL 13 or later: writers side by side, each transaction on a connection of its own.
pub(super) static POSTGRES: Dialect = Dialect {
    // What is read after a lock was waited for must be what the lock's last holder wrote: the level under which each
    // statement sees what was committed before it.
    begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
    skip_locked: " FOR UPDATE SKIP LOCKED",
    permit_lock: " FOR UPDATE OF a FOR SHARE OF c",
    campaign_lock: " FOR SHARE OF c",
    concurrent: true,
    many_nodes: true,
    contacts_of_json: "SELECT $1, $2 + j.place - 1, j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3 \
                       FROM json_array_elements(CAST($3 AS JSON)) WITH ORDINALITY AS j (value, place)",
    writer_setup: &[
        // Whatever the server's default: a permit must survive a crash.
        "SET synchronous_commit = on",
        // A process that stands still holds up the others for so long at most.
        "SET idle_in_transaction_session_timeout = '3s'",
        "SET lock_timeout = '2s'",
        "SET statement_timeout = '5s'",
        // And one whose machine is gone for hardly longer.
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
