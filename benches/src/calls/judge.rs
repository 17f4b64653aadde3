//! Verdict on one round: compares what the phones said and heard with the conversations, word for word, and
//! collects what the phones measured.

use std::collections::BTreeMap;

use media::babble::MISSING;
use serde_json::Value;

use super::class::Class;
use crate::BenchError;
use sim::{
    exchange::{Figures, LogEntry, LogEvent},
    samples::Samples,
};

/// A longer silence inside an agent's speech can be heard.
pub const GAP_LIMIT_MS: f64 = 60.0;

/// Measurements of the phones of one class.
#[derive(Debug, Clone, Default)]
pub struct ClassFigures {
    /// From the last voiced frame to the agent's first, less the pause; one for each reply.
    pub responses_ms: Samples,
    /// From the first voiced frame over the agent to the `clear`; one for each barge-in.
    pub barge_ins_ms: Samples,
    /// Number of times the agent talked on to its end.
    pub barge_ins_ignored: u32,
    /// Number of times the agent stopped for something that was not meant for it: a cough, noise.
    pub false_stops: u32,
    /// From the end of that sound until its voice was back.
    pub resumes_ms: Samples,
    /// Number of times the agent began to talk in the middle of the phone's words.
    pub cut_offs: u32,
}

impl ClassFigures {
    /// Adds the figures of `other`.
    pub fn extend(&mut self, other: &Self) {
        self.responses_ms.join(&other.responses_ms);
        self.barge_ins_ms.join(&other.barge_ins_ms);
        self.barge_ins_ignored += other.barge_ins_ignored;
        self.false_stops += other.false_stops;
        self.resumes_ms.join(&other.resumes_ms);
        self.cut_offs += other.cut_offs;
    }
}

/// Results of the calls of a round.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Compared lines of the user and of the agent.
    pub turns: [usize; 2],
    /// Calls that did not end as they should, without those with faulty providers.
    pub not_completed: usize,
    /// Calls with faulty providers: all of them, and those that did not end as they should.
    pub faulty: [usize; 2],
    /// Calls in which a word of the user, or of the agent, is wrong.
    pub wrong: [usize; 2],
    /// Interrupted replies whose last word is one off.
    pub off_by_a_word: usize,
    /// Longest silence inside an agent's utterance.
    pub longest_gap_ms: f64,
    /// Calls with a silence over [`GAP_LIMIT_MS`].
    pub gaps: usize,
    /// Histogram of the lateness of the phones' own frames: counts for 0, 1, 2 … ms.
    pub frames_late: Vec<u64>,
    /// Figures by class of phone.
    pub classes: BTreeMap<Class, ClassFigures>,
}

impl Verdict {
    /// Returns whether the required checks hold.
    pub fn good(&self) -> bool {
        self.not_completed == 0 && self.wrong == [0, 0] && self.turns[0] > 0 && self.longest_gap_ms <= GAP_LIMIT_MS
    }

    /// Returns the lateness in ms that `share` of the phones' frames did not exceed.
    pub fn frames_late_ms(&self, share: f64) -> usize {
        let all: u64 = self.frames_late.iter().sum();
        let wanted = share * all as f64;
        let mut seen = 0;
        let late = self.frames_late.iter().position(|frames| {
            seen += frames;
            seen as f64 >= wanted
        });
        late.unwrap_or_default()
    }
}

/// Speech and measurements of one phone.
#[derive(Debug, Default)]
struct Phone {
    to: String,
    said: Vec<String>,
    heard: Vec<Heard>,
    figures: Option<Figures>,
}

/// A speech of the agent, or a part of one, as the phone heard it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Heard {
    words: Vec<String>,
    end: End,
}

/// End of a speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    /// Stopped for a sound and resumed at the cut word, which may have been heard to its last sound.
    TakenUpAgain,
    Cut,
}

impl Heard {
    /// Splits a speech into its parts, each but the last followed by a stop.
    fn parts(text: &str, whole: bool) -> Vec<Self> {
        let parts: Vec<Vec<String>> = text
            .split(MISSING)
            .map(words)
            .filter(|words| !words.is_empty())
            .collect();
        let last = parts.len().saturating_sub(1);
        let end = |at| match (at == last, whole) {
            (false, _) => End::TakenUpAgain,
            (true, true) => End::Whole,
            (true, false) => End::Cut,
        };
        let parts = parts.into_iter().enumerate();
        parts.map(|(at, words)| Self { words, end: end(at) }).collect()
    }
}

/// Judges a round by the exchange's log and the conversations.
pub fn judge(
    log: Vec<LogEntry>,
    conversations: &[Value],
    class_of: impl Fn(&str) -> Class,
    pause_ms: u64,
) -> Result<Verdict, BenchError> {
    let mut verdict = Verdict::default();
    let phones = phones(log);
    for conversation in conversations {
        let number = conversation["contactNumber"].as_str().unwrap_or_default();
        let phone = phones.get(number).ok_or("the exchange does not know a call")?;
        let figures = phone.figures.as_ref().ok_or("a phone has no figures")?;
        verdict.measured(class_of(number), figures, pause_ms);
        verdict.compared(conversation, phone, class_of(number));
    }
    Ok(verdict)
}

impl Verdict {
    fn measured(&mut self, class: Class, figures: &Figures, pause_ms: u64) {
        let own = self.classes.entry(class).or_default();
        for us in &figures.response_us {
            own.responses_ms.push(ms(*us) - ms(pause_ms * 1_000));
        }
        figures.barge_in_us.iter().for_each(|us| own.barge_ins_ms.push(ms(*us)));
        own.barge_ins_ignored += figures.barge_ins_ignored;
        own.false_stops += figures.false_stops;
        figures.resume_us.iter().for_each(|us| own.resumes_ms.push(ms(*us)));
        own.cut_offs += figures.cut_offs;
        if class == Class::Faulty {
            return;
        }
        let gap_ms = ms(figures.longest_gap_us);
        self.longest_gap_ms = self.longest_gap_ms.max(gap_ms);
        self.gaps += usize::from(gap_ms > GAP_LIMIT_MS);
        if self.frames_late.len() < figures.frames_late.len() {
            self.frames_late.resize(figures.frames_late.len(), 0);
        }
        for (all, own) in self.frames_late.iter_mut().zip(&figures.frames_late) {
            *all += u64::from(*own);
        }
    }

    fn compared(&mut self, conversation: &Value, phone: &Phone, class: Class) {
        let bad_end = usize::from(conversation["status"] != "completed");
        if bad_end > 0 {
            let (number, status) = (&conversation["contactNumber"], &conversation["status"]);
            println!("{} {number}: {status} {}", class.name(), conversation["errorMessage"]);
        }
        if class == Class::Faulty {
            // The heard part of a broken speech is known to a word at best.
            self.faulty[0] += 1;
            self.faulty[1] += bad_end;
            return;
        }
        self.not_completed += bad_end;
        let [user, agent] = ["User: ", "Agent: "].map(|speaker| lines(conversation, speaker));
        self.turns[0] += user.len();
        self.turns[1] += agent.len();
        let (user, said) = (words(&user.join(" ")), words(&phone.said.join(" ")));
        let right = match class.is_clean() {
            true => user == said,
            false => is_understood_part(&user, &said),
        };
        self.wrong[0] += usize::from(!right);
        match heard_so(&words(&agent.join(" ")), &phone.heard) {
            Some(off) => self.off_by_a_word += off,
            None => self.wrong[1] += 1,
        }
    }
}

/// Returns the phones by their numbers; each was dialed once.
fn phones(log: Vec<LogEntry>) -> BTreeMap<String, Phone> {
    let mut by_call: BTreeMap<String, Phone> = BTreeMap::new();
    for entry in log {
        let phone = by_call.entry(entry.call_id).or_default();
        match entry.event {
            LogEvent::Accepted { to, .. } => phone.to = to,
            LogEvent::Said { text, .. } => phone.said.push(text),
            LogEvent::Heard { text, whole, .. } => phone.heard.extend(Heard::parts(&text, whole)),
            LogEvent::Ended { figures, .. } => phone.figures = figures,
            _ => {}
        }
    }
    by_call.into_values().map(|phone| (phone.to.clone(), phone)).collect()
}

/// Returns the lines of a transcript that `speaker` spoke.
pub fn lines<'a>(conversation: &'a Value, speaker: &str) -> Vec<&'a str> {
    let transcript = conversation["transcript"].as_str().unwrap_or_default();
    transcript
        .lines()
        .filter_map(|line| line.strip_prefix(speaker))
        .collect()
}

/// Returns the words of a text, as written.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Compares the agent's words with what was heard. An interrupted speech may have one word more or less,
/// and a resumed one its word twice. Returns how many speeches are off in this way, or `None` if the
/// words differ otherwise.
fn heard_so(agent: &[String], heard: &[Heard]) -> Option<usize> {
    // Positions that the speeches so far may have reached in the agent's words, and how many speeches were off.
    let mut told: BTreeMap<usize, usize> = BTreeMap::from([(0, 0)]);
    for speech in heard {
        let mut next = BTreeMap::new();
        for (from, off) in told {
            let rest = &agent[from..];
            let mut reach = |words: &[String], more: usize, off: usize| {
                let to = from + words.len() + more;
                if rest.starts_with(words) && to <= agent.len() {
                    next.entry(to)
                        .and_modify(|least: &mut usize| *least = (*least).min(off))
                        .or_insert(off);
                }
            };
            reach(&speech.words, 0, off);
            let Some((_, before)) = speech.words.split_last() else {
                continue;
            };
            match speech.end {
                End::Whole => {}
                End::TakenUpAgain => reach(before, 0, off + 1),
                End::Cut => {
                    reach(before, 0, off + 1);
                    reach(before, 1, off + 1);
                    reach(&speech.words, 1, off + 1);
                }
            }
        }
        told = next;
    }
    told.get(&agent.len()).copied()
}

/// Returns whether everything understood was said, in order: losses are marked, and no word is invented.
fn is_understood_part(understood: &[String], said: &[String]) -> bool {
    let (understood, said) = (understood.join(" "), said.join(" "));
    let mut rest = said.as_str();
    understood
        .split(MISSING)
        .map(str::trim)
        .all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
}

fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use domain::time::Timestamp;
    use serde_json::json;

    use super::*;

    const NUMBER: &str = "+15550000001";

    fn said(text: &str) -> LogEvent {
        LogEvent::Said {
            text: text.into(),
            from_ms: 0,
            to_ms: 0,
            over_agent: false,
            aside: false,
        }
    }

    fn heard(text: &str, whole: bool) -> LogEvent {
        LogEvent::Heard {
            text: text.into(),
            from_ms: 0,
            to_ms: 0,
            whole,
        }
    }

    fn judged(events: Vec<LogEvent>, transcript: &str, class: Class) -> Verdict {
        let accepted = LogEvent::Accepted {
            attempt: "a".into(),
            to: NUMBER.into(),
            from: None,
            persona: class.persona().into(),
            unknown_persona: None,
            script: None,
            unknown_script: None,
        };
        let ended = LogEvent::Ended {
            cause: "completed".into(),
            figures: Some(Figures {
                response_us: vec![215_000],
                barge_in_us: vec![190_000],
                longest_gap_us: 12_000,
                frames_late: vec![98, 1, 0, 1],
                ..Figures::default()
            }),
        };
        let entries = std::iter::once(accepted)
            .chain(events)
            .chain([ended])
            .map(|event| LogEntry {
                at: Timestamp(0),
                call_id: "CA1".into(),
                event,
            });
        let conversation = json!({ "status": "completed", "contactNumber": NUMBER, "transcript": transcript });
        judge(entries.collect(), &[conversation], |_| class, 200).unwrap()
    }

    #[test]
    fn a_transcript_that_is_word_for_word_so_is_good() {
        let events = vec![
            said("Hello?"),
            heard("Good morning. What is it?", true),
            said("A parcel."),
        ];
        let transcript = "User: Hello?\nAgent: Good morning. What is it?\nUser: A parcel.";
        let verdict = judged(events, transcript, Class::Cooperative);
        assert!(verdict.good(), "{verdict:?}");
        assert_eq!((verdict.turns, verdict.off_by_a_word), ([2, 1], 0));
        let own = &verdict.classes[&Class::Cooperative];
        assert_eq!(own.responses_ms.percentile(0.5), Some(15.0));
        assert_eq!(own.barge_ins_ms.percentile(0.5), Some(190.0));
        assert_eq!(
            [0.5, 0.98, 0.99, 1.0].map(|share| verdict.frames_late_ms(share)),
            [0, 0, 1, 3]
        );
    }

    #[test]
    fn a_wrong_word_of_either_side_is_found() {
        let events = || vec![said("A parcel."), heard("Good morning.", true)];
        for (transcript, wrong) in [
            ("User: A parcel.\nAgent: Good evening.", [0, 1]),
            ("User: The parcel.\nAgent: Good morning.", [1, 0]),
            ("User: A parcel.\nAgent: Good morning. Bye.", [0, 1]),
            ("User: A parcel.", [0, 1]),
        ] {
            assert_eq!(
                judged(events(), transcript, Class::Cooperative).wrong,
                wrong,
                "{transcript}"
            );
        }
    }

    #[test]
    fn a_speech_that_was_cut_off_may_differ_by_its_last_word_only() {
        let events = |cut: &str| vec![heard(cut, false), said("Wait."), heard("What is your name?", true)];
        for (cut, agent, wrong, off) in [
            ("So, what is", "So, what is", 0, 0),
            ("So, what is yo…", "So, what is", 0, 1),
            ("So, what is yo…", "So, what is your", 0, 1),
            ("So, what is", "So, what", 0, 1),
            ("So, what is", "So, what is your", 0, 1),
            ("So, what is", "So,", 1, 0),
            ("So, what is", "So, what is your name", 1, 0),
        ] {
            let transcript = format!("Agent: {agent}\nUser: Wait.\nAgent: What is your name?");
            let verdict = judged(events(cut), &transcript, Class::Interrupts);
            assert_eq!(
                (verdict.wrong, verdict.off_by_a_word),
                ([0, wrong], off),
                "{cut} / {agent}"
            );
        }
    }

    #[test]
    fn a_speech_that_was_taken_up_again_may_have_been_heard_with_its_word_twice() {
        for (heard_words, wrong, off) in [
            ("Sorry, I didn't …didn't catch that.", 0, 1),
            ("Sorry, I …didn't catch that.", 0, 0),
            ("Sorry, I didn't …I didn't catch that.", 1, 0),
            ("Sorry, I … catch that.", 1, 0),
        ] {
            let transcript = "Agent: Sorry, I didn't catch that.\nUser: Yes.";
            let events = vec![heard(heard_words, true), said("Yes.")];
            let verdict = judged(events, transcript, Class::Noisy);
            assert_eq!(
                (verdict.wrong, verdict.off_by_a_word),
                ([0, wrong], off),
                "{heard_words}"
            );
        }
    }

    #[test]
    fn in_noise_words_may_be_lost_and_none_invented() {
        for (understood, class, wrong) in [
            ("My name is Ann.", Class::Noisy, 0),
            ("My… Ann.", Class::Noisy, 0),
            ("My… Bob.", Class::Noisy, 1),
            ("My… Ann.", Class::Cooperative, 1),
        ] {
            let verdict = judged(vec![said("My name is Ann.")], &format!("User: {understood}"), class);
            assert_eq!(verdict.wrong, [wrong, 0], "{understood}");
        }
    }
}
