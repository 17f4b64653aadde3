//! The SQL for a page of conversations. It takes the ids in order from an index alone, and reads only the
//! rows of the page itself.
//!
//! A filter for which no index is ordered is checked on the newest conversations, a limited number for each page. If a
//! small index shows that few conversations can match, all of those are checked instead.

use domain::{
    id::{AccountId, AttemptId},
    phone_number::PhoneNumber,
    ports::store::{
        CallDirection, CallOutcome, ConversationFilter, ConversationPlace, ConversationSort, ConversationStatus,
        OutcomeSign,
    },
    time::Timestamp,
};

use crate::{
    callee,
    engine::{
        page_limits::PageLimits,
        rows::{AnyQuery, Bound, bind_all, composed},
        word_index::{PLACES, WordIndex},
    },
};

/// A small index that contains all conversations of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrow {
    /// Full-text index of transcripts.
    Words,
    /// Index of calls by number.
    Number,
    /// Index of calls by duration.
    Long,
}

/// A requested page.
pub(crate) struct Pages {
    account: AccountId,
    filter: ConversationFilter,
    limit: i64,
    words: WordIndex,
    limits: PageLimits,
    /// Index of which all conversations are examined, because they are few.
    few: Option<Narrow>,
    /// Sort key of the last conversation that is examined, if there are more.
    horizon: Option<Timestamp>,
}

impl Pages {
    pub(crate) fn new(
        account: AccountId,
        mut filter: ConversationFilter,
        limit: i64,
        words: WordIndex,
        limits: PageLimits,
    ) -> Self {
        // Filters by status have an index.
        if let Some(OutcomeSign::Status(status)) = filter.outcome.map(CallOutcome::sign)
            && filter.status.is_none_or(|asked| asked == status)
        {
            (filter.status, filter.outcome) = (Some(status), None);
        }
        Self {
            account,
            filter,
            limit: limit.max(0),
            words,
            limits,
            few: None,
            horizon: None,
        }
    }

    pub(crate) fn with_few(mut self, few: Option<Narrow>) -> Self {
        self.few = few;
        self
    }

    pub(crate) fn with_horizon(mut self, horizon: Option<Timestamp>) -> Self {
        self.horizon = horizon;
        self
    }

    /// Returns the place after which the next page begins, if not all conversations are examined: all with the last
    /// sort key are.
    pub(crate) fn reached(&self) -> Option<ConversationPlace> {
        let beyond = i64::from(self.filter.ascending);
        self.horizon.map(|key| (Timestamp(key.0 + beyond), AttemptId::FIRST))
    }

    /// Returns the column with the sort key.
    fn key(&self) -> &'static str {
        match self.filter.sort {
            ConversationSort::StartTime => "started_at",
            ConversationSort::Duration => "duration_s",
            ConversationSort::Cost => "cost_nanos",
        }
    }

    fn order(&self) -> String {
        let (key, direction) = (self.key(), if self.filter.ascending { "ASC" } else { "DESC" });
        format!("ORDER BY k.{key} {direction}, k.id {direction}")
    }

    /// Returns the minimum duration, if it excludes any conversation.
    fn seconds(&self) -> Option<i64> {
        self.filter.min_duration.filter(|seconds| *seconds > 0)
    }

    /// Returns the small indexes that the filter allows. A search is always read from the words: to look up each
    /// call of another index in FTS5 would run the whole search once for each.
    pub(crate) fn narrow(&self) -> impl Iterator<Item = Narrow> + use<> {
        let searches = self.filter.search.is_some();
        let words = searches.then_some(Narrow::Words);
        let number = (!searches && self.filter.number.is_some()).then_some(Narrow::Number);
        let long = (!searches && self.seconds().is_some()).then_some(Narrow::Long);
        [words, number, long].into_iter().flatten()
    }

    /// Returns whether matches may be rare among the newest conversations.
    fn is_examined(&self) -> bool {
        let filter = &self.filter;
        let checked = filter.direction.is_some() || filter.outcome.is_some() || filter.sentiment.is_some();
        let checked = checked
            || filter.agents.is_some()
            || filter.has_issue.is_some()
            || filter.number.is_some()
            || filter.search.is_some()
            // The small index of durations is the account's.
            || (self.seconds().is_some() && !self.is_of_account());
        checked && self.few.is_none()
    }

    /// Builds the FROM clause for the conversations `l` of a small index.
    fn of(&self, narrow: Narrow, keys: &mut Keys) -> String {
        match narrow {
            Narrow::Words => self.words.found(&self.query_place(keys)),
            Narrow::Number => {
                let spellings = keys.spellings(self.filter.number.as_ref());
                format!("FROM attempts l WHERE l.account = $1 AND l.phone_number IN ({spellings})")
            }
            // The last condition makes the query use their own small index.
            Narrow::Long => format!(
                "FROM attempts l WHERE l.account = $1 AND l.duration_s >= {} AND l.duration_s > 0",
                keys.place(self.seconds().unwrap_or_default())
            ),
        }
    }

    fn query_place(&self, keys: &mut Keys) -> String {
        let query = self.filter.search.as_ref();
        let query = query.map(|query| self.words.query(self.account, &self.filter, query));
        keys.place(query.unwrap_or_default())
    }

    fn keys(&self) -> Keys {
        let mut keys = Keys::default();
        // Its placeholder is `$1`.
        keys.place(self.account.to_string());
        keys
    }

    /// Builds the query for the flag `few` of a small index.
    pub(crate) fn few<'q>(&self, narrow: Narrow) -> AnyQuery<'q> {
        let mut keys = self.keys();
        let most = self.limits.few;
        let sql = format!(
            "SELECT CAST(CASE WHEN COUNT(*) > {most} THEN 0 ELSE 1 END AS BIGINT) AS few \
             FROM (SELECT l.id {} LIMIT {most} + 1) AS few_ones",
            self.of(narrow, &mut keys)
        );
        bind_all(composed(sql), keys.values)
    }

    /// Builds the query for the `place` of the last conversation that is examined, if that number is limited.
    pub(crate) fn horizon<'q>(&self) -> Option<AnyQuery<'q>> {
        if !self.is_examined() {
            return None;
        }
        let mut keys = self.keys();
        let examined = self.limits.examined;
        let text = match self.reads_words() {
            true => format!("{} LIMIT {examined}", self.spoken(&mut keys)),
            false => {
                let conditions = self.indexed(&mut keys);
                self.first(&conditions).replace(LIMIT, &examined.to_string())
            }
        };
        let sql = format!(
            "SELECT k.{} AS place FROM ({text}) AS k {} LIMIT 1 OFFSET {}",
            self.key(),
            self.order(),
            examined - 1
        );
        Some(bind_all(composed(sql), keys.values))
    }

    /// Builds the page's query; `select` names columns of the attempt `a`, its agent `g` and its callee.
    pub(crate) fn query<'q>(&self, select: &str) -> AnyQuery<'q> {
        let (joins, order) = (callee::JOINS, self.order());
        // SQLite reads the sides of a cross join in order; with another join it may scan the whole account.
        self.read(|matches, limit| {
            format!(
                "{select} FROM ({matches}) AS k CROSS JOIN attempts a JOIN agents g ON g.id = a.agent {joins} \
                 WHERE a.id = k.id AND a.account = $1 {order} LIMIT {limit}"
            )
        })
    }

    /// Builds the query for the number `found` of the page's conversations, which may exceed its limit.
    pub(crate) fn count<'q>(&self) -> AnyQuery<'q> {
        self.read(|matches, _| {
            format!(
                "SELECT COUNT(*) AS found FROM ({matches}) AS k CROSS JOIN attempts a \
                 WHERE a.id = k.id AND a.account = $1"
            )
        })
    }

    /// Builds a query from the one for the matches, and the placeholder of the limit.
    fn read<'q>(&self, sql: impl FnOnce(&str, &str) -> String) -> AnyQuery<'q> {
        let mut keys = self.keys();
        let text = match self.few {
            Some(narrow) => {
                let few = self.of(narrow, &mut keys);
                self.among(&format!("SELECT l.id {few} LIMIT {}", self.limits.few), &mut keys)
            }
            None if self.reads_words() => {
                let spoken = self.spoken(&mut keys);
                self.among(&spoken, &mut keys)
            }
            None => {
                let mut conditions = self.indexed(&mut keys);
                conditions.extend(self.checked(&mut keys));
                self.first(&conditions)
            }
        };
        let limit = keys.place(self.limit);
        let matches = text.replace(LIMIT, &limit);
        bind_all(composed(sql(&matches, &limit)), keys.values)
    }

    /// Selects those of a few conversations that match.
    fn among(&self, few: &str, keys: &mut Keys) -> String {
        let mut conditions = self.indexed(keys);
        conditions.extend(self.checked(keys));
        let fit = joined(&conditions);
        // SQLite would otherwise begin with the account's conversations.
        format!(
            "SELECT k.id, k.{} FROM ({few}) AS few_ones CROSS JOIN attempts k{fit} AND k.id = few_ones.id {} LIMIT {LIMIT}",
            self.key(),
            self.order()
        )
    }

    /// Returns whether matches are read from the full-text index in the order of their starts.
    fn reads_words(&self) -> bool {
        self.filter.search.is_some() && self.words == WordIndex::Fts5
    }

    /// Selects the matches of the full-text index, newest first.
    fn spoken(&self, keys: &mut Keys) -> String {
        let mut text = format!(
            "SELECT l.id, l.started_at {}",
            self.words.found(&self.query_place(keys))
        );
        let (filter, place) = (&self.filter, |at: i64| at.saturating_mul(PLACES));
        let before = filter.started_before.map(|before| before.0);
        let cursor = filter.after.map(|(started_at, _)| started_at.0.saturating_add(1));
        if let Some(end) = before.into_iter().chain(cursor).min() {
            text += &format!(" AND w.rowid < {}", keys.place(place(end)));
        }
        let after = filter.started_after.map(|after| after.0.saturating_add(1));
        if let Some(begin) = self.horizon.map(|horizon| horizon.0).or(after) {
            text += &format!(" AND w.rowid >= {}", keys.place(place(begin)));
        }
        text + " ORDER BY w.rowid DESC"
    }

    /// Selects the first that match. An index of an agent or a campaign is ordered by status first, then by start.
    fn first(&self, conditions: &[String]) -> String {
        let select = |status: Option<ConversationStatus>| {
            let status = status.map(|status| format!("k.status = '{}'", status.as_str()));
            let all: Vec<String> = status.into_iter().chain(conditions.iter().cloned()).collect();
            format!(
                "SELECT k.id, k.{} FROM attempts k{} {} LIMIT {LIMIT}",
                self.key(),
                joined(&all),
                self.order()
            )
        };
        let by_start = self.filter.sort == ConversationSort::StartTime;
        if !by_start || self.is_of_account() || self.filter.status.is_some() {
            return select(None);
        }
        let each = ConversationStatus::ALL.map(|status| {
            let name = status.as_str();
            format!("SELECT * FROM ({}) AS {name}_ones", select(Some(status)))
        });
        each.join(" UNION ALL ")
    }

    fn is_of_account(&self) -> bool {
        self.filter.agent.is_none() && self.filter.campaign.is_none()
    }

    /// Builds the conditions for which an index is ordered.
    fn indexed(&self, keys: &mut Keys) -> Vec<String> {
        let filter = &self.filter;
        let equal = [
            ("agent", filter.agent.map(|id| id.to_string())),
            ("campaign", filter.campaign.map(|id| id.to_string())),
            ("status", filter.status.map(|status| status.as_str().to_owned())),
        ];
        let wanted = equal.into_iter().filter_map(|(column, value)| Some((column, value?)));
        let mut conditions: Vec<String> = wanted
            .map(|(column, value)| format!("k.{column} = {}", keys.place(value)))
            .collect();
        // The owner of an agent or a campaign owns its conversations, so their index is enough.
        if self.is_of_account() {
            conditions.push("k.account = $1".to_owned());
        }
        conditions.extend(self.bounds(keys));
        conditions
    }

    /// Builds the conditions on the start time and the sort key. An index can stop at one bound only: the cursor's,
    /// unless the filter's is behind it.
    fn bounds(&self, keys: &mut Keys) -> Vec<String> {
        let (filter, key) = (&self.filter, self.key());
        let by_start = filter.sort == ConversationSort::StartTime;
        let mut conditions = Vec::new();
        if !by_start {
            // Each key has a small index of its own.
            conditions.push(format!("k.{key} > 0"));
        }
        let (onward, back) = if filter.ascending { (">", "<") } else { ("<", ">") };
        // Bounds in the direction of the list.
        let (first, last) = match filter.ascending {
            true => (filter.started_after, filter.started_before),
            false => (filter.started_before, filter.started_after),
        };
        let is_past = |first| {
            let cursor = filter.after.filter(|_| by_start);
            cursor.is_some_and(|(cursor, _)| (cursor < first) != filter.ascending)
        };
        if let Some(first) = first.filter(|first| !is_past(*first)) {
            conditions.push(format!("k.started_at {onward} {}", keys.place(first.0)));
        }
        // The horizon is not beyond the last start.
        if let Some(last) = last.filter(|_| !by_start || self.horizon.is_none()) {
            conditions.push(format!("k.started_at {back} {}", keys.place(last.0)));
        }
        if let Some(horizon) = self.horizon {
            conditions.push(format!("k.{key} {back}= {}", keys.place(horizon.0)));
        }
        if let Some((at, id)) = filter.after {
            let (at, id) = (keys.place(at.0), keys.place(id.to_string()));
            conditions.push(format!("(k.{key}, k.id) {onward} ({at}, {id})"));
        }
        conditions
    }

    /// Builds the conditions that are checked on each row.
    fn checked(&self, keys: &mut Keys) -> Vec<String> {
        let filter = &self.filter;
        let mut conditions = vec!["k.deleted_at IS NULL".to_owned()];
        if filter.number.is_some() {
            // Written so that the index of the number, which has another order, is not used.
            let spellings = keys.spellings(filter.number.as_ref());
            conditions.push(format!("COALESCE(k.phone_number, '') IN ({spellings})"));
        }
        if let Some(agents) = &filter.agents {
            let agents: Vec<String> = agents.iter().map(|id| keys.place(id.to_string())).collect();
            // Written so that the index of the agent is not used, which has another order.
            conditions.push(format!("COALESCE(k.agent, '') IN ({})", agents.join(",")));
        }
        conditions.extend(filter.direction.map(|direction| match direction {
            CallDirection::Inbound => "k.kind = 'inbound'".to_owned(),
            CallDirection::Outbound => "k.kind <> 'inbound'".to_owned(),
        }));
        conditions.extend(filter.outcome.map(|outcome| match outcome.sign() {
            OutcomeSign::Status(status) => format!("k.status = '{}'", status.as_str()),
            OutcomeSign::Machine => "k.voicemail = 1 AND k.ended_at IS NOT NULL".to_owned(),
            OutcomeSign::Error(word) => {
                format!("k.ended_at IS NOT NULL AND (k.error = '{word}' OR k.error LIKE '{word}:%')")
            }
        }));
        conditions.extend(
            filter
                .sentiment
                .map(|label| format!("k.sentiment = '{}'", label.as_str())),
        );
        conditions.extend(filter.has_issue.map(|has| format!("k.has_issue = {}", i64::from(has))));
        let seconds = self.seconds().filter(|_| self.few != Some(Narrow::Long));
        conditions.extend(seconds.map(|seconds| format!("k.duration_s >= {}", keys.place(seconds))));
        if filter.search.is_some() && self.few.is_none() && !self.reads_words() {
            let query = self.query_place(keys);
            conditions.push(format!(
                "EXISTS (SELECT 1 FROM transcripts t WHERE t.id = k.id AND t.words @@ CAST({query} AS tsquery))"
            ));
        }
        conditions
    }
}

/// Placeholder for the limit, which is bound last.
const LIMIT: &str = "@limit";

fn joined(conditions: &[String]) -> String {
    if conditions.is_empty() {
        return String::new();
    }
    format!(" WHERE {}", conditions.join(" AND "))
}

/// The values of a query, in the order of their placeholders.
#[derive(Default)]
struct Keys {
    values: Vec<Bound>,
}

impl Keys {
    fn place(&mut self, value: impl Into<Bound>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn spellings(&mut self, number: Option<&PhoneNumber>) -> String {
        let spellings = number.map(PhoneNumber::spellings).unwrap_or_default();
        let places: Vec<String> = spellings.into_iter().map(|spelling| self.place(spelling)).collect();
        places.join(",")
    }
}

#[cfg(test)]
mod tests {
    use domain::{id::AgentId, transcript_search::Query};
    use sqlx::Execute;

    use super::*;

    #[test]
    fn a_search_runs_once_for_a_page_whatever_else_is_asked_for() {
        let filter = ConversationFilter {
            search: Some(Query::parse("hel*").unwrap()),
            number: Some(PhoneNumber::parse("+15550000001").unwrap()),
            min_duration: Some(1),
            ..ConversationFilter::default()
        };
        let pages = || {
            Pages::new(
                AccountId::new(),
                filter.clone(),
                9,
                WordIndex::Fts5,
                PageLimits::default(),
            )
        };
        assert_eq!(pages().narrow().collect::<Vec<_>>(), [Narrow::Words]);
        for few in [None, Some(Narrow::Words)] {
            let pages = pages().with_few(few);
            assert_eq!(pages.horizon().is_some(), few.is_none());
            let page = pages.query("SELECT a.id").sql();
            let page = page.as_str();
            assert_eq!(page.matches("MATCH").count(), 1, "{page}");
            assert!(!page.contains("EXISTS"), "{page}");
        }
    }

    #[test]
    fn a_page_of_long_calls_of_an_agent_examines_a_limited_number() {
        let long = ConversationFilter {
            min_duration: Some(1),
            ..ConversationFilter::default()
        };
        let of_agent = ConversationFilter {
            agent: Some(AgentId::new()),
            ..long.clone()
        };
        for (filter, bounded) in [(long, false), (of_agent, true)] {
            let pages = Pages::new(AccountId::new(), filter, 9, WordIndex::Gin, PageLimits::default());
            assert_eq!(pages.horizon().is_some(), bounded);
        }
    }
}
