//! People who answer in many ways. None of them is taken for a machine.

use proptest::{prelude::*, sample::select};

use super::{super::*, Opening};

/// Things that people really say, long or short.
const PEOPLE: [&str; 24] = [
    "Hello?",
    "Hi, this is Dana speaking, who is it?",
    "Thank you for calling Miller's, this is Dana, how can I help you?",
    "Good morning, Miller and Sons on Main Street, you've reached the front desk, Dana speaking.",
    "He is not available right now, can I take a message?",
    "She can't come to the phone, she's in the shower, but I can tell her something.",
    "Is this a voicemail?",
    "Am I supposed to leave a message after the tone or what?",
    "Can I leave a message for her?",
    "You have reached the wrong number.",
    "I'll get back to you tomorrow.",
    "It is beeping, sorry, go on.",
    "My mailbox is full of your letters, please stop it.",
    "My mom is not available, she will get back to you, okay?",
    "Sorry, my phone was switched off, who is this?",
    "Dad! Telephone! He's coming, just a second, he's always so slow on the stairs.",
    "Oh hi, I was just thinking about you, we were in the garden the whole morning and the cat ran away again.",
    "Yes yes yes, I am here, I am just looking for my glasses, one second, where did I put them, so, who is this?",
    "Hello, Bo here, I am driving at the moment, so if it is quick then go ahead, otherwise try me tonight.",
    "You're not available on Monday? Then leave a message with my colleague at the desk.",
    "Hola, buenos días, ¿en qué puedo ayudarle?",
    "Oui allô, ne quittez pas, je vous écoute.",
    "Meyer am Apparat, wie kann ich helfen?",
    "Hello? Is this one of those leave your name after the beep things?",
];

const OPENERS: [&str; 7] = [
    "",
    "Hello?",
    "Hi,",
    "Good afternoon,",
    "Yes?",
    "Miller's Bakery,",
    "Oh, hello there,",
];

const IDENTITIES: [&str; 6] = [
    "this is Dana.",
    "Dana Miller speaking.",
    "you've reached the Millers, what can I do for you?",
    "you're through to the front desk, how may I help?",
    "thank you for calling, how can I help you?",
    "my name is Dana and I work in the kitchen.",
];

const MIDDLES: [&str; 8] = [
    "",
    "He is not available right now.",
    "She's away from her desk.",
    "My husband can't come to the phone.",
    "I am having dinner with the family and the children are making such a noise that I can hardly hear you,",
    "We were cut off before, I think, because the line is really bad out here in the mountains,",
    "They're not in the office, they went to lunch an hour ago.",
    "I just came in through the door and I have the shopping in my hands,",
];

const OFFERS: [&str; 7] = [
    "Can I take a message?",
    "Would you like to leave a message?",
    "Do you want his voicemail?",
    "Shall I tell him to call you back?",
    "Who is this?",
    "What is it about?",
    "Hold on, let me get a pen.",
];

fn verdicts(sentences: &[(&str, u64)]) -> Vec<(Verdict, Reason)> {
    let mut call = Opening::new().pauses(300);
    for (sentence, pause_ms) in sentences {
        call = call.says(sentence).pauses(*pause_ms);
    }
    call.pauses(4_000).verdicts()
}

/// Returns whether there is a machine verdict on which the call hangs up or falls silent.
fn ends_the_call(verdicts: &[(Verdict, Reason)]) -> bool {
    verdicts
        .iter()
        .any(|(verdict, reason)| verdict.is_machine() && *reason != Reason::Screening)
}

#[test]
fn no_greeting_of_a_person_is_a_machines() {
    for text in PEOPLE {
        let found = verdicts(&[(text, 1_500)]);
        assert!(
            !found.iter().any(|(verdict, _)| verdict.is_machine()),
            "{text}: {found:?}"
        );
        // Split into sentences, as by a recogniser with a short pause.
        let sentences: Vec<_> = text.split_inclusive(['.', '?', '!']).map(|s| (s, 500)).collect();
        let found = verdicts(&sentences);
        assert!(!ends_the_call(&found), "{text}: {found:?}");
    }
}

#[test]
fn a_beep_behind_a_persons_question_is_no_mailbox() {
    let call = Opening::new()
        .says("Thank you for calling Miller's, this is Dana, how can I help you?")
        .pauses(500)
        .beeps();
    assert!(!ends_the_call(&call.verdicts()), "{:?}", call.verdicts());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_person_however_long_winded_is_hung_up_on(
        opener in select(&OPENERS[..]),
        identity in select(&IDENTITIES[..]),
        middles in proptest::collection::vec(select(&MIDDLES[..]), 0..4),
        offer in select(&OFFERS[..]),
        pauses in proptest::collection::vec(0_u64..900, 7),
        start_ms in 0_u64..3_000,
    ) {
        let mut call = Opening::new().pauses(start_ms);
        let sentences = [opener, identity].into_iter().chain(middles).chain([offer]);
        for (sentence, pause_ms) in sentences.zip(pauses) {
            call = call.says(sentence).pauses(pause_ms);
        }
        let found = call.pauses(4_000).verdicts();
        prop_assert!(!ends_the_call(&found), "{:?}", found);
    }

    /// Shape alone is never enough: words without a hint, as long and as steady as possible.
    #[test]
    fn talk_without_a_hint_is_no_machine(
        words in proptest::collection::vec(select(&["well", "the", "garden", "was", "green", "and", "then", "we", "saw"][..]), 1..120),
        pause_ms in 0_u64..4_000,
    ) {
        let found = verdicts(&[(words.join(" ").as_str(), pause_ms)]);
        prop_assert!(!found.iter().any(|(verdict, _)| verdict.is_machine()), "{:?}", found);
    }

    #[test]
    fn any_input_is_survived_and_verdicts_change_only_as_they_may(
        steps in proptest::collection::vec((0_u8..4, ".{0,60}", 0_u64..5_000), 0..40),
    ) {
        let mut detector = Detector::new();
        let (mut now_ms, mut last) = (0, None);
        for (what, text, passes) in steps {
            now_ms += passes;
            let found = match what {
                0 => detector.block(Some(now_ms.saturating_sub(16)), 16, now_ms),
                1 => detector.block(None, 0, now_ms),
                2 => detector.words(&text, now_ms),
                _ => detector.turn_ended(&text, now_ms.saturating_sub(passes), now_ms, now_ms),
            };
            if let Some(found) = found {
                prop_assert_ne!(last, Some((found.verdict, found.reason)));
                prop_assert_eq!(detector.verdict(), Some(found.verdict));
                last = Some((found.verdict, found.reason));
            }
        }
    }
}
