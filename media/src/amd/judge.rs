//! The fusion rule that combines words, shape and beep. It is pure, and the only place where a machine is detected.

use super::{
    finding::{Reason, Verdict},
    hints::Hints,
    phrase::Hint,
};

/// Steady talk in milliseconds that a short answer to the telephone does not reach: people say less than 1.8
/// s and wait.
const STEADY_MS: u64 = 3_200;

/// Steady talk in milliseconds after which a beep indicates a mailbox even if no word was understood.
const WORDLESS_STEADY_MS: u64 = 4_000;

/// Talk in milliseconds before a beep that indicates a mailbox if its words hint at one too.
const HINTED_STEADY_MS: u64 = 1_000;

/// Most words of a person's hello, such as "Hello, this is Dana Miller".
pub(super) const HELLO_WORDS: usize = 5;

/// Words that machines and people use. Two of different kinds indicate a machine if nothing indicates a person.
const WEAK: [Hint; 5] = [Hint::Reached, Hint::Absent, Hint::Leave, Hint::Mailbox, Hint::CallBack];

/// Words that a person who has just picked up does not use about the telephone.
const MACHINE: [Hint; 12] = [
    Hint::Tone,
    Hint::Record,
    Hint::CannotAnswer,
    Hint::Reached,
    Hint::Absent,
    Hint::Leave,
    Hint::Mailbox,
    Hint::Menu,
    Hint::Queue,
    Hint::Full,
    Hint::NotReachable,
    Hint::NotInService,
];

/// All evidence about the greeting.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    pub(super) hints: Hints,
    /// Whether its last words are a question.
    pub(super) question: bool,
    /// Longest stretch in milliseconds without a pause of a second.
    pub(super) steady_ms: u64,
    /// Whether a beep came within three seconds of its end.
    pub(super) beep: bool,
    /// Whether it was said twice.
    pub(super) repeated: bool,
    /// Whether its words are complete, rather than the words so far.
    pub(super) ended: bool,
    /// Whether a person was already assumed to be on the line.
    pub(super) was_human: bool,
}

/// Returns the machine that the evidence indicates, if any.
pub(super) fn machine(evidence: &Evidence) -> Option<(Verdict, Reason)> {
    let hints = evidence.hints;
    if hints.has(Hint::Asks) {
        return None;
    }
    announcement(hints)
        .or_else(|| certain(evidence))
        .or_else(|| if evidence.ended { considered(evidence) } else { None })
}

fn announcement(hints: Hints) -> Option<(Verdict, Reason)> {
    // `My mailbox is full` is said by its owner.
    if hints.has(Hint::Person) {
        return None;
    }
    let both = |hint| hints.has(Hint::Dialed) && hints.has(hint);
    let reason = if hints.has(Hint::Full) {
        Reason::MailboxFull
    } else if hints.has(Hint::NotInService) || both(Hint::NoService) {
        Reason::NotInService
    } else if hints.has(Hint::NotReachable) || both(Hint::OffAir) {
        Reason::NotReachable
    } else {
        return None;
    };
    Some((Verdict::Unavailable, reason))
}

/// Judges evidence that needs neither confirmation nor a complete sentence.
fn certain(evidence: &Evidence) -> Option<(Verdict, Reason)> {
    let hints = evidence.hints;
    if hints.has(Hint::Tone) {
        return Some((Verdict::Voicemail, Reason::MachineWords));
    }
    // `press one to leave a message`: pressing is the only way on.
    (hints.has(Hint::Menu) && !hints.has(Hint::Person)).then_some((Verdict::Ivr, Reason::Menu))
}

/// Judges evidence that counts only once the greeting, or a part of it, is complete.
fn considered(evidence: &Evidence) -> Option<(Verdict, Reason)> {
    let hints = evidence.hints;
    let (asks_both, person) = (hints.has(Hint::Who) && hints.has(Hint::Why), hints.has(Hint::Person));
    // A secretary who asks both is answered like an assistant. In a conversation they are ordinary questions.
    let screens = match evidence.was_human {
        true => hints.has(Hint::Screening) && !person,
        false => hints.has(Hint::Screening) || asks_both,
    };
    if screens {
        return Some((Verdict::Ivr, Reason::Screening));
    }
    if person || evidence.question {
        return None;
    }
    if evidence.beep && beep_counts(evidence) {
        return Some((Verdict::Voicemail, Reason::BeepAfterGreeting));
    }
    // A person who has answered may say any of the following.
    if evidence.was_human {
        return None;
    }
    let steady = evidence.steady_ms >= STEADY_MS;
    if hints.has(Hint::Record) {
        return Some((Verdict::Voicemail, Reason::MachineWords));
    }
    if steady && (hints.has(Hint::CannotAnswer) || hints.count(&WEAK) >= 2) {
        return Some((Verdict::Voicemail, Reason::ShapeAndWords));
    }
    (evidence.repeated && hints.has(Hint::Queue)).then_some((Verdict::Ivr, Reason::Repeated))
}

fn beep_counts(evidence: &Evidence) -> bool {
    let hinted = evidence.hints.any(&WEAK) || evidence.hints.any(&[Hint::Record, Hint::CannotAnswer]);
    match hinted {
        true => evidence.steady_ms >= HINTED_STEADY_MS,
        false => !evidence.was_human && evidence.steady_ms >= WORDLESS_STEADY_MS,
    }
}

/// Returns whether an utterance of this many words comes from a person who answers or picks up.
pub(super) fn is_person(hints: Hints, words: usize) -> bool {
    let hello = hints.has(Hint::Hello) && words <= HELLO_WORDS;
    (hello || hints.has(Hint::Person) || hints.has(Hint::Asks)) && !hints.any(&MACHINE) && !hints.has(Hint::Screening)
}

#[cfg(test)]
mod tests {
    use super::{super::hints::normalised, *};

    fn evidence(text: &str) -> Evidence {
        Evidence {
            hints: Hints::of(&normalised(text)),
            question: text.ends_with('?'),
            ended: true,
            ..Evidence::default()
        }
    }

    /// Evidence and verdicts, row by row.
    #[test]
    fn the_table_of_evidence() {
        let long = |text| Evidence {
            steady_ms: 5_000,
            ..evidence(text)
        };
        let beeped = |text| Evidence {
            beep: true,
            ..long(text)
        };
        let human = |evidence: Evidence| Evidence {
            was_human: true,
            ..evidence
        };
        let so_far = |evidence: Evidence| Evidence {
            ended: false,
            ..evidence
        };
        let voicemail = |reason| Some((Verdict::Voicemail, reason));
        let absent = "I can't come to the phone right now.";
        let table = [
            ("shape alone", long("Once upon a time there was"), None),
            (
                "words of the tone",
                so_far(evidence("after the tone")),
                voicemail(Reason::MachineWords),
            ),
            (
                "asked about",
                evidence("Is this a leave it after the tone thing?"),
                None,
            ),
            (
                "an invitation",
                evidence("Please leave a message."),
                voicemail(Reason::MachineWords),
            ),
            ("an invitation so far", so_far(evidence("Please leave a message")), None),
            (
                "an invitation of a person",
                human(evidence("Please leave a message.")),
                None,
            ),
            ("away, short", evidence(absent), None),
            ("away, long", long(absent), voicemail(Reason::ShapeAndWords)),
            ("one weak word, long", long("You've reached Bo at the desk."), None),
            (
                "two weak words, long",
                long("You've reached Bo, I am unavailable."),
                voicemail(Reason::ShapeAndWords),
            ),
            (
                "two weak words, short",
                evidence("Bo is unavailable, leave a message."),
                None,
            ),
            (
                "two weak words of a person",
                long("He's unavailable, you can leave a message with me."),
                None,
            ),
            (
                "a beep, long",
                beeped("Guten Tag."),
                voicemail(Reason::BeepAfterGreeting),
            ),
            (
                "a beep, long, a question",
                beeped("Miller's, Dana here, what is it?"),
                None,
            ),
            ("a beep, long, a person", human(beeped("Guten Tag.")), None),
            (
                "a beep, hint, thought human",
                human(beeped("Leave a message.")),
                voicemail(Reason::BeepAfterGreeting),
            ),
            (
                "a menu",
                so_far(evidence("For sales, press one")),
                Some((Verdict::Ivr, Reason::Menu)),
            ),
            ("asked about a menu", evidence("Did you say press one?"), None),
            (
                "an assistant",
                evidence("Go ahead and say your name, and why you are calling."),
                Some((Verdict::Ivr, Reason::Screening)),
            ),
            (
                "who and why",
                evidence("Who is calling, and what is it about?"),
                Some((Verdict::Ivr, Reason::Screening)),
            ),
            (
                "who and why, later",
                human(evidence("Who is calling, and what is it about?")),
                None,
            ),
            (
                "full",
                so_far(evidence("Sorry, the mailbox is full")),
                Some((Verdict::Unavailable, Reason::MailboxFull)),
            ),
            (
                "full, said of oneself",
                evidence("My mailbox is full and I am busy"),
                None,
            ),
            (
                "no such number",
                evidence("The number you have dialed is not in service."),
                Some((Verdict::Unavailable, Reason::NotInService)),
            ),
            (
                "switched off",
                evidence("The phone you are calling is switched off."),
                Some((Verdict::Unavailable, Reason::NotReachable)),
            ),
        ];
        for (name, evidence, verdict) in table {
            assert_eq!(machine(&evidence), verdict, "{name}");
        }
    }

    #[test]
    fn people_pick_up_in_few_words_or_with_a_question() {
        let is = |text: &str| {
            let words = normalised(text);
            is_person(Hints::of(&words), words.split(' ').count())
        };
        for text in [
            "Hello?",
            "Hi, sorry.",
            "I'm here, who is this?",
            "Dana speaking.",
            "Is this a robot?",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "",
            "Hello and welcome to the Miller company.",
            "Thank you, goodbye.",
            "Hi, leave a message.",
        ] {
            assert!(!is(text), "{text}");
        }
    }
}
