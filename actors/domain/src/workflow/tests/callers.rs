//! A hundred callers through each example, made from seeds: each comes to the end that its wishes lead to, without a
//! model.

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use super::{examples::example, *};

const CALLERS: u64 = 100;
/// Turns after which a caller would have hung up.
const MOST_TURNS: usize = 60;

/// Words that answer nothing.
const SMALL_TALK: [&str; 9] = [
    "Hello, can you hear me?",
    "Who is this?",
    "One moment, please.",
    "Sorry, I didn't catch that.",
    "Hm, let me think.",
    "I don't understand.",
    "How are you today?",
    "Could you say that again?",
    "I'm not sure.",
];

const YES: [&str; 9] = [
    "Yes, please.",
    "Yes.",
    "Of course.",
    "Sure, why not.",
    "Absolutely.",
    "Yes, I would.",
    "No doubt about it.",
    "That sounds good.",
    "No wait, yes, please.",
];
const NO: [&str; 8] = [
    "No, thank you.",
    "Nope.",
    "I don't think so.",
    "I'd rather not.",
    "Not really.",
    "Never.",
    "No, I would not.",
    "Yes, sorry, no.",
];
const INTERESTED: [&str; 4] = [
    "I'm interested.",
    "Yes, I am interested in that.",
    "Yes, tell me more.",
    "Okay, go on.",
];
const NOT_INTERESTED: [&str; 4] = [
    "No, we are not interested.",
    "Not interested, thanks.",
    "No, we have one already.",
    "No thanks, I'm busy.",
];
const RIGHT: [&str; 5] = [
    "Yes, that's right.",
    "Exactly.",
    "That is correct.",
    "Sounds good.",
    "Perfect, yes.",
];
const WRONG: [&str; 5] = ["No.", "No, that's wrong.", "That is not right.", "No, sorry.", "Wrong."];

/// Departments, and what callers say who want them.
const DEPARTMENTS: [(&str, [&str; 5]); 4] = [
    (
        "sales",
        [
            "I'd like to buy some telephones.",
            "Could you send me an offer?",
            "Sales, please.",
            "Can I talk to someone in sales?",
            "I want to buy something.",
        ],
    ),
    (
        "support",
        [
            "My router is broken.",
            "I need technical support.",
            "Support, please.",
            "Put me through to technical support, please.",
            "Something is broken here.",
        ],
    ),
    (
        "billing",
        [
            "I have a question about my invoice.",
            "It's about billing.",
            "My last invoice is wrong.",
            "Connect me with billing, please.",
            "I got a bill that I don't understand.",
        ],
    ),
    (
        "person",
        [
            "Can I speak to a human, please?",
            "Operator.",
            "I want to talk to a real person.",
            "Could you connect me with a person?",
            "A person, please.",
        ],
    ),
];
const HOURS: [&str; 3] = [
    "What are your opening hours?",
    "When are you open?",
    "How long are you open today?",
];

/// A caller.
struct Caller {
    random: StdRng,
}

/// A call that ended, or that the caller gave up.
struct Ended {
    path: Vec<String>,
    last: Step,
    values: BTreeMap<String, Value>,
    /// Words of the caller, with the node before each.
    said: Vec<String>,
}

impl Caller {
    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.choose(&mut self.random).copied().unwrap()
    }

    /// Returns two different texts.
    fn two_of<'a>(&mut self, words: &[&'a str]) -> [&'a str; 2] {
        let (one, step) = (
            self.random.random_range(0..words.len()),
            self.random.random_range(1..words.len()),
        );
        [words[one], words[(one + step) % words.len()]]
    }

    fn is(&mut self, share: f64) -> bool {
        self.random.random_bool(share)
    }

    /// Returns a number in digits or in words.
    fn number(&mut self, number: u32) -> String {
        match self.is(0.5) {
            true => number.to_string(),
            false => in_words(number),
        }
    }

    /// Fills one of the texts in: `{}` is the answer, `{not}` another one.
    fn filled(&mut self, texts: &[&str], [answer, other]: [&str; 2]) -> String {
        self.one_of(texts).replace("{}", answer).replace("{not}", other)
    }

    /// Walks until the call ends. `answer` gives the caller's words in a node, from the values so far. Now and then the
    /// caller says something else.
    fn calls(
        &mut self,
        workflow: &Value,
        mut answer: impl FnMut(&mut Self, &str, &BTreeMap<String, Value>) -> String,
    ) -> Ended {
        let mut call = Call::new(workflow);
        let (mut path, mut last) = call.take(&Input::Begin);
        let mut said = Vec::new();
        while !matches!(last, Step::End { .. } | Step::Transfer { .. }) && said.len() < MOST_TURNS {
            let (reached, step) = if matches!(last, Step::Say { .. }) {
                call.take(&Input::Spoken)
            } else {
                let at = call.walk.at().unwrap().to_owned();
                let words = match self.is(0.3) {
                    true => self.one_of(&SMALL_TALK).to_owned(),
                    false => answer(self, &at, call.walk.values()),
                };
                said.push(format!("{at}: {words}"));
                call.hear(&words)
            };
            path.extend(reached);
            last = step;
        }
        let path = path.iter().filter_map(|hop| hop.split('>').nth(1));
        Ended {
            path: path.map(str::to_owned).collect(),
            last,
            values: call.walk.values().clone(),
            said,
        }
    }
}

/// Has a hundred callers call. Each is made by its seed.
fn each(mut calls: impl FnMut(&mut Caller, u64)) {
    for seed in 0..CALLERS {
        let random = StdRng::seed_from_u64(seed);
        calls(&mut Caller { random }, seed);
    }
}

/// Returns a number below a thousand in words.
fn in_words(number: u32) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let small = |number: u32| SMALL[number as usize];
    match number {
        0..20 => small(number).to_owned(),
        20..100 if number.is_multiple_of(10) => TENS[number as usize / 10 - 2].to_owned(),
        20..100 => format!("{}-{}", TENS[number as usize / 10 - 2], small(number % 10)),
        _ if number.is_multiple_of(100) => format!("{} hundred", small(number / 100)),
        _ => format!("{} hundred and {}", small(number / 100), in_words(number % 100)),
    }
}

#[test]
fn a_hundred_callers_are_qualified_by_interest_and_seats() {
    let workflow = example("qualification");
    each(|caller, seed| {
        let is_interested = caller.is(0.7);
        let seats = caller.random.random_range(1..300_u32);
        let call = caller.calls(&workflow, |caller, node, _| {
            let [seats, other] = [seats, seats + 7].map(|number| caller.number(number));
            match (node, is_interested, caller.is(0.5)) {
                ("interest", true, true) => caller.one_of(&INTERESTED).to_owned(),
                ("interest", true, false) => caller.one_of(&YES).to_owned(),
                ("interest", false, true) => caller.one_of(&NOT_INTERESTED).to_owned(),
                ("interest", false, false) => caller.one_of(&NO).to_owned(),
                _ => caller.filled(
                    &[
                        "{}.",
                        "About {}.",
                        "We need {} seats.",
                        "We are {} people.",
                        "Around {}, I think.",
                        "Well, quite a few.",
                        "Between {} and {not}.",
                        "{not}, no, {}.",
                        "{not}, sorry, I mean {}.",
                    ],
                    [&seats, &other],
                ),
            }
        });
        let nodes = match (is_interested, seats) {
            (false, _) => ["not_now", "not_interested"].as_slice(),
            (true, 50..) => &["size", "large", "qualified"],
            (true, _) => &["size", "small", "qualified"],
        };
        assert_eq!(call.path[2..], *nodes, "caller {seed}, {seats}: {:#?}", call.said);
        assert!(matches!(call.last, Step::End { .. }), "caller {seed}: {:#?}", call.said);
    });
}

#[test]
fn a_hundred_callers_are_booked_in_when_they_want_to_come() {
    let workflow = example("appointment");
    let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    each(|caller, seed| {
        let day = caller.two_of(&days);
        let time = caller.two_of(&["morning", "afternoon"]);
        let call = caller.calls(&workflow, |caller, node, values| match node {
            "day" if caller.is(0.1) => format!("On {}.", day[1]),
            "day" => caller.filled(
                &[
                    "{} please.",
                    "How about {}?",
                    "On {}.",
                    "{} would be great.",
                    "Not {not}, please.",
                    "{not}, no, {}.",
                    "{not}, sorry, I mean {}.",
                ],
                day,
            ),
            "time" => caller.filled(
                &[
                    "In the {}, please.",
                    "The {} suits me better.",
                    "{}.",
                    "Not in the {not}.",
                    "In the {not}, no, in the {}.",
                ],
                time,
            ),
            _ if values["day"] == day[0] && values["time"] == time[0] => caller.one_of(&RIGHT).to_owned(),
            _ => caller.one_of(&WRONG).to_owned(),
        });
        let said = &call.said;
        assert_eq!(
            call.path[call.path.len() - 2..],
            ["booked", "end"],
            "caller {seed}: {said:#?}"
        );
        let booked = [&call.values["day"], &call.values["time"]];
        assert_eq!(booked, [day[0], time[0]], "caller {seed}: {said:#?}");
    });
}

#[test]
fn a_hundred_callers_are_thanked_for_what_they_answered() {
    let workflow = example("survey");
    each(|caller, seed| {
        let (rating, recommends) = (caller.random.random_range(0..=10_u32), caller.is(0.6));
        let call = caller.calls(&workflow, |caller, node, _| {
            let [rating, other] = [rating, (rating + 3) % 11].map(|number| caller.number(number));
            match node {
                "rating" => caller.filled(
                    &[
                        "{}.",
                        "I would say {}.",
                        "{} out of ten.",
                        "Definitely {} out of 10.",
                        "A {}, I think.",
                        "Hard to say.",
                        "{not} or {}.",
                        "{not}, no, {}.",
                        "{not}, sorry, I mean {} out of ten.",
                    ],
                    [&rating, &other],
                ),
                _ if caller.is(0.1) => "Are you a real person?".to_owned(),
                _ if recommends => caller.one_of(&YES).to_owned(),
                _ => caller.one_of(&NO).to_owned(),
            }
        });
        let thanked = match rating >= 8 && recommends {
            true => "happy",
            false => "unhappy",
        };
        let nodes = ["recommend", "count", thanked, "end"];
        assert_eq!(call.path[2..], nodes, "caller {seed}, {rating}: {:#?}", call.said);
    });
}

#[test]
fn a_hundred_callers_reach_their_department() {
    let workflow = example("reception");
    each(|caller, seed| {
        let departments = DEPARTMENTS.map(|(name, _)| name);
        let wanted = caller.one_of(&departments);
        let [one, another] = caller.two_of(&departments[..3]);
        let other = if one == wanted { another } else { one };
        // A wish for a person names no department.
        let corrects = wanted != "person";
        let says = |name: &str| DEPARTMENTS.iter().find(|(known, _)| *known == name).unwrap().1;
        let call = caller.calls(&workflow, |caller, _, _| {
            let [words, others] = [says(wanted), says(other)].map(|words| caller.one_of(&words));
            match caller.random.random_range(0..8) {
                0 => caller.one_of(&HOURS).to_owned(),
                1 => "I have a question.".to_owned(),
                2 if corrects => format!("{others} Sorry, I mean: {words}"),
                3 if corrects => format!("Not {other}, {wanted}, please."),
                4 if corrects => format!("{other}, no, {wanted}, please."),
                _ => words.to_owned(),
            }
        });
        let said = &call.said;
        assert_eq!(call.path.last().unwrap(), wanted, "caller {seed}: {said:#?}");
        assert!(matches!(call.last, Step::Transfer { .. }), "caller {seed}: {said:#?}");
    });
}

#[test]
fn words_numbers_yes_and_no_and_collected_values_decide_without_a_model() {
    let departments = [
        "The caller wants sales",
        "The caller needs technical support",
        "The caller asks for a person",
    ];
    let money = [
        "The budget is at least 1000 euros",
        "The budget is less than 1000 euros",
    ];
    let wish = [
        "The caller wants an appointment",
        "The caller does not want an appointment",
    ];
    for (conditions, said, chosen) in [
        (
            departments.as_slice(),
            "I have a question for support, not sales",
            Some(1),
        ),
        (&departments, "Sales or support", None),
        (&departments, "Can I speak to a human?", Some(2)),
        (&departments, "Hello", None),
        (&money, "About two thousand", Some(0)),
        (&money, "five hundred", Some(1)),
        (&wish, "Yes please", Some(0)),
        (&wish, "No thanks", Some(1)),
    ] {
        let candidates = conditions.iter().map(|condition| Candidate {
            edge: None,
            to: "x".into(),
            backward: false,
            condition: (*condition).to_owned(),
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let (choice, _) = judge::by_words(&candidates, &[], said, &BTreeMap::new());
        assert_eq!(choice, chosen.map_or(Choice::Stay, Choice::Candidate), "{said}");
    }
}
