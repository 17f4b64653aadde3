//! Verdict on commands by the exchange's log: the last dial to the target of a command, compared with the
//! time of its response.

use std::{collections::HashMap, fmt::Write as _};

use domain::time::Timestamp;
use serde_json::{Value, json};

use super::{
    commands::{Campaign, Command, Commander, HOLDS, OPT_OUT, Target},
    dials::{Dial, Dials},
};
use sim::samples::Samples;

/// No dial may come later than this after the response.
const LATEST_MS: f64 = 5_000.0;

/// 99 of 100 commands take effect within this time.
const P99_MS: f64 = 1_000.0;

/// Below this rate the dialer was not at full speed, and the figures say little.
const LEAST_DIALS_PER_SECOND: f64 = 50.0;

/// A command counts only if its campaign had dialed within this time before.
const UNDER_WAY_US: i64 = 1_000_000;

/// One in this many commands may be answered with 503: on a busy machine the dialer may be late.
const UNAVAILABLE_ONE_IN: usize = 20;

/// Results of the commands of one kind.
#[derive(Default)]
struct Figures {
    /// Milliseconds from the response to the last dial, 0 if none came.
    late_ms: Samples,
    /// Milliseconds from the request to the response.
    answer_ms: Samples,
    /// Commands with a dial after their response.
    overrun: usize,
    /// Commands that had nothing to stop: nothing was dialing, or the number was dialed before.
    moot: usize,
}

/// Results of all kinds.
pub struct Report {
    kinds: Vec<(&'static str, Figures)>,
    dials: usize,
    dials_per_second: f64,
    dialed_twice: Vec<String>,
    commands: usize,
    unavailable: usize,
}

impl Report {
    /// Judges the commands. `seconds` counts from the first launch to the last look.
    pub fn new(commander: &Commander<'_>, dials: &Dials, seconds: f64) -> Self {
        let index = Index::new(&commander.campaigns, dials);
        let commands = &commander.commands;
        let kinds = HOLDS.into_iter().chain([OPT_OUT]).map(|kind| {
            let mut figures = Figures::default();
            for command in commands.iter().filter(|command| command.kind == kind) {
                figures.add(command, &index);
            }
            (kind, figures)
        });
        let total = dials.dials.len();
        Self {
            kinds: kinds.collect(),
            dials: total,
            dials_per_second: total as f64 / seconds,
            dialed_twice: dials.twice(),
            commands: commands.len(),
            unavailable: commander.unavailable,
        }
    }

    /// Returns the requirements that were missed.
    pub fn misses(&self) -> Vec<String> {
        let mut misses = Vec::new();
        for (kind, figures) in &self.kinds {
            match (figures.late_ms.percentile(1.0), figures.late_ms.percentile(0.99)) {
                (Some(latest), _) if latest > LATEST_MS => misses.push(format!("{kind}: a dial {latest:.0} ms late")),
                (_, Some(p99)) if p99 > P99_MS => misses.push(format!("{kind}: p99 {p99:.0} ms")),
                (None, _) => misses.push(format!("{kind}: none to judge")),
                _ => {}
            }
        }
        if self.dials_per_second < LEAST_DIALS_PER_SECOND {
            misses.push(format!("only {:.0} dials a second", self.dials_per_second));
        }
        if self.unavailable * UNAVAILABLE_ONE_IN > self.commands {
            misses.push(format!(
                "{} of {} commands answered with 503",
                self.unavailable, self.commands
            ));
        }
        if !self.dialed_twice.is_empty() {
            misses.push(format!("dialed twice: {:?}", self.dialed_twice));
        }
        misses
    }

    /// Returns the results by kind of command as a table.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} dials, {:.0} a second; dialed twice {}; answered with 503: {}\n\n{:<18}{:>8}{:>8}{:>22}{:>31}{:>10}\n",
            self.dials,
            self.dials_per_second,
            self.dialed_twice.len(),
            self.unavailable,
            "",
            "judged",
            "moot",
            "answer ms p50/95/99",
            "last dial − 200 ms p50/95/99",
            "latest"
        );
        for (kind, figures) in &self.kinds {
            let latest = figures.late_ms.percentile(1.0).unwrap_or_default();
            let _ = writeln!(
                text,
                "{kind:<18}{:>8}{:>8}{:>22}{:>31}{latest:>10.0}",
                figures.late_ms.len(),
                figures.moot,
                figures.answer_ms.summary(),
                figures.late_ms.summary(),
            );
        }
        text
    }

    /// Returns the results as JSON.
    pub fn json(&self) -> Value {
        let kinds = self.kinds.iter().map(|(kind, figures)| {
            let of = |share| figures.late_ms.percentile(share);
            json!({ "command": kind, "judged": figures.late_ms.len(), "moot": figures.moot, "overrun": figures.overrun,
                "lastDialAfterAnswerMs": { "p50": of(0.5), "p95": of(0.95), "p99": of(0.99), "latest": of(1.0) },
                "answerMs": { "p50": figures.answer_ms.percentile(0.5), "p99": figures.answer_ms.percentile(0.99) } })
        });
        json!({ "dials": self.dials, "dialsPerSecond": self.dials_per_second, "dialedTwice": self.dialed_twice,
            "unavailable": self.unavailable, "commands": kinds.collect::<Vec<_>>() })
    }
}

impl Figures {
    fn add(&mut self, command: &Command, index: &Index<'_>) {
        self.answer_ms.push(ms(command.answered.0 - command.sent.0));
        let Some(last) = index.last_dial(command) else {
            self.moot += 1;
            return;
        };
        let late = last.map_or(0, |last| (last.0 - command.answered.0).max(0));
        self.overrun += usize::from(late > 0);
        self.late_ms.push(ms(late));
    }
}

fn ms(micros: i64) -> f64 {
    micros as f64 / 1_000.0
}

/// Dials by campaign and by number.
struct Index<'a> {
    of_number: HashMap<&'a str, Timestamp>,
    of_campaign: Vec<Vec<Timestamp>>,
}

impl<'a> Index<'a> {
    fn new(campaigns: &'a [Campaign], dials: &'a Dials) -> Self {
        let home: HashMap<&str, usize> = (0..)
            .zip(campaigns)
            .flat_map(|(index, campaign)| campaign.numbers.iter().map(move |number| (number.as_str(), index)))
            .collect();
        let mut of_campaign = vec![Vec::new(); campaigns.len()];
        let mut of_number = HashMap::new();
        for Dial { at, to, .. } in &dials.dials {
            if let Some(campaign) = home.get(to.as_str()) {
                of_campaign[*campaign].push(*at);
            }
            of_number.insert(to.as_str(), *at);
        }
        Self { of_number, of_campaign }
    }

    /// Returns the last dial to the command's target before the next launch; the outer `None` means there
    /// was nothing to stop.
    #[expect(clippy::option_option, reason = "nothing to stop, or nothing dialed")]
    fn last_dial(&self, command: &Command) -> Option<Option<Timestamp>> {
        match &command.target {
            Target::Number(number) => {
                let dialed = self.of_number.get(number.as_str()).copied();
                let before = dialed.is_some_and(|dialed| dialed < command.sent);
                (!before).then_some(dialed)
            }
            Target::Campaign { campaign, until } => {
                let before_launch = |at: &&Timestamp| until.is_none_or(|until| **at < until);
                let mut dials = self.of_campaign[*campaign].iter().rev().filter(before_launch);
                let last = dials.next()?;
                (last.0 >= command.sent.0 - UNDER_WAY_US).then_some(Some(*last))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(target: Target) -> Command {
        Command {
            kind: "pause",
            sent: Timestamp(9_000_000),
            answered: Timestamp(9_010_000),
            target,
        }
    }

    fn index<'a>(number: &'a str, at: &[i64]) -> Index<'a> {
        let at: Vec<Timestamp> = at.iter().copied().map(Timestamp).collect();
        Index {
            of_number: at.last().map(|last| (number, *last)).into_iter().collect(),
            of_campaign: vec![at],
        }
    }

    fn late_ms(index: &Index<'_>, target: Target) -> (Option<f64>, usize) {
        let mut figures = Figures::default();
        figures.add(&command(target), index);
        (figures.late_ms.percentile(1.0), figures.moot)
    }

    #[test]
    fn the_last_dial_before_the_next_launch_counts() {
        let campaign = |until: Option<i64>| Target::Campaign {
            campaign: 0,
            until: until.map(Timestamp),
        };
        let index = index("+1", &[8_900_000, 9_310_000, 20_000_000]);
        assert_eq!(late_ms(&index, campaign(Some(15_000_000))), (Some(300.0), 0));
        assert_eq!(late_ms(&index, campaign(None)), (Some(10_990.0), 0));
        // All dials lie before the response, the last one just before the command.
        assert_eq!(late_ms(&index, campaign(Some(9_300_000))), (Some(0.0), 0));
        // Nothing was dialed in the second before.
        assert_eq!(late_ms(&self::index("+1", &[7_000_000]), campaign(None)), (None, 1));
    }

    #[test]
    fn a_number_dialed_before_the_request_says_nothing() {
        let number = Target::Number("+1".into());
        assert_eq!(late_ms(&index("+1", &[8_999_999]), number.clone()), (None, 1));
        assert_eq!(late_ms(&index("+1", &[9_005_000]), number.clone()), (Some(0.0), 0));
        assert_eq!(late_ms(&index("+1", &[9_020_000]), number.clone()), (Some(10.0), 0));
        assert_eq!(late_ms(&index("+2", &[9_020_000]), number), (Some(0.0), 0));
    }
}
