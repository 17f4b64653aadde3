//! Full-text index of transcripts: its queries and their SQL, which differ between databases.

use domain::{
    id::AccountId,
    ports::store::ConversationFilter,
    transcript_search::{Query, Term, scope_word},
};

/// Row ids of the index per microsecond, for calls that start in the same microsecond.
pub(crate) const PLACES: i64 = 1_024;

/// Kind of full-text index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordIndex {
    /// FTS5 of SQLite. It returns matches in the order of starts.
    Fts5,
    /// A GIN index of PostgreSQL. It is not ordered.
    Gin,
}

impl WordIndex {
    /// Returns the query for calls of an account, in the syntax of the index.
    pub(crate) fn query(self, account: AccountId, filter: &ConversationFilter, query: &Query) -> String {
        let owners = [
            Some(account.to_string()),
            filter.agent.map(|id| id.to_string()),
            filter.campaign.map(|id| id.to_string()),
        ];
        let scope = owners.into_iter().flatten().map(|id| Term {
            words: vec![scope_word(&id)],
            is_prefix: false,
        });
        let terms: Vec<String> = scope
            .chain(query.terms.iter().cloned())
            .map(|term| self.term(&term))
            .collect();
        terms.join(match self {
            Self::Fts5 => " AND ",
            Self::Gin => " & ",
        })
    }

    /// Quotes a term. Its words contain no quotation mark, apostrophe or backslash.
    fn term(self, term: &Term) -> String {
        match (self, term.is_prefix) {
            (Self::Fts5, false) => format!("\"{}\"", term.words.join(" ")),
            (Self::Fts5, true) => format!("\"{}\" *", term.words.join(" ")),
            (Self::Gin, is_prefix) => {
                let words: Vec<String> = term.words.iter().map(|word| format!("'{word}'")).collect();
                format!("({}{})", words.join(" <-> "), if is_prefix { ":*" } else { "" })
            }
        }
    }

    /// Returns the FROM clause for the calls `l` that the query at this placeholder finds.
    pub(crate) fn found(self, query: &str) -> String {
        match self {
            Self::Fts5 => format!(
                "FROM transcript_words w CROSS JOIN transcripts l ON l.place = w.rowid \
                 WHERE w.transcript_words MATCH {query} AND l.account = $1"
            ),
            Self::Gin => {
                format!("FROM transcripts l WHERE l.account = $1 AND l.words @@ CAST({query} AS tsquery)")
            }
        }
    }
}
