//! Results of a run as a table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use comfy_table::{Table, presets::ASCII_MARKDOWN};

use crate::{
    evidence::{Evidence, Held},
    journal::{Entry, Event},
    rules::{self, Finding, Rule},
    schedule::Kind,
};

/// Most breaches of one rule that are shown.
const SHOWN: usize = 5;

const RULES: [Rule; 11] = [
    Rule::DialedTwice,
    Rule::DialedBeforeVerdict,
    Rule::ContactLost,
    Rule::AttemptUnknown,
    Rule::LeftOpen,
    Rule::CallLeftUp,
    Rule::WebhookMissing,
    Rule::WebhookIds,
    Rule::DialedInPause,
    Rule::Counters,
    Rule::CampaignOpen,
];

/// A killed node and the attempts that it held.
#[derive(Debug)]
pub struct Takeover {
    pub at: i64,
    pub held: Held,
}

/// Times in milliseconds.
#[derive(Debug, Default)]
struct Times(Vec<i64>);

impl Times {
    fn percentile(&self, part: f64) -> String {
        let last = self.0.len().saturating_sub(1);
        let at = (last as f64 * part).ceil() as usize;
        match self.0.get(at) {
            Some(ms) => format!("{:.1} s", *ms as f64 / 1e3),
            None => "-".to_owned(),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (half, most) = (self.percentile(0.5), self.percentile(0.99));
        write!(
            f,
            "{} of them, p50 {half}, p99 {most}, max {}",
            self.0.len(),
            self.percentile(1.0)
        )
    }
}

/// Longest silence of a call of a killed node.
const SPEAKS_WITHIN: i64 = 5_000_000;

/// Number of times the service takes over a call.
const TAKEN_OVER: usize = 2;

/// Calls that talked when their node was killed.
#[derive(Debug, Default)]
struct Talked {
    /// Calls whose callee stayed long enough to hear whether they continue.
    calls: usize,
    /// Calls that continued within five seconds.
    soon: usize,
    /// Number of times each call's node was killed so far.
    kills: BTreeMap<String, usize>,
    /// Calls that were not taken over once more, because they may have crashed their nodes.
    spared: usize,
    /// From the kill to the agent's first sound.
    again_after: Times,
    /// From the kill to the end of calls that never spoke again.
    silent_until_over: Times,
}

impl Talked {
    /// Adds the result of one call of a node that was killed at `at`.
    fn add(&mut self, log: &[Entry], attempt: &str, at: i64) {
        let of_it = |entry: &&Entry| entry.event.attempt() == attempt;
        let mut before = log.iter().take_while(|entry| entry.at <= at).filter(of_it);
        let after = || log.iter().filter(of_it).filter(|entry| entry.at > at);
        if !before.any(|entry| matches!(entry.event, Event::Spoke { .. })) {
            return;
        }
        let spoke = after().find(|entry| matches!(entry.event, Event::Spoke { .. }));
        let mut ends = after().filter_map(|entry| match entry.event {
            Event::Over { by_callee, .. } => Some((entry.at, by_callee)),
            _ => None,
        });
        let (Some((over, by_callee)), spoke) = (ends.next(), spoke.map(|spoke| spoke.at - at)) else {
            return;
        };
        if spoke.is_none() && by_callee && over - at < SPEAKS_WITHIN {
            return;
        }
        let kills = self.kills.entry(attempt.to_owned()).or_default();
        *kills += 1;
        if spoke.is_none() && *kills > TAKEN_OVER {
            self.spared += 1;
            return;
        }
        self.calls += 1;
        match spoke {
            Some(silent) => {
                self.soon += usize::from(silent <= SPEAKS_WITHIN);
                self.again_after.0.push(silent / 1_000);
            }
            None => self.silent_until_over.0.push((over - at) / 1_000),
        }
    }
}

/// Results at the end.
#[derive(Debug, Default)]
pub struct Outcome {
    command: String,
    pub kinds: BTreeMap<Kind, usize>,
    pub takeovers: Vec<Takeover>,
    pub ended_by_themselves: usize,
    pub doubles_told: BTreeSet<String>,
    pub seconds: u64,
    findings: Vec<Finding>,
    campaigns: usize,
    pauses: usize,
    contacts: usize,
    dials: usize,
    errors: BTreeMap<String, usize>,
    /// From a kill to the dial of the contacts that the dead node had claimed.
    dialed_after: Times,
    /// From a kill to the verdict on the calls that the dead node had.
    settled_after: Times,
    talked: Talked,
}

impl Outcome {
    /// Creates the results of a run with this command.
    pub fn of(command: String) -> Self {
        Self {
            command,
            ..Self::default()
        }
    }

    /// Judges the evidence.
    pub fn conclude(&mut self, evidence: &Evidence) {
        self.findings = rules::breaches(evidence);
        self.campaigns = evidence.campaigns.len();
        self.pauses = evidence
            .campaigns
            .iter()
            .map(|(campaign, _)| campaign.pauses.len())
            .sum();
        self.contacts = evidence
            .campaigns
            .iter()
            .map(|(campaign, _)| campaign.numbers.len())
            .sum();
        self.dials = rules::dials(&evidence.log).count();
        for attempt in &evidence.attempts {
            let error = match (&*attempt.state, &*attempt.error) {
                ("final", "") => "none",
                ("final", error) => error,
                (state, _) => state,
            };
            *self.errors.entry(error.to_owned()).or_default() += 1;
        }
        let over = |id: &String| evidence.attempts.iter().find(|attempt| attempt.id == *id)?.ended_at;
        for Takeover { at, held } in &self.takeovers {
            for id in &held.claimed {
                let mut dials = rules::dials(&evidence.log);
                let dialed = dials.find(|dial| dial.attempt == id && dial.at > *at);
                self.dialed_after.0.extend(dialed.map(|dial| (dial.at - at) / 1_000));
            }
            for id in &held.under_way {
                self.talked.add(&evidence.log, id, *at);
            }
            let over = held.under_way.iter().filter_map(over);
            self.settled_after
                .0
                .extend(over.filter(|over| over > at).map(|over| (over - at) / 1_000));
        }
        self.dialed_after.0.sort_unstable();
        self.settled_after.0.sort_unstable();
        self.talked.again_after.0.sort_unstable();
        self.talked.silent_until_over.0.sort_unstable();
    }

    /// Returns whether all rules held and there was something to judge.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.dials > 0
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header([&*self.command, ""]);
        let mut row = |name: String, value: String| {
            table.add_row([name, value]);
        };
        row("seconds".to_owned(), self.seconds.to_string());
        row("faults".to_owned(), self.kinds.values().sum::<usize>().to_string());
        for (kind, count) in &self.kinds {
            row(format!("  {kind}"), count.to_string());
        }
        row(
            "nodes that ended by themselves".to_owned(),
            self.ended_by_themselves.to_string(),
        );
        row("campaigns".to_owned(), self.campaigns.to_string());
        row("pauses and stops".to_owned(), self.pauses.to_string());
        row("contacts".to_owned(), self.contacts.to_string());
        row("dial requests".to_owned(), self.dials.to_string());
        for (error, count) in &self.errors {
            row(format!("  attempts, error {error}"), count.to_string());
        }
        row(
            "claims of the killed: until dialed".to_owned(),
            self.dialed_after.to_string(),
        );
        row(
            "calls of the killed: until over".to_owned(),
            self.settled_after.to_string(),
        );
        let Talked {
            calls, soon, spared, ..
        } = self.talked;
        row(
            "calls that talked: again within 5 s".to_owned(),
            format!("{soon} of {calls}"),
        );
        row(
            "calls that talked: silent for".to_owned(),
            self.talked.again_after.to_string(),
        );
        row(
            "calls that never spoke again: until over".to_owned(),
            self.talked.silent_until_over.to_string(),
        );
        row("  ended, as taken over twice before".to_owned(), spared.to_string());
        for rule in RULES {
            let count = self.findings.iter().filter(|finding| finding.rule == rule).count();
            row(rule.to_string(), count.to_string());
        }
        row(
            "verdict".to_owned(),
            if self.is_clean() { "clean" } else { "BROKEN" }.to_owned(),
        );
        writeln!(f, "\n{table}")?;
        for rule in RULES {
            let broken: Vec<_> = self.findings.iter().filter(|finding| finding.rule == rule).collect();
            for finding in broken.iter().take(SHOWN) {
                writeln!(f, "{rule}: {}", finding.what)?;
            }
            if broken.len() > SHOWN {
                writeln!(f, "{rule}: and {} more", broken.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}
