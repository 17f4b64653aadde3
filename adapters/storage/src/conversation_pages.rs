//! The SQL for a page of conversations. It takes the ids in order from an index alone, and reads only the
//! rows of the page itself.

use domain::{
    id::AccountId,
    ports::store::{ConversationFilter, ConversationStatus},
};

use super::rows::{AnyQuery, Bound, bind_all, composed};

/// Limit up to which all long enough conversations are examined; if there are more, the newest are found soon enough.
const FEW: i64 = 3_000;

/// The conversations of account `$1` that lasted `$2` seconds or more. The last condition makes the query use
/// their own small index.
const LONG: &str = "FROM attempts l WHERE l.account = $1 AND l.duration_s >= $2 AND l.duration_s > 0";

const ORDER: &str = "ORDER BY k.started_at DESC, k.id DESC";

/// A requested page.
pub(super) struct Pages {
    account: AccountId,
    filter: ConversationFilter,
    limit: i64,
}

impl Pages {
    pub(super) fn new(account: AccountId, filter: ConversationFilter, limit: i64) -> Self {
        Self {
            account,
            filter,
            limit: limit.max(0),
        }
    }

    /// Returns the minimum duration, if it excludes any conversation.
    fn seconds(&self) -> Option<i64> {
        self.filter.min_duration.filter(|seconds| *seconds > 0)
    }

    /// Builds the query for the flag `few`, if a minimum duration makes it matter.
    pub(super) fn few<'q>(&self) -> Option<AnyQuery<'q>> {
        let seconds = self.seconds()?;
        let sql = format!(
            "SELECT CAST(CASE WHEN COUNT(*) > {FEW} THEN 0 ELSE 1 END AS BIGINT) AS few \
             FROM (SELECT l.id {LONG} LIMIT {FEW} + 1) AS few_ones"
        );
        Some(composed(sql).bind(self.account.to_string()).bind(seconds))
    }

    /// Builds the page's query; `select` names columns of the attempt `a` and its agent `g`.
    pub(super) fn query<'q>(&self, few: bool, select: &str) -> AnyQuery<'q> {
        let mut keys = Keys::default();
        let account = keys.place(self.account.to_string());
        let text = match (few, self.seconds()) {
            (true, Some(seconds)) => self.of_few(&mut keys, seconds),
            (_, seconds) => self.newest(&mut keys, seconds),
        };
        let limit = keys.place(self.limit);
        // SQLite reads the sides of a cross join in order; with another join it may scan the whole account.
        let sql = format!(
            "{select} FROM ({}) AS k CROSS JOIN attempts a JOIN agents g ON g.id = a.agent \
             WHERE a.id = k.id AND a.account = {account} {ORDER} LIMIT {limit}",
            text.replace(LIMIT, &limit)
        );
        bind_all(composed(sql), keys.values)
    }

    /// Selects all of the few long conversations that match.
    fn of_few(&self, keys: &mut Keys, seconds: i64) -> String {
        // Its placeholder is `$2`, because the account came first.
        keys.place(seconds);
        let others = self.others(keys);
        let started = self.started(keys);
        let long = format!("SELECT l.id, l.started_at {LONG} LIMIT {FEW}");
        if others.is_empty() {
            let fit = joined(&[started]);
            return format!("SELECT k.id, k.started_at FROM ({long}) AS k{fit} {ORDER} LIMIT {LIMIT}");
        }
        let fit = joined(&[others, started]);
        format!(
            "SELECT k.id, k.started_at FROM ({long}) AS few_ones JOIN attempts k ON k.id = few_ones.id{fit} \
             {ORDER} LIMIT {LIMIT}"
        )
    }

    /// Selects the newest that match. An index of an agent or a campaign is ordered by status first.
    fn newest(&self, keys: &mut Keys, seconds: Option<i64>) -> String {
        let mut conditions = self.others(keys);
        // The owner of an agent or a campaign owns its conversations, so their index is enough.
        let of_account = self.filter.agent.is_none() && self.filter.campaign.is_none();
        if of_account {
            conditions.push("k.account = $1".to_owned());
        }
        conditions.extend(self.started(keys));
        conditions.extend(seconds.map(|seconds| format!("k.duration_s >= {}", keys.place(seconds))));
        let select = |status: Option<ConversationStatus>| {
            let status = status.map(|status| format!("k.status = '{}'", status.as_str()));
            let fit = joined(&[status.into_iter().collect(), conditions.clone()]);
            format!("SELECT k.id, k.started_at FROM attempts k{fit} {ORDER} LIMIT {LIMIT}")
        };
        if of_account || self.filter.status.is_some() {
            return select(None);
        }
        let each = ConversationStatus::ALL.map(|status| {
            let name = status.as_str();
            format!("SELECT * FROM ({}) AS {name}_ones", select(Some(status)))
        });
        each.join(" UNION ALL ")
    }

    fn others(&self, keys: &mut Keys) -> Vec<String> {
        let equal = [
            ("agent", self.filter.agent.map(|id| id.to_string())),
            ("campaign", self.filter.campaign.map(|id| id.to_string())),
            ("status", self.filter.status.map(|status| status.as_str().to_owned())),
        ];
        let wanted = equal.into_iter().filter_map(|(column, value)| Some((column, value?)));
        wanted
            .map(|(column, value)| format!("k.{column} = {}", keys.place(value)))
            .collect()
    }

    /// Builds the conditions on the start time. An index can stop at one bound only: the cursor's, unless
    /// `started_before` is earlier.
    fn started(&self, keys: &mut Keys) -> Vec<String> {
        let mut conditions = Vec::new();
        let filter = &self.filter;
        if let Some(after) = filter.started_after {
            conditions.push(format!("k.started_at > {}", keys.place(after.0)));
        }
        let cursor = filter.after.map(|(started_at, _)| started_at);
        if let Some(before) = filter.started_before
            && cursor.is_none_or(|cursor| cursor >= before)
        {
            conditions.push(format!("k.started_at < {}", keys.place(before.0)));
        }
        if let Some((started_at, id)) = filter.after {
            let (started_at, id) = (keys.place(started_at.0), keys.place(id.to_string()));
            conditions.push(format!("(k.started_at, k.id) < ({started_at}, {id})"));
        }
        conditions
    }
}

/// Placeholder for the limit, which is bound last.
const LIMIT: &str = "@limit";

fn joined(conditions: &[Vec<String>]) -> String {
    let conditions = conditions.concat();
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
}
