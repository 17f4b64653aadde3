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
    // FULL syncs the log at each commit: with NORMAL a power cut may take a dial permit back.
    writer_setup: &[
        "PRAGMA busy_timeout = 5000",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
    ],
    reader_setup: &["PRAGMA busy_timeout = 5000", "PRAGMA query_only = ON"],
};
