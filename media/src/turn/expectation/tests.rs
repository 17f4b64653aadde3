//! Tests of expectations: the expected answer, and when it is given.

use proptest::prelude::*;

use super::*;

#[test]
fn questions_tell_the_kind_of_answer() {
    let choice = |words: &[&str]| Expectation::Choice(words.iter().map(|&word| word.into()).collect());
    for (words, expected) in [
        ("Good morning. Is this a good time?", Expectation::YesNo),
        ("Great. And would you like that?", Expectation::YesNo),
        ("You said noon, correct?", Expectation::YesNo),
        ("Passt Ihnen das?", Expectation::YesNo),
        ("您方便吗？", Expectation::YesNo),
        (
            "Would you prefer the morning or the afternoon?",
            choice(&["morning", "afternoon"]),
        ),
        ("When does it suit you?", Expectation::Figure),
        ("How many people are you?", Expectation::Figure),
        (
            "What is your phone number?",
            Expectation::Dictation(Dictated::Units(10)),
        ),
        (
            "Could you give me your mobile number, please?",
            Expectation::Dictation(Dictated::Units(10)),
        ),
        (
            "Please tell me your email address.",
            Expectation::Dictation(Dictated::Email),
        ),
        (
            "What are the last four digits of your card?",
            Expectation::Dictation(Dictated::Units(4)),
        ),
        (
            "Please give me the six-digit code.",
            Expectation::Dictation(Dictated::Units(6)),
        ),
        (
            "Could you spell your last name?",
            Expectation::Dictation(Dictated::Unknown),
        ),
        ("What is your order number?", Expectation::Dictation(Dictated::Unknown)),
        ("Is this still your phone number?", Expectation::YesNo),
        ("I will call the phone number again.", Expectation::Any),
        ("What can I do for you?", Expectation::Words),
        ("Is it noon? Thank you.", Expectation::Any),
        ("", Expectation::Any),
    ] {
        assert_eq!(Expectation::of(words), expected, "{words:?}");
    }
}

#[test]
fn answers_are_told_from_what_is_not_whole() {
    let phone = "What is your phone number?";
    let email = "What is your email address?";
    for (asked, answer, progress) in [
        ("Is it noon?", "yeah", Progress::Whole),
        ("Is it noon?", "Yes.", Progress::Whole),
        ("Is it noon?", "I think", Progress::Unknown),
        ("Tea or coffee?", "coffee please", Progress::Whole),
        ("Tea or coffee?", "well", Progress::Unknown),
        ("When does it suit you?", "Tuesday", Progress::Given),
        ("When does it suit you?", "maybe", Progress::Unknown),
        ("When does it suit you?", "at nine am", Progress::Given),
        ("When does it suit you?", "I am", Progress::Unknown),
        (phone, "it is", Progress::Unknown),
        (phone, "it is five", Progress::Short),
        (phone, "five five five. one two three.", Progress::Short),
        (phone, "five five five. one two three four.", Progress::Begun),
        ("Please give me the six-digit code.", "12 34", Progress::Short),
        ("What is your order number?", "12 34", Progress::Begun),
        (
            phone,
            "five five five one two three four five six seven",
            Progress::Enough,
        ),
        (phone, "555 123 4567", Progress::Enough),
        (phone, "triple five 123 double four 67", Progress::Enough),
        (email, "john", Progress::Begun),
        (email, "john at mail", Progress::Begun),
        (email, "john at mail dot com", Progress::Whole),
        (email, "john@mail.com", Progress::Whole),
        (email, "I don't have one", Progress::Unknown),
        ("Could you spell your name?", "b o b", Progress::Begun),
    ] {
        assert_eq!(
            Expectation::of(asked).progress(answer),
            progress,
            "{asked:?} {answer:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_words_are_taken(agent in "\\PC{0,60}", user in "\\PC{0,60}") {
        Expectation::of(&agent).progress(&user);
    }
}

#[test]
fn a_sound_of_attention_answers_no_question_that_wants_words() {
    for (asked, words, takes) in [
        ("You are due for a check-up.", "Okay.", true),
        ("Is this your first visit?", "Yes.", true),
        ("Is this your first visit?", "Oh, yeah.", true),
        ("Is this your first visit?", "Uh-huh.", false),
        ("Is this your first visit?", "mm-hm", false),
        ("Is this your first visit?", "Okay.", false),
        ("What is your name?", "Yes.", false),
        ("Which day suits you?", "Uh-huh.", false),
        ("Mornings or afternoons?", "Okay.", false),
        ("What is your phone number?", "Sure.", false),
    ] {
        assert_eq!(
            Expectation::of(asked).takes_backchannel(words),
            takes,
            "{asked} {words}"
        );
    }
}
