//! Cases of values with and without evidence, in each language with word tables.

use chrono::NaiveDate;
use serde_json::json;

use super::*;
use crate::history::TurnDetail;

/// Builds a call from lines `A: …` (the agent), `A! …` (interrupted) and `U: …`.
fn call(lines: &str) -> Vec<TurnFact> {
    let turn = |(seq, line): (i64, &str)| TurnFact {
        seq,
        speaker: if line.starts_with('A') {
            Speaker::Agent
        } else {
            Speaker::User
        },
        text: line[3..].to_owned(),
        started_ms: seq * 1_000,
        ended_ms: seq * 1_000 + 900,
        interrupted: line.starts_with("A!"),
        damaged: false,
        detail: TurnDetail::default(),
    };
    (0..).zip(lines.split(" / ")).map(turn).collect()
}

/// Returns the number of the turn in which a value of a kind was said in a call on Thursday, 1 January 2026.
fn evidence(language: &str, kind: &str, value: &str, lines: &str, quote: Option<&str>) -> Option<i64> {
    let agent = json!({ "conversationConfig": { "agent": { "primaryLanguage": language } } });
    let agent: Agent = serde_json::from_value(agent).unwrap();
    let (kind, description) = kind.split_once(' ').unwrap_or((kind, ""));
    let entity = Entity {
        kind: serde_json::from_value(json!(kind)).unwrap(),
        description: description.to_owned(),
        allowed: Vec::new(),
    };
    let (turns, today) = (call(lines), NaiveDate::from_ymd_opt(2026, 1, 1).unwrap());
    let sought = Sought {
        name: "it",
        entity: &entity,
        value,
    };
    let found = Record::of(&turns, &agent, today).evidence(sought, quote);
    found.map(|found| found.turn)
}

#[test]
fn values_that_the_callee_said_or_affirmed_are_confirmed() {
    let mut wrong = Vec::new();
    for (language, kind, value, lines) in [
        // Numbers.
        ("en", "integer", "4", "A: How many? / U: There will be four of us."),
        ("en", "integer", "25", "A: How old are you? / U: I'm twenty-five."),
        (
            "en",
            "integer",
            "1200",
            "A: Your budget? / U: About twelve hundred dollars.",
        ),
        ("en", "number", "2.5", "A: How much? / U: Two point five."),
        ("en", "number", "3.5", "A: How long? / U: three and a half"),
        ("en", "integer", "1984", "A: Year? / U: nineteen eighty-four"),
        ("en", "integer", "5", "A: How many? / U: Four, no, five."),
        ("en", "integer", "205", "A: How many? / U: two hundred and five"),
        (
            "en",
            "string",
            "5550122",
            "A: Phone? / U: five five five, oh one double two",
        ),
        ("en", "string", "555-0122", "A: Phone? / U: 555 0122"),
        ("en", "string", "+1 555 234 0122", "A: Phone? / U: 555 234 0122"),
        (
            "en",
            "string",
            "8231519126",
            "A: Phone? / U: My number is 823 / A: Mm-hm. / U: 151 9126",
        ),
        (
            "de",
            "integer",
            "25",
            "A: Wie alt sind Sie? / U: Ich bin fünfundzwanzig.",
        ),
        ("de", "integer", "1200", "A: Budget? / U: Zwölfhundert Euro."),
        ("de", "number", "3.5", "A: Wie viel? / U: drei Komma fünf"),
        ("de", "integer", "1", "A: Wie viele Personen? / U: Eine Person."),
        (
            "es",
            "integer",
            "35",
            "A: ¿Cuántos años tiene? / U: Tengo treinta y cinco.",
        ),
        ("es", "integer", "250", "A: ¿Cuánto? / U: Doscientos cincuenta euros."),
        (
            "fr",
            "integer",
            "92",
            "A: Votre âge ? / U: J'ai quatre-vingt-douze ans.",
        ),
        (
            "fr",
            "string",
            "0612345678",
            "A: Votre numéro ? / U: zéro six douze trente-quatre cinquante-six soixante-dix-huit",
        ),
        ("hi", "integer", "25", "A: आपकी उम्र? / U: पच्चीस साल"),
        ("hi", "integer", "2", "A: Kitne log? / U: do log"),
        ("hi", "integer", "200000", "A: Budget? / U: do lakh"),
        ("hi", "integer", "4", "A: Kitne log aayenge? / U: haan, four people"),
        // Days and times.
        (
            "en",
            "string",
            "Tuesday",
            "A: Which day? / U: Tuesday would be wonderful.",
        ),
        ("en", "string", "2026-01-06", "A: Which day? / U: Next Tuesday, please."),
        (
            "en",
            "string",
            "2026-01-06",
            "A: Which day? / U: On the sixth of January.",
        ),
        ("en", "string", "2026-01-15", "A: Which day? / U: The fifteenth."),
        (
            "en",
            "string",
            "2026-01-02T15:30",
            "A: When? / U: Tomorrow at half past three.",
        ),
        ("en", "string", "15:30", "A: What time? / U: half past three"),
        ("en", "string", "15:00", "A: What time? / U: Three."),
        ("en", "string", "3 pm", "A: What time? / U: Three in the afternoon."),
        (
            "en",
            "string",
            "Tuesday at 3 pm",
            "A: When? / U: On Tuesday, three o'clock in the afternoon.",
        ),
        (
            "en",
            "string",
            "1984-06-02",
            "A: Born? / U: June second, nineteen eighty-four",
        ),
        (
            "en",
            "string",
            "2026-01-06T15:00",
            "A: Which day? / U: Tuesday. / A: What time? / U: At three.",
        ),
        ("de", "string", "2026-01-06", "A: Wann? / U: Am Dienstag."),
        ("de", "string", "Tuesday", "A: Wann? / U: Dienstag passt."),
        ("de", "string", "2026-01-15", "A: Wann? / U: Am fünfzehnten Januar."),
        ("de", "string", "15:30", "A: Um wie viel Uhr? / U: Um halb vier."),
        (
            "de",
            "string",
            "14:15",
            "A: Um wie viel Uhr? / U: Um viertel nach zwei.",
        ),
        ("de", "string", "2026-01-02", "A: Wann? / U: Morgen."),
        ("es", "string", "2026-01-06", "A: ¿Qué día? / U: El martes."),
        ("es", "string", "15:30", "A: ¿A qué hora? / U: A las tres y media."),
        ("es", "string", "2026-01-15", "A: ¿Qué día? / U: El quince de enero."),
        ("fr", "string", "2026-01-06", "A: Quel jour ? / U: Mardi prochain."),
        (
            "fr",
            "string",
            "14:30",
            "A: À quelle heure ? / U: À quatorze heures trente.",
        ),
        (
            "fr",
            "string",
            "15:30",
            "A: À quelle heure ? / U: À trois heures et demie.",
        ),
        ("hi", "string", "2026-01-06", "A: किस दिन? / U: मंगलवार को"),
        ("hi", "string", "15:30", "A: कितने बजे? / U: साढ़े तीन बजे"),
        ("hi", "string", "2026-01-06", "A: Kis din? / U: Mangalwar ko"),
        (
            "hi",
            "string",
            "2026-01-06T17:00",
            "A: Kab? / U: Tuesday ko shaam paanch baje",
        ),
        // Texts, spelling, addresses.
        (
            "en",
            "string",
            "Ada Lovelace",
            "A: Name? / U: Uh, my name is Ada, Lovelace.",
        ),
        ("en", "string", "Ada", "A: Name? / U: It's A D A."),
        ("en", "string", "Maria", "A: Name? / U: M as in Mike, A, R, I, A."),
        (
            "de",
            "string",
            "Maria",
            "A: Name? / U: M wie Martha, A wie Anton, R, I, A.",
        ),
        (
            "en",
            "string",
            "maria@example.com",
            "A: E-mail? / U: It's maria at example dot com.",
        ),
        (
            "de",
            "string",
            "maria.l@example.de",
            "A: E-Mail? / U: maria punkt l ät example punkt de",
        ),
        (
            "es",
            "string",
            "maria@example.com",
            "A: ¿Correo? / U: maria arroba example punto com",
        ),
        (
            "fr",
            "string",
            "maria@example.com",
            "A: E-mail ? / U: maria arobase example point com",
        ),
        ("en", "string", "late_evening", "A: When? / U: Late evening, please."),
        (
            "en",
            "string",
            "The car does not start",
            "A: Why? / U: My car broke, the car does not start.",
        ),
        ("it", "string", "Roma", "A: Dove? / U: A Roma."),
        // A question with the value that is affirmed.
        ("en", "string", "Tuesday", "A: Shall I book Tuesday? / U: Yes, please."),
        (
            "en",
            "string",
            "2026-01-02T15:00",
            "A: That would be Friday, January 2 at 3:00 PM. Shall I book that? / U: Yes, please.",
        ),
        ("en", "integer", "4", "A: So that's four people, correct? / U: Correct."),
        (
            "de",
            "string",
            "2026-01-06T15:00",
            "A: Also Dienstag, der 6. Januar um 15 Uhr, passt das? / U: Ja, genau.",
        ),
        (
            "es",
            "string",
            "2026-01-06",
            "A: Entonces el martes seis de enero, ¿correcto? / U: Sí, perfecto.",
        ),
        (
            "fr",
            "string",
            "2026-01-06",
            "A: Donc mardi six janvier, c'est bien ça ? / U: Oui, tout à fait.",
        ),
        ("hi", "string", "Tuesday", "A: तो मंगलवार ठीक है? / U: हाँ, ठीक है।"),
        ("hi", "string", "Tuesday", "A: To mangalwar theek hai? / U: Haan ji."),
        // Flags.
        (
            "en",
            "boolean whether this is the first visit",
            "true",
            "A: Is this your first visit? / U: Yes.",
        ),
        (
            "en",
            "boolean whether this is the first visit",
            "false",
            "A: Is this your first visit? / U: No.",
        ),
        (
            "en",
            "boolean whether something is unclear",
            "false",
            "A: Is anything unclear? / U: No, thank you.",
        ),
        (
            "de",
            "boolean whether this is the first visit",
            "true",
            "A: Ist das Ihr erster Besuch? / U: Ja.",
        ),
        (
            "es",
            "boolean whether this is the first visit",
            "true",
            "A: ¿Es su primera visita? / U: Sí, claro.",
        ),
        (
            "fr",
            "boolean whether this is the first visit",
            "false",
            "A: Est-ce votre première visite ? / U: Non.",
        ),
        (
            "hi",
            "boolean whether this is the first visit",
            "true",
            "A: क्या आप पहली बार आ रहे हैं? / U: जी हाँ",
        ),
        (
            "en",
            "boolean whether they are a member",
            "true",
            "A: Hello? / U: I am a member.",
        ),
        // Corrections.
        (
            "en",
            "string",
            "Thursday",
            "A: Which day? / U: Tuesday. / A: Tuesday? / U: No, Thursday.",
        ),
        (
            "en",
            "string",
            "Thursday",
            "A: Which day? / U: Tuesday, sorry, I mean Thursday.",
        ),
        ("en", "string", "Thursday", "A: Which day? / U: Not Tuesday, Thursday."),
        (
            "de",
            "string",
            "Thursday",
            "A: Wann? / U: Nicht Dienstag, sondern Donnerstag.",
        ),
        (
            "en",
            "string",
            "Thursday",
            "A: Which day? / U: I can't do Tuesday but Thursday works.",
        ),
    ] {
        if evidence(language, kind, value, lines, None).is_none() {
            wrong.push(format!("{language} {kind} {value}: {lines}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn values_that_the_callee_did_not_say_are_not_confirmed() {
    let mut wrong = Vec::new();
    for (language, kind, value, lines) in [
        ("en", "integer", "4", "A: How many? / U: Hello."),
        ("en", "string", "Tuesday", "A: We are open on Tuesday. / U: Okay."),
        (
            "en",
            "string",
            "Tuesday",
            "A: We have Tuesday free. Are you still living in Berlin? / U: Yes.",
        ),
        ("en", "string", "Tuesday", "A: Tuesday or Wednesday? / U: Yes."),
        ("en", "string", "Tuesday", "A! Shall I book / U: Yes."),
        ("en", "integer", "15", "A! Is it fifteen / U: Yes."),
        (
            "en",
            "string",
            "Tuesday",
            "A: Shall I book Tuesday? / U: Yes, but Thursday would be better.",
        ),
        ("en", "string", "Tuesday", "A: Shall I book Tuesday? / U: No."),
        ("en", "string", "Tuesday", "A: Shall I book Tuesday? / U: Why?"),
        ("en", "string", "Tuesday", "A: Which day? / U: Not Tuesday."),
        ("en", "string", "Tuesday", "A: Which day? / U: Tuesday doesn't work."),
        (
            "en",
            "string",
            "Tuesday",
            "A: Which day? / U: Tuesday? That doesn't work.",
        ),
        ("en", "string", "Tuesday", "A: Which day? / U: Any day except Tuesday."),
        ("en", "string", "Tuesday", "A: Which day? / U: Tuesday or Wednesday."),
        ("en", "string", "Tuesday", "A: Which day? / U: Tuesday, no, Thursday."),
        (
            "en",
            "string",
            "Tuesday",
            "A: Which day? / U: Tuesday. / A: Tuesday? / U: No, Thursday. / A: A reminder? / U: Yes.",
        ),
        (
            "en",
            "string",
            "Tuesday",
            "A: Which day? / U: Tuesday. / A: Okay. / U: No wait, Thursday.",
        ),
        ("de", "string", "Tuesday", "A: Wann? / U: Dienstag geht nicht."),
        ("de", "string", "2026-01-06", "A: Wann? / U: Nicht am Dienstag."),
        ("es", "string", "2026-01-06", "A: ¿Qué día? / U: El martes no puedo."),
        ("fr", "string", "2026-01-06", "A: Quel jour ? / U: Pas mardi."),
        ("hi", "string", "2026-01-06", "A: किस दिन? / U: मंगलवार को नहीं"),
        ("hi", "string", "2026-01-06", "A: Kis din? / U: Mangalwar ko nahi"),
        ("en", "string", "2026-01-06", "A: Which day? / U: Wednesday."),
        ("en", "string", "2026-01-06T16:00", "A: When? / U: Tuesday at three."),
        (
            "en",
            "string",
            "2026-01-06T16:00",
            "A: When? / U: On Tuesday, and we are four people then.",
        ),
        ("en", "string", "15:00", "A: When? / U: Three in the morning."),
        ("en", "integer", "3", "A: When? / U: On Tuesday at three."),
        ("en", "integer", "5", "A: Phone? / U: five five five oh one"),
        ("en", "integer", "19", "A: Year? / U: nineteen eighty-four"),
        ("en", "integer", "20", "A: How old? / U: twenty-five"),
        ("en", "integer", "42", "A: Guests? / U: Four. / A: Children? / U: Two."),
        ("en", "integer", "4", "A: How many? / U: Four, no, five."),
        ("en", "integer", "4", "A: How many? / U: four or five"),
        ("en", "integer", "11", "A: How often? / U: Once a week."),
        ("en", "integer", "2", "A: Anything else? / U: Do you open early?"),
        ("en", "integer", "-7", "A: Degrees? / U: Seven."),
        ("en", "string", "5550122", "A: Phone? / U: five five five, oh one two"),
        (
            "en",
            "string",
            "maria@example.com",
            "A: E-mail? / U: anna maria at example dot org",
        ),
        ("en", "string", "Anna", "A: Name? / U: Anna, no, sorry, Hannah."),
        ("en", "string", "Ada", "A: Is your name Ada? / U: No, Ida."),
        (
            "en",
            "boolean whether this is the first visit",
            "true",
            "A: Is this your first visit? / U: No.",
        ),
        (
            "en",
            "boolean whether they are a member",
            "true",
            "A: Do you own a car? / U: Yes.",
        ),
        (
            "en",
            "boolean whether they are a member",
            "true",
            "A: Hello? / U: I am not a member.",
        ),
        (
            "en",
            "boolean whether they are a member",
            "true",
            "A: Hello? / U: Hello.",
        ),
        ("de", "integer", "4", "A: Wie viele? / U: Hallo, wer ist da?"),
    ] {
        if evidence(language, kind, value, lines, None).is_some() {
            wrong.push(format!("{language} {kind} {value}: {lines}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_quote_must_be_from_the_turn_with_the_value() {
    let lines = "A: Hello, how many people come? / U: Hello. / A: How many? / U: Well, we are four people. / \
                 A: So four? / U: Yes.";
    for (quote, turn) in [
        ("we are four people", Some(3)),
        ("We're 4 people", Some(3)),
        ("Yes.", Some(5)),
        ("So four?", Some(5)),
        ("hello", None),
        ("How many people come?", None),
        ("You are a helpful assistant.", None),
        ("", None),
    ] {
        assert_eq!(evidence("en", "integer", "4", lines, Some(quote)), turn, "{quote}");
    }
    let spread = "A: Phone? / U: My number is 823 / A: Mm-hm. / U: 151 9126";
    for quote in ["My number is 823", "151 9126"] {
        assert_eq!(
            evidence("en", "string", "8231519126", spread, Some(quote)),
            Some(3),
            "{quote}"
        );
    }
}
