//! What a run came to, as a table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use comfy_table::{Table, presets::ASCII_MARKDOWN};

use crate::{
    evidence::Evidence,
    rules::{self, Finding, Rule},
    schedule::Kind,
};

/// Breaches of one rule that are shown.
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

/// A node was killed and left these claims.
#[derive(Debug)]
pub struct Takeover {
    pub at: i64,
    pub attempts: Vec<String>,
}

/// What is known at the end.
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
    contacts: usize,
    dials: usize,
    errors: BTreeMap<String, usize>,
    /// Milliseconds from a kill to the dial of what the dead had claimed.
    taken_after: Vec<i64>,
}

impl Outcome {
    /// Of a run by this command.
    pub fn of(command: String) -> Self {
        Self {
            command,
            ..Self::default()
        }
    }

    /// Judges.
    pub fn conclude(&mut self, evidence: &Evidence) {
        self.findings = rules::breaches(evidence);
        self.campaigns = evidence.campaigns.len();
        self.contacts = evidence.campaigns.iter().map(|(campaign, _)| campaign.numbers.len()).sum();
        self.dials = rules::dials(&evidence.log).count();
        for attempt in &evidence.attempts {
            let error = match (&*attempt.state, &*attempt.error) {
                ("final", "") => "none",
                ("final", error) => error,
                (state, _) => state,
            };
            *self.errors.entry(error.to_owned()).or_default() += 1;
        }
        for takeover in &self.takeovers {
            for attempt in &takeover.attempts {
                let mut dials = rules::dials(&evidence.log);
                let dialed = dials.find(|dial| dial.attempt == attempt && dial.at > takeover.at);
                self.taken_after.extend(dialed.map(|dial| (dial.at - takeover.at) / 1_000));
            }
        }
        self.taken_after.sort_unstable();
    }

    /// Whether all held, and there was something to judge.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.dials > 0
    }

    fn percentile(&self, part: f64) -> String {
        let last = self.taken_after.len().saturating_sub(1);
        let at = (last as f64 * part).ceil() as usize;
        match self.taken_after.get(at) {
            Some(ms) => format!("{:.1} s of {}", *ms as f64 / 1e3, self.taken_after.len()),
            None => "none was claimed".to_owned(),
        }
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
        row("nodes that ended by themselves".to_owned(), self.ended_by_themselves.to_string());
        row("campaigns".to_owned(), self.campaigns.to_string());
        row("contacts".to_owned(), self.contacts.to_string());
        row("dial requests".to_owned(), self.dials.to_string());
        for (error, count) in &self.errors {
            row(format!("  attempts, error {error}"), count.to_string());
        }
        row("from a kill to the dial of its claims, p50".to_owned(), self.percentile(0.5));
        row("from a kill to the dial of its claims, p99".to_owned(), self.percentile(0.99));
        for rule in RULES {
            let count = self.findings.iter().filter(|finding| finding.rule == rule).count();
            row(rule.to_string(), count.to_string());
        }
        row("verdict".to_owned(), if self.is_clean() { "clean" } else { "BROKEN" }.to_owned());
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
