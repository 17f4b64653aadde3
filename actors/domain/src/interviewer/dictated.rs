//! Dictated values: the digits of a phone number, or an e-mail address, without the words around them.

use media::turn::barge_in::floor;

use super::{
    numbers,
    phrases::{contains, plain},
};

/// Fewest digits of a phone number, even of a company's short number.
const FEWEST_DIGITS: usize = 5;
/// Digits from which a number counts as whole; next to it a single digit is a word such as "one".
const WHOLE_DIGITS: usize = 7;
/// Longest description, in words, in which a final "phone" means the phone number.
const BRIEF_WORDS: usize = 3;

const PHONES: [&str; 6] = ["phone", "telephone", "mobile", "cell", "cellphone", "callback"];
/// Words that may stand between groups of digits.
const BETWEEN: [&str; 12] = [
    "um", "uh", "uhm", "er", "erm", "hmm", "mm", "and", "then", "dash", "space", "plus",
];
/// Words after which the speaker corrects the previous number.
const CORRECTIONS: [&str; 5] = ["no", "sorry", "mean", "actually", "wait"];
/// Words before an address that are not part of it.
const BEFORE_ADDRESS: [&str; 16] = [
    "is", "it's", "its", "that's", "um", "uh", "uhm", "er", "erm", "to", "me", "use", "address", "mail", "email",
    "e-mail",
];
/// Spoken signs between the words of an address.
const SIGNS: [&str; 8] = ["dot", "point", "underscore", "dash", "hyphen", "minus", "plus", "at"];

/// Kind of a dictated value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dictated {
    Phone,
    Email,
}

impl Dictated {
    /// Returns the kind of value that a description asks for, if it is dictated.
    pub fn of(description: &str) -> Option<Self> {
        let plain = plain(description).replace("e mail", "email");
        let words: Vec<&str> = plain.split(' ').collect();
        let last = words.last().copied().unwrap_or_default();
        let brief = words.len() <= BRIEF_WORDS;
        let named = PHONES.iter().any(|phone| contains(&plain, &format!("{phone} number")));
        let phone = named || contains(&plain, "number to call") || brief && PHONES.contains(&last);
        let email = contains(&plain, "email address")
            || contains(&plain, "mail address")
            || brief && ["email", "mail"].contains(&last);
        match (phone, email) {
            (true, false) => Some(Self::Phone),
            (false, true) => Some(Self::Email),
            (true, true) | (false, false) => None,
        }
    }

    /// Returns the dictated value in the text.
    pub fn said_in(self, text: &str) -> Option<String> {
        match self {
            Self::Phone => Some(phone(text)).filter(|digits| digits.len() >= FEWEST_DIGITS),
            Self::Email => email(text),
        }
    }
}

/// Returns the digits of a text, whether or not they are a whole number. After a correction only the later
/// digits count, if they are a whole number.
pub(super) fn phone(text: &str) -> String {
    let plain = plain(text);
    let words: Vec<&str> = plain.split(' ').collect();
    let corrected = words.iter().rposition(|word| CORRECTIONS.contains(word));
    let anew = corrected.and_then(|at| words.get(at + 1..)).map(digits);
    anew.filter(|digits| digits.len() >= WHOLE_DIGITS)
        .unwrap_or_else(|| digits(&words))
}

fn digits(words: &[&str]) -> String {
    let mut runs = vec![String::new()];
    let mut times = 1;
    for (at, word) in words.iter().enumerate() {
        let open = runs.last().is_some_and(|run| !run.is_empty());
        let next = words.get(at + 1).copied().unwrap_or_default();
        // "Oh, 856" does not begin with a zero, "oh seven" does.
        let exclaims = matches!(*word, "oh" | "o") && !open && (is_figures(next) || numbers::run(next).is_none());
        match (*word, numbers::run(word).filter(|_| !exclaims)) {
            ("double", _) => times = 2,
            ("triple", _) => times = 3,
            (_, Some(run)) => {
                let run = run.repeat(std::mem::replace(&mut times, 1));
                if let Some(last) = runs.last_mut() {
                    last.push_str(&run);
                }
            }
            (word, None) if BETWEEN.contains(&word) => {}
            (_, None) if open => runs.push(String::new()),
            (_, None) => {}
        }
    }
    let groups: String = runs.iter().filter(|run| run.len() > 1).map(String::as_str).collect();
    match groups.len() >= WHOLE_DIGITS {
        true => groups,
        false => runs.concat(),
    }
}

fn is_figures(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the address as it is said: from its first word to the end of its host.
fn email(text: &str) -> Option<String> {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let bare: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
    if let Some(at) = bare.iter().rposition(|word| word.contains('@')) {
        let begin = local_begin(&bare, at);
        let end = host_end(&bare, at);
        let whole = bare.get(at).is_some_and(|word| has_host(word)) || end > at + 1;
        return whole.then(|| words[begin..end].join(" "));
    }
    let at = bare.iter().rposition(|word| *word == "at").filter(|at| {
        *at > 0 && (bare.get(at + 1).is_some_and(|word| word.contains('.')) || host_end(&bare, at + 1) > at + 2)
    })?;
    let before = bare.get(..at)?;
    let begin = before
        .iter()
        .rposition(|word| BEFORE_ADDRESS.contains(word))
        .map_or(0, |word| word + 1);
    (begin < at).then(|| words[begin..host_end(&bare, at + 1)].join(" "))
}

fn has_host(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
}

/// Returns where an address begins if one word contains the at sign; spoken signs and single letters before
/// belong to it.
fn local_begin(words: &[&str], at: usize) -> usize {
    let mut begin = at;
    while begin > 0 {
        let sign = begin > 1 && SIGNS.contains(&words[begin - 1]);
        let letter = words[begin - 1].chars().count() == 1;
        match (sign, letter) {
            (true, _) => begin -= 2,
            (false, true) => begin -= 1,
            (false, false) => break,
        }
    }
    begin
}

/// Returns the end of a host that begins here: "example dot co dot uk".
fn host_end(words: &[&str], at: usize) -> usize {
    let mut end = (at + 1).min(words.len());
    while let Some(next) = words.get(end)
        && (SIGNS.contains(next) && end + 1 < words.len())
    {
        end += 2;
    }
    end
}

/// Joins the earlier words and their continuation; returns the latter alone if the speaker starts over.
pub(super) fn joined(before: &str, text: &str) -> String {
    let (had, new) = (phone(before), phone(text));
    let anew = had.len() > 1 && new.len() > had.len() && new.starts_with(&had);
    match anew || before.is_empty() {
        true => text.to_owned(),
        false => format!("{before} {text}"),
    }
}

/// Returns whether the text consists of digits and words without meaning.
pub(super) fn is_digits(text: &str) -> bool {
    let plain = plain(text);
    let told = |word: &&str| !BETWEEN.contains(word) && !floor::is_nod(word) && *word != "it's";
    let mut told = plain.split(' ').filter(told).peekable();
    told.peek().is_some() && told.all(|word| numbers::run(word).is_some() || ["double", "triple"].contains(&word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn descriptions_tell_what_is_dictated() {
        for (description, expected) in [
            ("a phone number to reach you", Some(Dictated::Phone)),
            ("What is your phone number?", Some(Dictated::Phone)),
            ("their mobile", Some(Dictated::Phone)),
            ("the brand of the phone they use", None),
            ("the caller's e-mail address", Some(Dictated::Email)),
            ("email", Some(Dictated::Email)),
            ("what the email was about", None),
            ("phone number or email address", None),
            ("the order number", None),
        ] {
            assert_eq!(Dictated::of(description), expected, "{description}");
        }
    }

    #[test]
    fn a_phone_number_is_its_digits() {
        for (said, expected) in [
            ("um, 856 639 5876", Some("8566395876")),
            ("My them is 580 211 3573", Some("5802113573")),
            ("Oh, um, 856 639 5876.", Some("8566395876")),
            ("oh seven nine one, double two three four", Some("07912234")),
            ("This one is 555 0142 88", Some("555014288")),
            ("It's 555-0142 and then 88", Some("555014288")),
            ("555 123 4567, no wait, 555 123 4568", Some("5551234568")),
            ("+49 30 1234567", Some("49301234567")),
            ("My number is 823", None),
            ("Why do you ask?", None),
            ("", None),
        ] {
            assert_eq!(Dictated::Phone.said_in(said).as_deref(), expected, "{said}");
        }
    }

    #[test]
    fn an_address_is_itself() {
        for (said, expected) in [
            (
                "by e-mail address is um peter.garcia@example.com",
                Some("peter.garcia@example.com"),
            ),
            (
                "It's maria dot miller@example.com.",
                Some("maria dot miller@example.com"),
            ),
            (
                "It's maria dot miller at example.com",
                Some("maria dot miller at example.com"),
            ),
            ("m a r i a at example dot com", Some("m a r i a at example dot com")),
            (
                "Um, my email is john at mail dot co dot uk, thanks",
                Some("john at mail dot co dot uk"),
            ),
            ("I am at home", None),
            ("peter garcia", None),
            ("@", None),
            ("", None),
        ] {
            assert_eq!(Dictated::Email.said_in(said).as_deref(), expected, "{said}");
        }
    }

    #[test]
    fn a_number_said_anew_is_not_put_behind_its_first_part() {
        assert_eq!(phone(&joined("My number is 823", "151 9126.")), "8231519126");
        assert_eq!(phone(&joined("My number is 823", "823 151 9126.")), "8231519126");
        for (said, digits) in [
            ("151 9126.", true),
            ("um, one five one", true),
            ("It's 151 9126", true),
            ("At ten o'clock", false),
            ("okay", false),
            ("", false),
        ] {
            assert_eq!(is_digits(said), digits, "{said}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_taken(said in "[a-z0-9@. ]{0,40}|\\PC{0,40}") {
            for dictated in [Dictated::Phone, Dictated::Email] {
                let _ = dictated.said_in(&said);
            }
            let _ = (is_digits(&said), joined(&said, &said));
        }
    }
}
