//! Rules that must hold whatever broke. Pure.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

use crate::{
    evidence::{Attempt, Evidence, Told},
    journal::{Entry, Event, Outcome},
};

/// Time within which a pause must take effect, in microseconds.
const PAUSE_HOLDS_WITHIN: i64 = 5_000_000;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// An attempt is requested once, unless the carrier explicitly refused it.
    DialedTwice,
    /// The next attempt on a contact waits for the verdict on the last one.
    DialedBeforeVerdict,
    /// No contact is forgotten.
    ContactLost,
    /// Every dialed attempt is in the store.
    AttemptUnknown,
    /// Nothing stays half done.
    LeftOpen,
    /// No call is left up.
    CallLeftUp,
    /// Each call is reported by a webhook.
    WebhookMissing,
    /// … with one event id.
    WebhookIds,
    /// A pause takes effect.
    DialedInPause,
    /// Counters agree with rows.
    Counters,
    /// Every campaign ends.
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

/// A dial in the log.
pub struct Dial<'a> {
    pub at: i64,
    pub attempt: &'a str,
    pub to: &'a str,
    pub node: &'a str,
    pub outcome: Outcome,
}

/// Returns the dials of a log.
pub fn dials(log: &[Entry]) -> impl Iterator<Item = Dial<'_>> {
    log.iter().filter_map(|entry| match &entry.event {
        Event::Dial {
            attempt,
            to,
            node,
            outcome,
            ..
        } => Some(Dial {
            at: entry.at,
            attempt,
            to,
            node,
            outcome: *outcome,
        }),
        _ => None,
    })
}

/// Returns the attempts that were requested again although the first request may have rung.
pub fn doubles(log: &[Entry]) -> Vec<Finding> {
    let mut by_attempt: BTreeMap<&str, Vec<Dial<'_>>> = BTreeMap::new();
    for dial in dials(log) {
        by_attempt.entry(dial.attempt).or_default().push(dial);
    }
    let mut found = Vec::new();
    for (attempt, dials) in by_attempt {
        let earlier = &dials[..dials.len() - 1];
        if earlier.iter().any(|dial| !dial.outcome.is_certainly_not_dialed()) {
            let all: Vec<_> = dials
                .iter()
                .map(|dial| format!("{} by {} ({:?})", dial.at, dial.node, dial.outcome))
                .collect();
            found.push(Finding {
                rule: Rule::DialedTwice,
                what: format!("{attempt} to {}: {}", dials[0].to, all.join(", ")),
            });
        }
    }
    found
}

/// Returns the webhooks by attempt: their ids, and whether one was accepted.
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

/// Counts the attempts that were reported by an accepted webhook, except those in `before`: an earlier life
/// may have left one to be sent again.
pub fn told(before: &[Entry], log: &[Entry]) -> usize {
    let known: BTreeSet<&str> = before.iter().map(|entry| entry.event.attempt()).collect();
    let new = webhooks(log)
        .into_iter()
        .filter(|(attempt, _)| !known.contains(attempt));
    new.filter(|(_, (_, taken))| *taken).count()
}

/// Returns the finished attempts without an accepted webhook.
pub fn untold<'a>(log: &[Entry], attempts: &'a [Attempt]) -> Vec<&'a Attempt> {
    let told = webhooks(log);
    let is_told = |attempt: &Attempt| told.get(&*attempt.id).is_some_and(|(_, taken)| *taken);
    let over = attempts.iter().filter(|attempt| attempt.state == "final");
    over.filter(|attempt| !is_told(attempt)).collect()
}

/// Returns whether nothing was logged in the last `us` microseconds.
pub fn is_quiet(log: &[Entry], now: i64, us: i64) -> bool {
    log.last().is_none_or(|entry| now - entry.at > us)
}

/// Returns all breaches.
pub fn breaches(evidence: &Evidence) -> Vec<Finding> {
    let mut found = doubles(&evidence.log);
    let mut add = |rule, what: String| found.push(Finding { rule, what });
    let known: HashMap<&str, &Attempt> = evidence.attempts.iter().map(|a| (&*a.id, a)).collect();
    // An attempt that the carrier refused may be forgotten: its contact gets another one.
    let counts = |dial: &Dial<'_>| !known.contains_key(dial.attempt) && !dial.outcome.is_certainly_not_dialed();
    for dial in dials(&evidence.log).filter(counts) {
        add(Rule::AttemptUnknown, format!("{} to {}", dial.attempt, dial.to));
    }
    for attempt in evidence
        .attempts
        .iter()
        .filter(|a| !matches!(&*a.state, "final" | "queued"))
    {
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
                .filter(|dial| campaign.numbers.iter().any(|number| number == dial.to))
                .filter(|dial| !stood_still(evidence, dial, *from));
            for dial in late {
                let seconds = (dial.at - from) as f64 / 1e6;
                add(
                    Rule::DialedInPause,
                    format!("{} to {}: {seconds:.1} s", dial.attempt, dial.to),
                );
            }
        }
    }
    found
}

/// Returns whether a dial that was permitted before a pause had been sent in time, and then stalled with its link.
fn stood_still(evidence: &Evidence, dial: &Dial<'_>, pause: i64) -> bool {
    /// Time until a stalled request has been read.
    const READ_WITHIN: i64 = 1_000_000;
    let attempt = evidence.attempts.iter().find(|attempt| attempt.id == dial.attempt);
    let permitted = attempt.and_then(|attempt| attempt.dialing_at);
    let mut held = evidence.standstills.iter();
    permitted.is_some_and(|at| at <= pause)
        && held.any(|(from, until)| {
            *from < pause + PAUSE_HOLDS_WITHIN && *from < dial.at && dial.at <= until.saturating_add(READ_WITHIN)
        })
}

/// Finds dials of a contact before its last attempt was over.
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

/// Compares the contacts of a campaign with its rows and counters.
fn contacts(numbers: &[String], told: &Told, rows: &[&Attempt]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |rule, what: String| found.push(Finding { rule, what });
    // If the last calls ended while it was paused, nobody is left to dial, and it stays paused.
    let is_over = match &*told.status {
        "completed" | "failed" | "stopped" => true,
        "paused" => told
            .contacts
            .iter()
            .all(|(_, status)| status != "pending" && status != "in_progress"),
        _ => false,
    };
    if !is_over {
        add(Rule::CampaignOpen, format!("it is {}", told.status));
    }
    let listed: HashMap<&str, &str> = told.contacts.iter().map(|(n, s)| (&**n, &**s)).collect();
    if told.contacts.len() != numbers.len() {
        let what = format!("{} of {} contacts are listed", told.contacts.len(), numbers.len());
        add(Rule::ContactLost, what);
    }
    for number in numbers {
        let last = rows
            .iter()
            .filter(|row| row.number == *number)
            .max_by_key(|row| row.attempt_no);
        match (listed.get(&**number), last) {
            (None, _) => add(Rule::ContactLost, format!("{number} is not listed")),
            (Some(&"completed" | &"failed" | &"cancelled"), Some(last)) if last.state == "final" => {}
            (Some(&"cancelled" | &"pending"), None) if told.status == "stopped" => {}
            (Some(status), last) => {
                let last = last.map_or("no attempt", |last| &last.state);
                add(
                    Rule::ContactLost,
                    format!("{number} is {status}, its last attempt: {last}"),
                );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaigns::Campaign;

    const NUMBERS: [&str; 2] = ["+15550000001", "+15550000002"];

    fn dial(at: i64, attempt: &str, to: &str, outcome: Outcome) -> Entry {
        let event = Event::Dial {
            attempt: attempt.to_owned(),
            to: to.to_owned(),
            call: format!("CA{at}"),
            node: "127.0.0.1:1".to_owned(),
            outcome,
        };
        Entry { at, event }
    }

    fn webhook(id: &str, attempt: &str, answer: u16) -> Entry {
        let event = Event::Webhook {
            id: id.to_owned(),
            attempt: attempt.to_owned(),
            answer,
        };
        Entry { at: 50, event }
    }

    fn attempt(id: &str, no: i64, number: &str) -> Attempt {
        Attempt {
            id: id.to_owned(),
            campaign: "c".to_owned(),
            attempt_no: no,
            number: number.to_owned(),
            state: "final".to_owned(),
            error: String::new(),
            dialing_at: None,
            ended_at: Some(20),
        }
    }

    /// Returns the evidence of two contacts, each called once.
    fn good() -> Evidence {
        let campaign = Campaign {
            id: "c".to_owned(),
            numbers: NUMBERS.map(str::to_owned).into(),
            pauses: Vec::new(),
            dials: false,
            over: true,
        };
        let contacts: Vec<_> = NUMBERS
            .iter()
            .map(|n| ((*n).to_owned(), "completed".to_owned()))
            .collect();
        let progress = [("completed", 2), ("pending", 0), ("inProgress", 0)];
        let told = Told {
            status: "completed".to_owned(),
            progress: progress.map(|(name, count)| (name.to_owned(), count)).into(),
            contacts,
        };
        Evidence {
            log: vec![
                dial(10, "a", NUMBERS[0], Outcome::Placed),
                dial(11, "b", NUMBERS[1], Outcome::AnswerLost),
                webhook("w1", "a", 500),
                webhook("w1", "a", 200),
                webhook("w2", "b", 200),
            ],
            campaigns: vec![(campaign, told)],
            attempts: vec![attempt("a", 1, NUMBERS[0]), attempt("b", 1, NUMBERS[1])],
            live: Vec::new(),
            standstills: Vec::new(),
        }
    }

    /// Returns the rules that are broken after `spoil` has changed good evidence.
    fn broken(spoil: impl FnOnce(&mut Evidence)) -> Vec<Rule> {
        let mut evidence = good();
        spoil(&mut evidence);
        breaches(&evidence).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_good_run_breaks_nothing() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn each_rule_is_seen_to_be_broken() {
        let again = |e: &mut Evidence| e.log.push(dial(30, "a", NUMBERS[0], Outcome::Placed));
        assert_eq!(broken(again), [Rule::DialedTwice]);
        let unknown = |e: &mut Evidence| e.log.push(dial(30, "z", NUMBERS[0], Outcome::Placed));
        assert_eq!(broken(unknown), [Rule::AttemptUnknown]);
        let open = |e: &mut Evidence| e.attempts[0].state = "dialing".to_owned();
        assert_eq!(broken(open), [Rule::LeftOpen, Rule::ContactLost]);
        assert_eq!(broken(|e| e.live.push("a".to_owned())), [Rule::CallLeftUp]);
        assert_eq!(broken(|e| drop(e.log.remove(3))), [Rule::WebhookMissing]);
        let ids = |e: &mut Evidence| e.log.push(webhook("w3", "b", 200));
        assert_eq!(broken(ids), [Rule::WebhookIds]);
        let counters = |e: &mut Evidence| e.campaigns[0].1.progress[1].1 = 1;
        assert_eq!(broken(counters), [Rule::Counters]);
        let running = |e: &mut Evidence| e.campaigns[0].1.status = "running".to_owned();
        assert_eq!(broken(running), [Rule::CampaignOpen]);
        let paused = |e: &mut Evidence| {
            e.campaigns[0].1.status = "paused".to_owned();
            e.campaigns[0].1.contacts[1].1 = "pending".to_owned();
            e.campaigns[0].1.progress = vec![("completed".to_owned(), 1), ("pending".to_owned(), 1)];
        };
        assert_eq!(broken(paused), [Rule::CampaignOpen, Rule::ContactLost]);
        let unlisted = |e: &mut Evidence| {
            e.campaigns[0].1.contacts.pop();
            e.campaigns[0].1.progress[0].1 = 1;
        };
        assert_eq!(broken(unlisted), [Rule::ContactLost, Rule::ContactLost]);
    }

    #[test]
    fn a_paused_campaign_with_nobody_left_is_over() {
        assert_eq!(broken(|e| e.campaigns[0].1.status = "paused".to_owned()), []);
    }

    #[test]
    fn a_pause_has_five_seconds_to_hold() {
        let paused = |at| {
            move |e: &mut Evidence| {
                e.campaigns[0].0.pauses.push((1_000, 9_000_000));
                e.log[0] = dial(at, "a", NUMBERS[0], Outcome::Placed);
            }
        };
        assert_eq!(broken(paused(5_000_999)), []);
        assert_eq!(broken(paused(5_001_000)), [Rule::DialedInPause]);
        assert_eq!(broken(paused(9_000_000)), []);
    }

    #[test]
    fn what_stood_still_on_its_way_had_set_out_before() {
        let late = |permitted, standstill| {
            move |e: &mut Evidence| {
                e.campaigns[0].0.pauses.push((1_000, 9_000_000));
                e.log[0] = dial(6_000_000, "a", NUMBERS[0], Outcome::Placed);
                e.attempts[0].dialing_at = Some(permitted);
                e.standstills.push(standstill);
            }
        };
        assert_eq!(broken(late(900, (900, 5_990_000))), []);
        for (permitted, standstill) in [
            (1_001, (900, 5_990_000)),
            (900, (5_500_000, 5_990_000)),
            (900, (900, 4_000_000)),
        ] {
            assert_eq!(broken(late(permitted, standstill)), [Rule::DialedInPause]);
        }
    }

    #[test]
    fn whom_a_stop_left_out_is_not_lost() {
        let left_out = |campaign: &'static str| {
            move |e: &mut Evidence| {
                let told = &mut e.campaigns[0].1;
                told.status = campaign.to_owned();
                told.contacts[1].1 = "pending".to_owned();
                told.progress[0].1 = 1;
                told.progress[1].1 = 1;
                drop((e.attempts.pop(), e.log.remove(1), e.log.pop()));
            }
        };
        assert_eq!(broken(left_out("stopped")), []);
        assert_eq!(broken(left_out("completed")), [Rule::ContactLost]);
    }

    #[test]
    fn what_was_refused_may_be_asked_for_again() {
        let throttled = |e: &mut Evidence| e.log.insert(0, dial(5, "a", NUMBERS[0], Outcome::Throttled));
        assert_eq!(broken(throttled), []);
        let forgotten = |e: &mut Evidence| e.log.insert(0, dial(5, "z", NUMBERS[0], Outcome::Throttled));
        assert_eq!(broken(forgotten), []);
        let failed = |e: &mut Evidence| e.log.insert(0, dial(5, "a", NUMBERS[0], Outcome::Failed));
        assert_eq!(broken(failed), [Rule::DialedTwice]);
    }

    #[test]
    fn a_retry_waits_for_the_verdict() {
        let retry = |at| {
            move |e: &mut Evidence| {
                e.attempts.push(attempt("a2", 2, NUMBERS[0]));
                e.log.push(dial(at, "a2", NUMBERS[0], Outcome::Placed));
                e.log.push(webhook("w4", "a2", 200));
            }
        };
        assert_eq!(broken(retry(20)), []);
        assert_eq!(broken(retry(19)), [Rule::DialedBeforeVerdict]);
    }
}
