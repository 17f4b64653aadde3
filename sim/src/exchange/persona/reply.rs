//! Replies to whatever an agent asks, in a short sentence. Pure, and the same for the same person.

use super::person::Person;

/// Returns whether the agent says goodbye.
pub(super) fn is_goodbye(text: &str) -> bool {
    let text = text.to_lowercase();
    let leaves = "goodbye|good bye|bye|have a nice|have a great|have a good|have a lovely|farewell";
    !text.trim_end().ends_with('?') && has_any(&text, leaves)
}

/// Returns the last question in a text, or its last sentence.
pub(super) fn question(text: &str) -> &str {
    let text = text.trim();
    let end = text.rfind('?').map_or(text.len(), |at| at + 1);
    let before = text[..end].trim_end_matches(['?', '.', '!', ' ']);
    let begin = before
        .rfind(['?', '!', '\n'])
        .into_iter()
        .chain(before.rfind(". "))
        .max()
        .map_or(0, |at| at + 1);
    text[begin..end].trim()
}

/// Returns whether `phrase` stands in `text` as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Returns whether one of the `phrases`, separated by `|`, stands in `text`.
fn has_any(text: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| has_phrase(text, phrase))
}

/// Returns the reply to the agent's words.
pub(super) fn to(text: &str, person: Person) -> String {
    let asked = question(text);
    let low = asked.to_lowercase();
    if !asked.ends_with('?') && !is_request(&low) {
        return person.pick(&low, &["Okay.", "I see.", "All right."]).to_owned();
    }
    if let Some(option) = chosen(asked, person) {
        return option;
    }
    if let Some(fact) = fact(&low, person) {
        return fact;
    }
    if is_yes_no(&low) {
        let offered = has_any(&low, "would|shall|could|can|may|should");
        let answers: &[&str] = if offered {
            &["Yes.", "Yes, please."]
        } else {
            &["Yes.", "Yes, sure."]
        };
        return person.pick(&low, answers).to_owned();
    }
    "I think it is quite good so far.".to_owned()
}

/// Returns whether it is a request without a question mark.
fn is_request(low: &str) -> bool {
    has_any(
        low,
        "please tell|please say|please give|please spell|please choose|tell me|let me know",
    )
}

/// Numbers that are read from a card.
const ACCOUNTS: &str =
    "order number|customer number|account number|booking number|reference number|policy number|membership number";

/// Returns ten digits in three groups.
fn digits(of: &str, person: Person) -> String {
    let group = |at: usize, least: usize, span: usize| least + person.choice(&format!("{of} {at}"), span);
    format!(
        "{} {:03} {:04}",
        group(0, 200, 800),
        group(1, 0, 1_000),
        group(2, 0, 10_000)
    )
}

fn fact(low: &str, person: Person) -> Option<String> {
    let count = person.choice("count", 7) + 2;
    Some(if has_any(low, "email|e-mail|mail address") {
        format!("My e-mail address is {}.", person.email())
    } else if has_any(low, "first name|given name") {
        format!("My first name is {}.", person.first_name())
    } else if has_any(low, "last name|family name|surname") {
        format!("My last name is {}.", person.last_name())
    } else if has_phrase(low, "name") {
        format!("My name is {} {}.", person.first_name(), person.last_name())
    } else if has_any(low, "phone number|telephone number|number can we|reach you") {
        format!("My number is {}.", digits("phone", person))
    } else if has_any(low, ACCOUNTS) {
        format!("It is {}.", digits("account", person))
    } else if has_any(low, "how old|your age") {
        format!("I am {} years old.", 25 + person.choice("age", 40))
    } else if has_any(
        low,
        "how many|how much|number of|what number|which number|how long|how often",
    ) || has_any(low, "on a scale|rate|from 1 to|from one to|quantity|party size|budget")
    {
        format!("{count}.")
    } else if has_any(low, "birthday|date of birth|born") {
        format!("The {} of May, 19{}.", count + 8, 60 + person.choice("year", 39))
    } else if has_any(low, "day and time|date and time") {
        person
            .pick("both", &["Tomorrow at three.", "Tomorrow at four."])
            .to_owned()
    } else if has_any(low, "what time|which time|what hour|at what|time of day") {
        person
            .pick("hour", &["At ten in the morning.", "At half past two.", "At five."])
            .to_owned()
    } else if has_any(low, "date|day|when|weekday") {
        person
            .pick("day", &["Next Tuesday.", "On Friday.", "Next Monday."])
            .to_owned()
    } else if has_any(low, "zip|postal code|postcode") {
        format!("{}.", 10_000 + person.choice("zip", 80_000))
    } else if has_any(low, "address|street") {
        format!("{} Main Street, Springfield.", 10 + person.choice("house", 80))
    } else if has_any(low, "city|town|where|location") {
        person
            .pick("city", &["In Springfield.", "In Riverside.", "In Fairview."])
            .to_owned()
    } else if has_phrase(low, "why") {
        "Because it suits me well.".to_owned()
    } else if has_any(low, "company|employer") {
        "I work for Northwind.".to_owned()
    } else {
        return None;
    })
}

fn is_yes_no(low: &str) -> bool {
    const OPENERS: [&str; 24] = [
        "do", "does", "did", "are", "is", "was", "were", "can", "could", "would", "will", "have", "has", "had", "may",
        "shall", "should", "am", "don't", "isn't", "aren't", "true", "right", "yes",
    ];
    let first = low
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .find(|word| !word.is_empty());
    let openers = |word: &str| OPENERS.contains(&word);
    first.is_some_and(openers)
        || low
            .rsplit([',', ';', ':'])
            .next()
            .and_then(|last| last.split_whitespace().next())
            .is_some_and(openers)
}

/// Picks one of "A, B or C". Words before the first option are not part of it: of "would you like tea or
/// coffee" only "tea" is an option.
fn chosen(asked: &str, person: Person) -> Option<String> {
    let text = asked.trim_end_matches(['?', '.', ' ']);
    let at = text
        .to_lowercase()
        .rfind(" or ")
        .filter(|at| text.is_char_boundary(*at))?;
    let (before, last) = (&text[..at], text.get(at + 4..)?.trim());
    // A colon or a question word's verb phrase leads in: "one of these: small, medium or large".
    let list = before.rsplit([':', ';']).next().unwrap_or(before).trim_end_matches(',');
    let mut options: Vec<&str> = list.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let first = options.first_mut()?;
    if !before.contains(':') {
        *first = tail(first, last.split_whitespace().count());
    }
    options.push(last);
    if options
        .iter()
        .any(|option| option.is_empty() || option.split_whitespace().count() > 6)
    {
        return None;
    }
    let low: Vec<String> = options.iter().map(|option| option.to_lowercase()).collect();
    if low.iter().any(|option| option == "yes") {
        return Some("Yes.".to_owned());
    }
    if low.last().is_some_and(|last| matches!(&**last, "not" | "no")) {
        return Some("Yes.".to_owned());
    }
    let option = options[person.choice(asked, options.len())];
    let mut letters = option.chars();
    let first = letters.next()?;
    Some(format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// Returns the last `words` words.
fn tail(text: &str, words: usize) -> &str {
    let mut starts: Vec<usize> = text
        .char_indices()
        .scan(true, |gap, (at, c)| {
            let begins = *gap && !c.is_whitespace();
            *gap = c.is_whitespace();
            Some(begins.then_some(at))
        })
        .flatten()
        .collect();
    starts.reverse();
    starts.get(words.max(1) - 1).map_or(text, |at| &text[*at..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> String {
        to(text, Person::new("+15551234561", 7))
    }

    #[test]
    fn each_kind_of_question_gets_its_kind_of_answer() {
        for (asked, holds) in [
            ("Hi, this is Ava from Acme. May I ask your full name?", "My name is"),
            ("What is your e-mail address?", "@example.com"),
            ("Great. What day would suit you?", "day"),
            ("What day and time would suit you for an appointment?", "Tomorrow at"),
            ("And at what time?", "At "),
            ("Do you have a minute?", "Yes"),
            ("Is it correct, yes or no?", "Yes"),
            ("Would you like to come or not?", "Yes"),
            ("Where do you live?", "In "),
            ("How did you find the service?", "I think"),
            ("Thank you, I noted that.", "."),
            ("Please tell me your name.", "My name is"),
            ("What is your phone number?", "My number is"),
            ("May I have your order number?", "It is"),
        ] {
            let reply = said(asked);
            assert!(reply.contains(holds), "{asked} -> {reply}");
        }
        for asked in [
            "How many guests will come?",
            "On a scale from 1 to 10, how satisfied are you?",
        ] {
            assert!(
                said(asked).trim_end_matches('.').parse::<u32>().is_ok(),
                "{asked} -> {}",
                said(asked)
            );
        }
    }

    #[test]
    fn a_choice_is_answered_with_one_of_its_options() {
        for (asked, options) in [
            ("Would you prefer morning or afternoon?", vec!["Morning.", "Afternoon."]),
            ("Do you want red, green, or blue?", vec!["Red.", "Green.", "Blue."]),
            (
                "Which size: small, extra large or medium?",
                vec!["Small.", "Extra large.", "Medium."],
            ),
            (
                "Shall we say next Monday or next Friday?",
                vec!["Next Monday.", "Next Friday."],
            ),
        ] {
            for seed in 0..20 {
                let reply = to(asked, Person::new("+15551234561", seed));
                assert!(options.contains(&&*reply), "{asked} -> {reply}");
            }
        }
    }

    #[test]
    fn a_goodbye_is_known_from_a_question() {
        for text in ["Thank you for your time. Goodbye!", "Have a nice day.", "Bye."] {
            assert!(is_goodbye(text), "{text}");
        }
        for text in [
            "Before I say goodbye, may I ask your name?",
            "Do you buy bread?",
            "The bypass is closed.",
        ] {
            assert!(!is_goodbye(text), "{text}");
        }
    }

    #[test]
    fn people_differ_and_stay_the_same() {
        let names: std::collections::BTreeSet<String> = (0..50)
            .map(|n| to("What is your name?", Person::new(&format!("+1555123456{n}"), 0)))
            .collect();
        assert!(names.len() > 20, "{}", names.len());
        assert_eq!(said("What is your name?"), said("What is your name?"));
    }

    proptest! {
        #[test]
        fn any_text_gets_a_reply(text in "\\PC{0,120}", with_or in any::<bool>(), seed in any::<u64>()) {
            let text = if with_or { format!("{text} or {text}?") } else { text };
            let reply = to(&text, Person::new("+15551234561", seed));
            prop_assert!(!reply.is_empty());
        }
    }
}
