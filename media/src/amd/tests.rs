//! Whole openings of calls as a line delivers them: blocks of 16 ms, words one by one, turns cut at pauses.

mod people;

use super::*;

const BLOCK: u64 = 16;
/// Time of a character in milliseconds, at 13 a second.
const CHARACTER_MS: u64 = 77;

/// Plays an opening to a detector.
pub(super) struct Opening {
    detector: Detector,
    now_ms: u64,
    findings: Vec<Finding>,
    /// Pause in milliseconds that ends a turn.
    pause_ms: u64,
    turn: String,
    turn_from_ms: u64,
    onset_ms: Option<u64>,
    last_voiced_ms: u64,
}

impl Opening {
    pub(super) fn new() -> Self {
        Self {
            detector: Detector::new(),
            now_ms: 0,
            findings: Vec::new(),
            pause_ms: 450,
            turn: String::new(),
            turn_from_ms: 0,
            onset_ms: None,
            last_voiced_ms: 0,
        }
    }

    /// Says a text. The recogniser reports each word at its end.
    pub(super) fn says(mut self, text: &str) -> Self {
        for word in text.split_whitespace() {
            self.sounds((word.len() as u64 + 1) * CHARACTER_MS);
            if self.turn.is_empty() {
                self.turn_from_ms = self.onset_ms.unwrap_or(self.now_ms);
            } else {
                self.turn.push(' ');
            }
            self.turn.push_str(word);
            let turn = self.turn.clone();
            let found = self.detector.words(&turn, self.now_ms);
            self.findings.extend(found);
        }
        self
    }

    /// Makes voice without words.
    pub(super) fn sounds(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(BLOCK) {
            let onset_ms = *self.onset_ms.get_or_insert(self.now_ms);
            self.now_ms += BLOCK;
            self.last_voiced_ms = self.now_ms;
            let found = self.detector.block(Some(onset_ms), BLOCK, self.now_ms);
            self.findings.extend(found);
        }
    }

    pub(super) fn pauses(mut self, ms: u64) -> Self {
        for _ in 0..ms.div_ceil(BLOCK) {
            self.now_ms += BLOCK;
            self.onset_ms = None;
            let found = self.detector.block(None, 0, self.now_ms);
            self.findings.extend(found);
            if !self.turn.is_empty() && self.now_ms >= self.last_voiced_ms + self.pause_ms {
                let turn = std::mem::take(&mut self.turn);
                let (from_ms, to_ms) = (self.turn_from_ms, self.last_voiced_ms);
                let found = self.detector.turn_ended(&turn, from_ms, to_ms, self.now_ms);
                self.findings.extend(found);
            }
        }
        self
    }

    fn rings(mut self, frequency_hz: f32, ms: u64) -> Self {
        let start_ms = self.now_ms;
        self = self.pauses(ms);
        let end_ms = start_ms + ms;
        let tone = Tone {
            frequency_hz,
            start_ms,
            end_ms,
            alone: true,
        };
        let found = self.detector.tone(tone);
        self.findings.extend(found);
        self
    }

    fn beeps(self) -> Self {
        self.rings(1_000.0, 400)
    }

    pub(super) fn verdicts(&self) -> Vec<(Verdict, Reason)> {
        self.findings.iter().map(|f| (f.verdict, f.reason)).collect()
    }
}

fn opening() -> Opening {
    Opening::new().pauses(400)
}

#[test]
fn a_person_says_a_few_words_and_waits() {
    let call = opening().says("Hello?").pauses(2_000);
    assert_eq!(call.verdicts(), [(Verdict::Human, Reason::ShortAndWaits)]);
    assert!(call.findings[0].at_ms < 400 + 600 + WAITS_MS + 50);
}

#[test]
fn a_mailbox_is_known_before_its_greeting_ends() {
    let call = opening().says("You have reached the voicemail of Bo. Please leave a message after the tone.");
    assert_eq!(call.verdicts(), [(Verdict::Voicemail, Reason::MachineWords)]);
    assert!(call.findings[0].at_ms <= call.now_ms);
}

#[test]
fn a_greeting_in_sentences_with_pauses_is_one() {
    let call = opening()
        .says("Hi, this is Bo.")
        .pauses(700)
        .says("I can't come to the phone right now.")
        .pauses(700)
        .says("Thanks.")
        .pauses(600);
    assert_eq!(call.verdicts(), [(Verdict::Voicemail, Reason::ShapeAndWords)]);
}

#[test]
fn machines_are_known_in_several_languages() {
    for (text, verdict) in [
        (
            "Hola, has llamado a Ana. Deja tu mensaje después de la señal.",
            Verdict::Voicemail,
        ),
        (
            "Bonjour, vous êtes bien sur le répondeur d'Anne. Laissez-moi un message après le bip.",
            Verdict::Voicemail,
        ),
        (
            "Hier ist der Anrufbeantworter von Familie Meyer. Bitte hinterlassen Sie eine Nachricht nach dem Ton.",
            Verdict::Voicemail,
        ),
        ("कृपया बीप के बाद संदेश छोड़ें।", Verdict::Voicemail),
        ("Para ventas, oprima uno. Para soporte, oprima dos.", Verdict::Ivr),
        ("Pour le service commercial, appuyez sur un.", Verdict::Ivr),
        ("Für den Vertrieb drücken Sie die Eins.", Verdict::Ivr),
        ("Kein Anschluss unter dieser Nummer.", Verdict::Unavailable),
        ("El número que usted marcó no existe.", Verdict::Unavailable),
        ("आपके द्वारा डायल किया गया नंबर मौजूद नहीं है", Verdict::Unavailable),
    ] {
        let call = opening().says(text).pauses(1_000);
        assert_eq!(call.detector.verdict(), Some(verdict), "{text}: {:?}", call.verdicts());
    }
}

#[test]
fn what_machines_say_in_english() {
    for (text, verdict, reason) in [
        (
            "Hi, you've reached Dana. I can't come to the phone right now.",
            Verdict::Voicemail,
            Reason::ShapeAndWords,
        ),
        (
            "The person you are calling is not available. Please leave a message.",
            Verdict::Voicemail,
            Reason::MachineWords,
        ),
        (
            "Your call has been forwarded to an automated voice messaging system.",
            Verdict::Voicemail,
            Reason::MachineWords,
        ),
        (
            "The mailbox is full and cannot accept any messages at this time. Goodbye.",
            Verdict::Unavailable,
            Reason::MailboxFull,
        ),
        (
            "The person you have called has a voicemail box that has not been set up yet.",
            Verdict::Unavailable,
            Reason::MailboxFull,
        ),
        (
            "We're sorry, the number you have dialed is not in service.",
            Verdict::Unavailable,
            Reason::NotInService,
        ),
        (
            "The subscriber you have dialed is not available right now.",
            Verdict::Unavailable,
            Reason::NotReachable,
        ),
        (
            "The number you are trying to call is not reachable.",
            Verdict::Unavailable,
            Reason::NotReachable,
        ),
        (
            "Thank you for calling Acme. For sales, press one. For support, press two.",
            Verdict::Ivr,
            Reason::Menu,
        ),
        (
            "Hi. If you record your name and reason for calling, I'll see if this person is available.",
            Verdict::Ivr,
            Reason::Screening,
        ),
        (
            "The person you're calling is using a screening service and will get a copy of this conversation.",
            Verdict::Ivr,
            Reason::Screening,
        ),
        (
            "Hello, this is the assistant of Maria. Who is calling, and why?",
            Verdict::Ivr,
            Reason::Screening,
        ),
    ] {
        let call = opening().says(text).pauses(1_000);
        let last = call.verdicts().last().copied();
        assert_eq!(last, Some((verdict, reason)), "{text}: {:?}", call.verdicts());
    }
}

#[test]
fn a_beep_makes_a_mailbox_of_a_greeting_nobody_understood() {
    let mut call = opening();
    call.sounds(5_000);
    let call = call.pauses(900).beeps();
    assert_eq!(call.verdicts(), [(Verdict::Voicemail, Reason::BeepAfterGreeting)]);
    let call = opening().says("Guten Tag und herzlich willkommen bei der Firma Meyer in Kiel");
    let call = call.pauses(900).beeps();
    assert_eq!(call.verdicts(), [(Verdict::Voicemail, Reason::BeepAfterGreeting)]);
}

#[test]
fn a_beep_before_the_words_are_known_counts() {
    let mut call = opening().says("Hi, this is Bo, I am unavailable so leave");
    call.pause_ms = 900;
    let call = call.pauses(300).beeps().pauses(600);
    assert_eq!(call.verdicts(), [(Verdict::Voicemail, Reason::BeepAfterGreeting)]);
}

#[test]
fn a_beep_long_after_the_greeting_is_no_mailboxs() {
    let call = opening()
        .says("Guten Tag und herzlich willkommen bei der Firma Meyer in Kiel")
        .pauses(3_500)
        .beeps();
    assert_eq!(call.verdicts(), []);
}

#[test]
fn three_rising_tones_are_an_announcement() {
    let call = opening().rings(913.8, 276).rings(1_370.6, 276).rings(1_776.7, 380);
    assert_eq!(call.verdicts(), [(Verdict::Unavailable, Reason::SpecialTones)]);
    let falling = opening().rings(1_776.7, 276).rings(1_370.6, 276).rings(913.8, 380);
    assert_eq!(falling.verdicts(), []);
}

#[test]
fn somebody_picks_up_in_the_middle_of_a_greeting() {
    let call = opening()
        .says("Hi, leave a message after the tone or send me")
        .pauses(600)
        .says("Hello? Sorry.")
        .pauses(600);
    assert_eq!(
        call.verdicts(),
        [
            (Verdict::Voicemail, Reason::MachineWords),
            (Verdict::Human, Reason::PickedUp)
        ]
    );
}

#[test]
fn somebody_who_picks_up_at_once_continues_the_turn_of_the_greeting() {
    for (greeting, picks_up) in [
        (
            "Leave a message after the tone. Or send me a letter. Hello? Sorry, I am here.",
            true,
        ),
        ("Deje un mensaje después del tono. ¿Hola?", true),
        ("Leave a message after the tone and I will say hello.", false),
        (
            "Leave a message after the tone. Hi to all of you who call from abroad.",
            false,
        ),
        ("Leave a message after the tone. Hola, deje un mensaje.", false),
    ] {
        let is_person = |call: &Opening| {
            call.verdicts()
                .last()
                .is_some_and(|(verdict, _)| *verdict == Verdict::Human)
        };
        let call = opening().says(greeting).pauses(600);
        assert_eq!(is_person(&call), picks_up, "{greeting} {:?}", call.verdicts());
        let call = call.says("The dentist?").pauses(600);
        assert!(!picks_up || is_person(&call), "{greeting} {:?}", call.verdicts());
    }
}

#[test]
fn the_rest_of_a_greeting_is_nobody_who_picks_up() {
    for rest in [
        "Thank you, goodbye.",
        "Have a nice day.",
        "Hi, this is Bo, leave a message.",
        "Thanks.",
    ] {
        let call = opening()
            .says("Leave a message after the tone.")
            .pauses(700)
            .says(rest)
            .pauses(2_000);
        assert_eq!(call.verdicts(), [(Verdict::Voicemail, Reason::MachineWords)], "{rest}");
    }
}

#[test]
fn a_menu_that_comes_again_is_still_a_menu_and_a_person_may_follow() {
    let menu = "Hello and welcome to Acme Ltd. For sales, press one.";
    let call = opening().says(menu).pauses(4_000).says(menu).pauses(1_000);
    assert_eq!(call.verdicts(), [(Verdict::Ivr, Reason::Menu)]);
    let call = call.says("Acme, Dana speaking, how can I help you?").pauses(600);
    assert_eq!(call.verdicts()[1..], [(Verdict::Human, Reason::PickedUp)]);
}

#[test]
fn an_announcement_of_a_firm_that_comes_again_is_a_machine() {
    let text = "Thank you for calling Acme, all of our agents are serving other customers.";
    let call = opening().says(text).pauses(1_500);
    assert_eq!(call.verdicts(), []);
    let call = call.says(text).pauses(1_500);
    assert_eq!(call.verdicts(), [(Verdict::Ivr, Reason::Repeated)]);
}

#[test]
fn a_mailbox_may_turn_out_full() {
    let call = opening()
        .says("You have been forwarded to voicemail.")
        .pauses(700)
        .says("The mailbox is full and cannot accept any messages.")
        .pauses(500);
    let unavailable = (Verdict::Unavailable, Reason::MailboxFull);
    assert_eq!(
        call.verdicts(),
        [(Verdict::Voicemail, Reason::MachineWords), unavailable]
    );
}

#[test]
fn silence_is_unknown_until_somebody_speaks() {
    let call = opening().pauses(10_000);
    assert_eq!(call.verdicts(), [(Verdict::Unknown, Reason::Silence)]);
    let call = call.says("Hello?").pauses(2_000);
    assert_eq!(call.verdicts()[1..], [(Verdict::Human, Reason::ShortAndWaits)]);
}

#[test]
fn what_is_said_later_in_a_call_is_nobodys_greeting() {
    let call = opening().says("Hello?").pauses(26_000);
    let call = call
        .says("So they hear please leave a message after the tone")
        .pauses(3_000);
    assert_eq!(call.verdicts(), [(Verdict::Human, Reason::ShortAndWaits)]);
    let long = "and then we went on to talk about the weather and about all of it again";
    let mut call = opening();
    for _ in 0..16 {
        call = call.says(long).pauses(300);
    }
    assert_eq!(call.pauses(4_000).verdicts(), [(Verdict::Unknown, Reason::Undecided)]);
}

#[test]
fn names_are_distinct() {
    let reasons = [
        Reason::ShortAndWaits,
        Reason::Converses,
        Reason::PickedUp,
        Reason::MachineWords,
        Reason::ShapeAndWords,
        Reason::BeepAfterGreeting,
        Reason::Menu,
        Reason::Repeated,
        Reason::Screening,
        Reason::MailboxFull,
        Reason::NotReachable,
        Reason::NotInService,
        Reason::SpecialTones,
        Reason::Silence,
        Reason::Undecided,
    ];
    let names: std::collections::HashSet<_> = reasons.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(names.len(), reasons.len());
}
