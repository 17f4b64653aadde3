//! Makes questions from the descriptions that clients write for models: "the caller's full name", "number of
//! guests", "whether they own a car".

use super::answer::spoken;
use crate::agent::{Entity, EntityKind};

/// Most options named in a question; with more options the question is left open.
const OPTIONS_SPOKEN: usize = 6;
/// Longest description, in words, that counts as a name. Of a longer one, which is an instruction, the first
/// clause is used.
const MAX_WORDS: usize = 14;

/// Question for an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Its first wording.
    pub first: String,
    /// Its wording after an answer that was not understood.
    pub again: String,
    /// Words by which the agent's own wording of the question is recognised.
    pub keywords: Vec<String>,
}

/// Words in descriptions that mean the person on the phone.
const PEOPLE: [&str; 14] = [
    "the caller",
    "the user",
    "the customer",
    "the client",
    "the contact",
    "the person",
    "the guest",
    "the patient",
    "the lead",
    "the callee",
    "caller",
    "user",
    "customer",
    "he or she",
];
/// Instructions before the requested value.
const COMMANDS: [&str; 14] = [
    "ask for",
    "ask about",
    "ask the user for",
    "ask the caller for",
    "ask",
    "collect",
    "extract",
    "capture",
    "record",
    "get",
    "find out",
    "determine",
    "note",
    "identify",
];
const CUTS: [&str; 11] = [
    ". ",
    "; ",
    ": ",
    " (",
    ", e.g",
    " e.g",
    ", i.e",
    ", such as",
    " such as",
    ", for example",
    "\n",
];
const PREPOSITIONS: [&str; 12] = [
    " of ", " for ", " in ", " to ", " from ", " at ", " on ", " with ", " about ", " by ", " who ", " that ",
];
/// Verbs whose second person is not the third person without its `s`.
const VERBS: [(&str, &str); 8] = [
    ("has", "have"),
    ("does", "do"),
    ("goes", "go"),
    ("wishes", "wish"),
    ("tries", "try"),
    ("uses", "use"),
    ("lives", "live"),
    ("is", "are"),
];
/// Verbs that come before the subject in a question.
const AUXILIARIES: [&str; 12] = [
    "are", "is", "were", "was", "can", "could", "would", "will", "should", "may", "might", "must",
];
/// Words too common to recognise a question by.
const COMMON: [&str; 27] = [
    "the", "your", "you", "what", "which", "who", "how", "caller", "user", "customer", "client", "their", "they",
    "whether", "for", "and", "are", "does", "did", "could", "tell", "would", "with", "have", "has", "that", "this",
];

impl Question {
    /// Creates the question for an entity.
    pub fn of(name: &str, entity: &Entity) -> Self {
        let wanted = wanted(name, &entity.description);
        let options = options(entity);
        let first = match &wanted {
            Wording::Question(question) => question.clone(),
            Wording::Whether(clause) => whether(clause),
            Wording::Clause(clause) => format!("Could you tell me {}?", second_person(clause)),
            Wording::Thing(thing) if entity.kind == EntityKind::Boolean && entity.allowed.is_empty() => {
                yes_or_no_question(thing)
            }
            Wording::Thing(thing) => what_is(thing),
        };
        let first = with_options(&first, &options);
        let again = again(&wanted, &first, entity, &options);
        let keywords = format!("{} {}", in_words(name), wanted.text());
        Self {
            first,
            again,
            keywords: keywords_of(&keywords),
        }
    }
}

/// Form of a description.
enum Wording {
    /// A question.
    Question(String),
    /// `whether …`, without that word.
    Whether(String),
    /// `how many …`, `which …`.
    Clause(String),
    /// A noun phrase.
    Thing(String),
}

impl Wording {
    fn text(&self) -> &str {
        match self {
            Self::Question(text) | Self::Whether(text) | Self::Clause(text) | Self::Thing(text) => text,
        }
    }
}

fn wanted(name: &str, description: &str) -> Wording {
    let description = description.trim();
    if let Some(end) = description.find('?').filter(|end| *end > 0) {
        return Wording::Question(capitalised(&description[..=end]));
    }
    let mut text = description.to_owned();
    for cut in CUTS {
        if let Some(at) = text.find(cut).filter(|at| *at > 0) {
            text.truncate(at);
        }
    }
    let words: Vec<&str> = text
        .trim_end_matches(['.', ',', ' '])
        .split_whitespace()
        .take(MAX_WORDS)
        .collect();
    let text = lowered(&words.join(" "));
    let text = COMMANDS
        .iter()
        .find_map(|command| after_word(&text, command))
        .unwrap_or(&text)
        .to_owned();
    if text.is_empty() {
        return Wording::Thing(in_words(name));
    }
    for word in ["whether or not", "whether", "if"] {
        if let Some(clause) = after_word(&text, word) {
            return Wording::Whether(clause.to_owned());
        }
    }
    let asks = ["how", "what", "which", "when", "where", "who", "why"];
    if asks.iter().any(|word| after_word(&text, word).is_some()) {
        return Wording::Clause(text);
    }
    Wording::Thing(text)
}

/// Splits `preferredDay` and `preferred_day` into words.
pub(crate) fn in_words(name: &str) -> String {
    let mut words = String::new();
    let mut lower = false;
    for c in name.chars() {
        if matches!(c, '_' | '-' | '.' | ' ') {
            words.push(' ');
        } else {
            if c.is_uppercase() && lower {
                words.push(' ');
            }
            words.extend(c.to_lowercase());
        }
        lower = c.is_lowercase();
    }
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() { "answer".into() } else { words }
}

fn what_is(thing: &str) -> String {
    if let Some(counted) = after_word(thing, "number of").or_else(|| after_word(thing, "the number of")) {
        return format!("How many {}?", second_person(counted));
    }
    if let Some(rest) = after_word(thing, "any") {
        return format!("Do you have any {}?", second_person(rest));
    }
    if after_word(thing, "a").or_else(|| after_word(thing, "an")).is_some() {
        return format!("Could you give me {}?", second_person(thing));
    }
    let yours = yours(thing);
    let verb = if is_plural(&yours) { "are" } else { "is" };
    format!("What {verb} {yours}?")
}

/// Turns a noun phrase to the person on the phone: "the caller's full name" becomes "your full name".
fn yours(thing: &str) -> String {
    for person in PEOPLE {
        for owned in [format!("{person}'s"), format!("{person}\u{2019}s")] {
            if let Some(rest) = after_word(thing, &owned) {
                return format!("your {}", second_person(rest));
            }
        }
        if let Some(rest) = thing.strip_suffix(&format!(" of {person}")) {
            let rest = after_word(rest, "the").unwrap_or(rest);
            return format!("your {rest}");
        }
    }
    for owner in ["their", "his or her", "his/her", "your"] {
        if let Some(rest) = after_word(thing, owner) {
            return format!("your {}", second_person(rest));
        }
    }
    if ["the", "a", "an"]
        .iter()
        .any(|article| after_word(thing, article).is_some())
    {
        return second_person(thing);
    }
    format!("your {}", second_person(thing))
}

fn is_plural(thing: &str) -> bool {
    let head = PREPOSITIONS
        .iter()
        .filter_map(|word| thing.find(word))
        .min()
        .unwrap_or(thing.len());
    let noun = thing[..head].rsplit(' ').next().unwrap_or_default();
    noun.ends_with('s') && !["ss", "us", "is", "news"].iter().any(|end| noun.ends_with(end))
}

/// Makes a question from "they own a car".
fn whether(clause: &str) -> String {
    let subject = PEOPLE
        .iter()
        .chain(&["they", "you", "he", "she"])
        .find_map(|person| after_word(clause, person));
    match subject {
        Some(predicate) => do_you(predicate),
        None => format!("Could you tell me whether {}?", second_person(clause)),
    }
}

/// Makes a question from "own a car", "owns a car", "are available", "would like a call".
fn do_you(predicate: &str) -> String {
    let (verb, rest) = predicate.split_once(' ').unwrap_or((predicate, ""));
    let verb = base(verb);
    let rest = second_person(rest);
    let gap = if rest.is_empty() { "" } else { " " };
    match verb.as_str() {
        verb if AUXILIARIES.contains(&verb) => format!("{} you{gap}{rest}?", capitalised(verb)),
        // Distinguish "has agreed" from "has a car".
        "have"
            if rest
                .split(' ')
                .next()
                .is_some_and(|word| word.len() > 4 && word.ends_with("ed")) =>
        {
            format!("Have you {rest}?")
        }
        verb => format!("Do you {verb}{gap}{rest}?"),
    }
}

fn base(verb: &str) -> String {
    let known = VERBS.iter().find(|(third, _)| *third == verb);
    match known {
        Some((_, base)) => (*base).to_owned(),
        None if AUXILIARIES.contains(&verb) || verb.ends_with("ss") => verb.to_owned(),
        None => verb.strip_suffix('s').unwrap_or(verb).to_owned(),
    }
}

/// Makes a yes-or-no question from a phrase such as "owns a car", "is a homeowner", "interest in a visit".
fn yes_or_no_question(thing: &str) -> String {
    let thing = PEOPLE
        .iter()
        .find_map(|person| after_word(thing, person))
        .unwrap_or(thing);
    let verb = thing.split(' ').next().unwrap_or_default();
    let finite = VERBS.iter().any(|(third, _)| *third == verb)
        || [
            "owns", "wants", "needs", "likes", "agrees", "accepts", "plans", "prefers", "works", "smokes", "drives",
        ]
        .contains(&verb);
    if finite {
        do_you(thing)
    } else {
        format!("Yes or no: {}?", second_person(thing))
    }
}

/// Turns the pronouns of a description to the second person.
fn second_person(text: &str) -> String {
    let mut text = format!(" {text} ");
    for person in PEOPLE {
        text = text.replace(&format!(" {person}'s "), " your ");
        text = text.replace(&format!(" {person} "), " you ");
    }
    for (third, second) in [
        (" they ", " you "),
        (" their ", " your "),
        (" them ", " you "),
        (" themselves ", " yourself "),
    ] {
        text = text.replace(third, second);
    }
    for (third, _) in VERBS {
        text = text.replace(&format!(" you {third} "), &format!(" you {} ", base(third)));
    }
    text.replace(" you wants ", " you want ")
        .replace(" you needs ", " you need ")
        .trim()
        .to_owned()
}

fn options(entity: &Entity) -> Option<String> {
    let names: Vec<String> = entity.allowed.iter().map(spoken).collect();
    let (last, others) = names.split_last().filter(|_| names.len() <= OPTIONS_SPOKEN)?;
    Some(if others.is_empty() {
        last.clone()
    } else {
        format!("{} or {last}", others.join(", "))
    })
}

fn with_options(question: &str, options: &Option<String>) -> String {
    match options {
        Some(options) => format!("{}: {options}?", question.trim_end_matches('?')),
        None => question.to_owned(),
    }
}

fn again(wanted: &Wording, first: &str, entity: &Entity, options: &Option<String>) -> String {
    let hint = match entity.kind {
        _ if !entity.allowed.is_empty() => "",
        EntityKind::Boolean => "please say yes or no: ",
        EntityKind::Integer | EntityKind::Number => "please say a number: ",
        EntityKind::String => "",
    };
    match wanted {
        Wording::Thing(thing) if entity.kind == EntityKind::String && !first.starts_with("Do you") => {
            with_options(&format!("Could you tell me {} once more?", yours(thing)), options)
        }
        Wording::Thing(_) | Wording::Question(_) | Wording::Whether(_) | Wording::Clause(_) => {
            // The question comes last, because people answer sooner when a text ends with a question.
            format!("Once more, {hint}{first}")
        }
    }
}

fn keywords_of(text: &str) -> Vec<String> {
    let mut keywords: Vec<String> = super::phrases::plain(text)
        .split(' ')
        .map(|word| word.strip_suffix("'s").unwrap_or(word).to_owned())
        .filter(|word| word.len() >= 3 && !COMMON.contains(&word.as_str()))
        .collect();
    keywords.sort();
    keywords.dedup();
    keywords
}

/// Returns the text after a word or words at the beginning.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.strip_prefix(word)?.strip_prefix(' ').map(str::trim_start)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Makes the first letter lower case, unless the first word is an acronym.
fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn asked(name: &str, kind: EntityKind, description: &str) -> String {
        let entity = Entity {
            kind,
            description: description.into(),
            allowed: Vec::new(),
        };
        Question::of(name, &entity).first
    }

    #[test]
    fn descriptions_become_questions_that_people_would_ask() {
        use EntityKind::{Boolean, Integer, String};
        for (kind, description, question) in [
            (String, "the caller's full name", "What is your full name?"),
            (String, "The user's email address.", "What is your email address?"),
            (String, "Full name of the caller", "What is your full name?"),
            (
                String,
                "preferred day for a visit",
                "What is your preferred day for a visit?",
            ),
            (String, "Date of birth", "What is your date of birth?"),
            (String, "the reason for the call", "What is the reason for the call?"),
            (String, "ZIP code, e.g. 90210", "What is your ZIP code?"),
            (String, "Dietary requirements", "What are your dietary requirements?"),
            (String, "any allergies", "Do you have any allergies?"),
            (
                String,
                "a short summary of their problem",
                "Could you give me a short summary of your problem?",
            ),
            (String, "Ask for the order number", "What is the order number?"),
            (
                String,
                "What is your favourite colour?",
                "What is your favourite colour?",
            ),
            (
                String,
                "when they want to move",
                "Could you tell me when you want to move?",
            ),
            (Integer, "number of guests", "How many guests?"),
            (
                Integer,
                "how many guests will come",
                "Could you tell me how many guests will come?",
            ),
            (Boolean, "whether they own a car", "Do you own a car?"),
            (Boolean, "Whether the customer owns a car", "Do you own a car?"),
            (
                Boolean,
                "if the caller is available on Monday",
                "Are you available on Monday?",
            ),
            (Boolean, "whether they would like a call", "Would you like a call?"),
            (
                Boolean,
                "whether the user has agreed to the terms",
                "Have you agreed to the terms?",
            ),
            (Boolean, "whether they have a dog", "Do you have a dog?"),
            (Boolean, "wants a callback", "Do you want a callback?"),
            (
                Boolean,
                "whether the shop is open",
                "Could you tell me whether the shop is open?",
            ),
            (Boolean, "confirmed attendance", "Yes or no: confirmed attendance?"),
        ] {
            assert_eq!(asked("x", kind, description), question, "{description}");
        }
    }

    #[test]
    fn without_a_description_the_name_is_asked_for() {
        assert_eq!(
            asked("preferredDay", EntityKind::String, ""),
            "What is your preferred day?"
        );
        assert_eq!(asked("full_name", EntityKind::String, " "), "What is your full name?");
        assert_eq!(asked("number_of_guests", EntityKind::Integer, ""), "How many guests?");
    }

    #[test]
    fn options_are_named() {
        let allowed = vec![json!("morning"), json!("late_evening"), json!(3)];
        let entity = Entity {
            description: "preferred time".into(),
            allowed,
            ..Entity::default()
        };
        let question = Question::of("time", &entity);
        assert_eq!(
            question.first,
            "What is your preferred time: morning, late evening or 3?"
        );
        assert_eq!(
            question.again,
            "Could you tell me your preferred time once more: morning, late evening or 3?"
        );
    }

    #[test]
    fn a_repetition_says_what_is_expected() {
        let entity = Entity {
            kind: EntityKind::Boolean,
            description: "whether they own a car".into(),
            ..Entity::default()
        };
        assert_eq!(
            Question::of("car", &entity).again,
            "Once more, please say yes or no: Do you own a car?"
        );
    }

    proptest! {
        #[test]
        fn any_description_makes_a_question(name in "\\PC{0,12}", description in "\\PC{0,60}") {
            for kind in [EntityKind::String, EntityKind::Integer, EntityKind::Boolean] {
                let entity = Entity { kind, description: description.clone(), allowed: Vec::new() };
                let question = Question::of(&name, &entity);
                prop_assert!(question.first.contains('?') && question.again.contains('?'));
            }
        }
    }
}
