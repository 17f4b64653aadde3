//! What must hold whatever broke. Pure.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use crate::{
    evidence::{Attempt, Evidence, Told},
    journal::{Entry, Event, Fate},
};

/// How soon a pause holds, in microseconds.
const PAUSE_HOLDS_WITHIN: i64 = 5_000_000;

/// What was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// An attempt is asked for once, unless the carrier refused it in so many words.
    DialedTwice,
    /// The next attempt on a contact waits for the verdict on the last one.
    DialedBeforeVerdict,
    /// Nobody is forgotten.
    ContactLost,
    /// What was dialed is known.
    AttemptUnknown,
    /// Nothing stays half done.
    LeftOpen,
    /// Nobody is left on the line.
    CallLeftUp,
    /// Each call is told.
    WebhookMissing,
    /// … as one event.
    WebhookIds,
    /// A pause holds.
    DialedInPause,
    /// Counters agree with rows.
    Counters,
    /// Every campaign comes to an end.
    CampaignOpen,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DialedTwice => "attempts dialed twice",
            Self::DialedBeforeVerdict => "contacts dialed again before the verdict",
            Self::ContactLost => "contacts lost",
            Self::AttemptUnknown => "dialed attempts that the store does not know",
            Self::LeftOpen => "attempts left open",
            Self::CallLeftUp => "calls left up at the carrier",
            Self::WebhookMissing => "finished calls without a webhook",
            Self::WebhookIds => "finished calls with several webhook ids",
            Self::DialedInPause => "dials later than 5 s after a pause",
            Self::Counters => "counters that disagree",
            Self::CampaignOpen => "campaigns that did not end",
        })
    }
}

/// One breach.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: Rule,
    pub what: String,
}

/// A dial of the log.
pub struct Dial<'a> {
    pub at: i64,
    pub attempt: &'a str,
    pub to: &'a str,
    pub node: &'a str,
    pub fate: Fate,
}

/// The dials of a log.
pub fn dials(log: &[Entry]) -> impl Iterator<Item = Dial<'_>> {
    log.iter().filter_map(|entry| match &entry.event {
        Event::Dial {
            attempt,
            to,
            node,
            fate,
            ..
        } => Some(Dial {
            at: entry.at,
            attempt,
            to,
            node,
            fate: *fate,
        }),
        _ => None,
    })
}

/// Attempts that were asked for again though the first request may have rung.
pub fn doubles(log: &[Entry]) -> Vec<Finding> {
    let mut by_attempt: BTreeMap<&str, Vec<Dial<'_>>> = BTreeMap::new();
    for dial in dials(log) {
        by_attempt.entry(dial.attempt).or_default().push(dial);
    }
    let mut found = Vec::new();
    for (attempt, dials) in by_attempt {
        let earlier = &dials[..dials.len() - 1];
        if earlier.iter().any(|dial| !dial.fate.is_certainly_not_dialed()) {
            let all: Vec<_> = dials
                .iter()
                .map(|dial| format!("{} by {} ({:?})", dial.at, dial.node, dial.fate))
                .collect();
            found.push(Finding {
                rule: Rule::DialedTwice,
                what: format!("{attempt} to {}: {}", dials[0].to, all.join(", ")),
            });
        }
    }
    found
}

/// Webhooks by attempt: their ids, and whether one was taken.
fn webhooks(log: &[Entry]) -> HashMap<&str, (BTreeSet<&str>, bool)> {
    let mut all: HashMap<&str, (BTreeSet<&str>, bool)> = HashMap::new();
    for entry in log {
        if let Event::Webhook { id, attempt, answer } = &entry.event {
            let (ids, taken) = all.entry(attempt).or_default();
            ids.insert(id);
            *taken |= (200..300).contains(answer);
        }
    }
    all
}

/// How many attempts were told by a webhook that was taken.
pub fn told(log: &[Entry]) -> usize {
    webhooks(log).values().filter(|(_, taken)| *taken).count()
}

/// Attempts that are over and of which no webhook was taken.
pub fn untold<'a>(log: &[Entry], attempts: &'a [Attempt]) -> Vec<&'a Attempt> {
    let told = webhooks(log);
    let is_told = |attempt: &Attempt| told.get(&*attempt.id).is_some_and(|(_, taken)| *taken);
    let over = attempts.iter().filter(|attempt| attempt.state == "final");
    over.filter(|attempt| !is_told(attempt)).collect()
}

/// Whether nothing was logged in the last `us` microseconds.
pub fn is_quiet(log: &[Entry], now: i64, us: i64) -> bool {
    log.last().is_none_or(|entry| now - entry.at > us)
}

/// Everything that is broken.
pub fn breaches(evidence: &Evidence) -> Vec<Finding> {
    let mut found = doubles(&evidence.log);
    let mut add = |rule, what: String| found.push(Finding { rule, what });
    let known: HashMap<&str, &Attempt> = evidence.attempts.iter().map(|a| (&*a.id, a)).collect();
    for dial in dials(&evidence.log).filter(|dial| !known.contains_key(dial.attempt)) {
        add(Rule::AttemptUnknown, format!("{} to {}", dial.attempt, dial.to));
    }
    for attempt in evidence.attempts.iter().filter(|a| !matches!(&*a.state, "final" | "queued")) {
        add(
            Rule::LeftOpen,
            format!("{} to {} is {}", attempt.id, attempt.number, attempt.state),
        );
    }
    for attempt in &evidence.live {
        let row = known.get(&**attempt);
        let error = row.map_or("unknown", |row| &row.error);
        add(Rule::CallLeftUp, format!("{attempt}: {error}"));
    }
    for attempt in untold(&evidence.log, &evidence.attempts) {
        add(
            Rule::WebhookMissing,
            format!("{} to {}: {}", attempt.id, attempt.number, attempt.error),
        );
    }
    for (attempt, (ids, _)) in webhooks(&evidence.log) {
        if ids.len() > 1 {
            add(Rule::WebhookIds, format!("{attempt}: {ids:?}"));
        }
    }
    early(evidence, &mut add);
    for (campaign, told) in &evidence.campaigns {
        let rows: Vec<_> = evidence.attempts.iter().filter(|a| a.campaign == campaign.id).collect();
        for problem in contacts(&campaign.numbers, told, &rows) {
            add(problem.rule, format!("{}: {}", campaign.id, problem.what));
        }
        for (from, until) in &campaign.pauses {
            let late = dials(&evidence.log)
                .filter(|dial| (from + PAUSE_HOLDS_WITHIN..*until).contains(&dial.at))
                .filter(|dial| campaign.numbers.iter().any(|number| number == dial.to));
            for dial in late {
                let seconds = (dial.at - from) as f64 / 1e6;
                add(Rule::DialedInPause, format!("{} to {}: {seconds:.1} s", dial.attempt, dial.to));
            }
        }
    }
    found
}

/// Dials of a contact before its last attempt was over.
fn early(evidence: &Evidence, add: &mut impl FnMut(Rule, String)) {
    let mut by_contact: BTreeMap<(&str, &str), Vec<&Attempt>> = BTreeMap::new();
    for attempt in &evidence.attempts {
        let contact = (&*attempt.campaign, &*attempt.number);
        by_contact.entry(contact).or_default().push(attempt);
    }
    for attempts in by_contact.values_mut() {
        attempts.sort_by_key(|attempt| attempt.attempt_no);
        for pair in attempts.windows(2) {
            let over = pair[0].ended_at.unwrap_or(i64::MAX);
            let dialed = dials(&evidence.log).find(|dial| dial.attempt == pair[1].id);
            if let Some(dial) = dialed.filter(|dial| dial.at < over) {
                let what = format!("{} dialed at {}, {} over at {over}", dial.attempt, dial.at, pair[0].id);
                add(Rule::DialedBeforeVerdict, what);
            }
        }
    }
}

/// How the contacts of a campaign stand against its rows and counters.
fn contacts(numbers: &[String], told: &Told, rows: &[&Attempt]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |rule, what: String| found.push(Finding { rule, what });
    if !matches!(&*told.status, "completed" | "failed" | "stopped") {
        add(Rule::CampaignOpen, format!("it is {}", told.status));
    }
    let listed: HashMap<&str, &str> = told.contacts.iter().map(|(n, s)| (&**n, &**s)).collect();
    if told.contacts.len() != numbers.len() {
        let what = format!("{} of {} contacts are listed", told.contacts.len(), numbers.len());
        add(Rule::ContactLost, what);
    }
    for number in numbers {
        let last = rows.iter().filter(|row| row.number == *number).max_by_key(|row| row.attempt_no);
        match (listed.get(&**number), last) {
            (None, _) => add(Rule::ContactLost, format!("{number} is not listed")),
            (Some(&"completed" | &"failed" | &"cancelled"), Some(last)) if last.state == "final" => {}
            // Stopped before its turn.
            (Some(&"cancelled"), None) => {}
            (Some(&status), last) => {
                let last = last.map_or("no attempt", |last| &last.state);
                add(Rule::ContactLost, format!("{number} is {status}, its last attempt: {last}"));
            }
        }
    }
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, status) in &told.contacts {
        *counted.entry(status).or_default() += 1;
    }
    for (name, count) in &told.progress {
        let status = match &**name {
            "inProgress" => "in_progress",
            "voicemail" => continue,
            other => other,
        };
        let rows = counted.get(status).copied().unwrap_or(0);
        if rows != *count {
            add(Rule::Counters, format!("{name} says {count}, {rows} contacts are so"));
        }
    }
    found
}
