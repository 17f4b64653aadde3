//! Finds the key of a menu that leads to a person. It returns only a key whose own words say so, and never
//! one that could order, cancel or pay something. If it is unclear which words belong to which key, it
//! returns none.

use super::hints::normalised;

/// Words before the key that ask to press it.
const PRESS: &str = " press dial push hit enter drucken druecken wahlen waehlen tippen marque pulse presione oprima \
                     digite teclee tapez composez appuyez faites pressione tecle aperte ";

/// Words between these and the key.
const BETWEEN: &str = " sie bitte die den das the taste ziffer nummer number key button digit el la le numero tecla \
                       opcion option sur touche chiffre please now jetzt auf ";

/// German verbs that follow the key.
const PRESS_BEHIND: &str = " drucken druecken wahlen waehlen tippen ";

/// Words that start the description of a key.
const OPENERS: &str = " for to if fur um wenn falls zum zur mit para si pour afin se ";

/// Names of the keys, in the order of [`KEYS`].
const KEY_NAMES: [&str; 12] = [
    " 0 zero null cero ",
    " 1 one eins uno un une um ",
    " 2 two zwei zwo dos deux dois ",
    " 3 three drei tres trois ",
    " 4 four vier cuatro quatre quatro ",
    " 5 five funf fuenf cinco cinq ",
    " 6 six sechs seis ",
    " 7 seven sieben siete sept sete ",
    " 8 eight acht ocho huit oito ",
    " 9 nine neun nueve neuf nove ",
    " star asterisk stern sterntaste asterisco etoile estrela ",
    " pound hash raute rautetaste almohadilla diese ",
];
const KEYS: [char; 12] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '#'];

/// Names for a person behind a key, as whole words.
const PEOPLE: &[&str] = &[
    "operator",
    "operators",
    "reception",
    "receptionist",
    "representative",
    "representatives",
    "somebody",
    "someone",
    "a person",
    "real person",
    "live person",
    "a human",
    "agent",
    "agents",
    "advisor",
    "adviser",
    "attendant",
    "speak to",
    "speak with",
    "talk to",
    "talk with",
    "team member",
    "member of staff",
    "empfang",
    "zentrale",
    "vermittlung",
    "mitarbeiter",
    "mitarbeitern",
    "mitarbeiterin",
    "berater",
    "beraterin",
    "kundenberater",
    "jemandem",
    "menschen",
    "recepcion",
    "operador",
    "operadora",
    "agente",
    "representante",
    "persona",
    "alguien",
    "hablar con",
    "asesor",
    "asesora",
    "ejecutivo",
    "accueil",
    "laccueil",
    "le standard",
    "standardiste",
    "operateur",
    "operatrice",
    "conseiller",
    "conseillere",
    "quelquun",
    "parler a",
    "parler avec",
    "un agent",
    "receptionniste",
    "atendente",
    "falar com",
    "alguem",
    "recepcao",
];

/// Words for taking the call, used by services that ask the callee to do so.
const CONNECTS: &[&str] = &[
    "accept",
    "connect",
    "connected",
    "take the call",
    "take this call",
    "answer the call",
    "annehmen",
    "anzunehmen",
    "verbunden",
    "verbinden",
    "durchgestellt",
    "aceptar",
    "conectar",
    "contestar",
    "accepter",
    "prendre lappel",
    "mis en relation",
    "mise en relation",
    "aceitar",
];

/// Words while the caller is being connected, and the most words of such a sentence.
const CONNECTING: &[&str] = &[
    "connecting",
    "connect you",
    "transferring",
    "transfer you",
    "put you through",
    "putting you through",
    "verbinde",
    "verbinden",
    "verbunden",
    "weitergeleitet",
    "durchgestellt",
    "comunicando",
    "comunicamos",
    "transfiriendo",
    "transferimos",
    "mets en relation",
    "mettons en relation",
    "transferons",
    "transferer",
    "transferindo",
];
const CONNECTING_WORDS: usize = 14;

/// Beginnings of words for choices that could cost the callee something or change something.
const NEVER: &[&str] = &[
    "order",
    "cancel",
    "pay",
    "purchas",
    "buy",
    "charge",
    "confirm",
    "subscri",
    "unsubscri",
    "donat",
    "bill",
    "refund",
    "delet",
    "renew",
    "upgrade",
    "book",
    "reserv",
    "appointment",
    "terms",
    "offer",
    "contract",
    "emergenc",
    "urgen",
    "bestell",
    "storn",
    "zahl",
    "bezahl",
    "kauf",
    "kundig",
    "kuendig",
    "buch",
    "abonn",
    "spend",
    "rechnung",
    "notfall",
    "bestatig",
    "vertrag",
    "angebot",
    "pedid",
    "orden",
    "pag",
    "compr",
    "suscri",
    "donar",
    "factur",
    "cobr",
    "emergenc",
    "oferta",
    "contrat",
    "command",
    "annul",
    "paie",
    "paye",
    "achet",
    "resili",
    "offre",
    "regler",
    "cancela",
    "assin",
];

/// A key that a sentence names: the range of its words, and the key.
#[derive(Debug, Clone, Copy)]
struct Mention {
    start: usize,
    end: usize,
    key: char,
}

fn is_in(list: &str, word: &str) -> bool {
    !word.is_empty() && list.contains(&format!(" {word} "))
}

fn key(word: &str) -> Option<char> {
    let named = KEY_NAMES.iter().position(|names| is_in(names, word))?;
    KEYS.get(named).copied()
}

/// Returns the key that leads to a person, if the menu names one. A key to a person is preferred to one that
/// takes the call.
pub fn key_to_a_person(text: &str) -> Option<char> {
    let named = described_keys(text);
    let of = |wanted: &[&str]| {
        let mut fits = named
            .iter()
            .filter(|(_, words)| speaks_of(words, wanted) && !is_barred(words));
        fits.next().map(|(key, _)| *key)
    };
    of(PEOPLE).or_else(|| of(CONNECTS))
}

/// Returns whether the words ask to press a key.
pub fn names_keys(text: &str) -> bool {
    sentences(text).any(|sentence| !mentions(&words(&sentence)).is_empty())
}

/// Returns whether the words say that the caller is being connected.
pub fn announces_somebody(text: &str) -> bool {
    let words = normalised(text);
    speaks_of(&words, CONNECTING) && words.split(' ').count() <= CONNECTING_WORDS
}

fn speaks_of(words: &str, wanted: &[&str]) -> bool {
    let words = format!(" {words} ");
    wanted.iter().any(|phrase| words.contains(&format!(" {phrase} ")))
}

fn is_barred(words: &str) -> bool {
    words
        .split(' ')
        .any(|word| NEVER.iter().any(|stem| word.starts_with(stem)))
}

fn sentences(text: &str) -> impl Iterator<Item = String> {
    text.split(['.', ';', '!', '?', '\n', '…', '¡', '¿'])
        .map(normalised)
        .filter(|sentence| !sentence.is_empty())
}

fn words(sentence: &str) -> Vec<&str> {
    sentence.split(' ').collect()
}

/// Returns every key with the words that describe it.
fn described_keys(text: &str) -> Vec<(char, String)> {
    let mut found = Vec::new();
    let mut before = String::new();
    for sentence in sentences(text) {
        let words = words(&sentence);
        let named = mentions(&words);
        match named.as_slice() {
            [] => {}
            // "For reception. Press zero."
            [only] if only.start == 0 && only.end == words.len() => {
                if before.split(' ').next().is_some_and(|word| is_in(OPENERS, word)) {
                    found.push((only.key, before.clone()));
                }
            }
            named => found.extend(described(&words, named)),
        }
        before = if named.is_empty() { sentence } else { String::new() };
    }
    found
}

/// Returns the keys of a sentence with their descriptions, which stand before all keys or behind all of them.
fn described(words: &[&str], named: &[Mention]) -> Vec<(char, String)> {
    let (Some(first), Some(last)) = (named.first(), named.last()) else {
        return Vec::new();
    };
    let opens = |at: usize| {
        // "Thank you for calling …" describes no key.
        words.get(at).is_some_and(|word| is_in(OPENERS, word)) && words.get(at + 1) != Some(&"calling")
    };
    let before = (0..first.start).any(opens);
    let behind = opens(last.end);
    let is_behind = match (before, behind) {
        (true, true) => return Vec::new(),
        (false, false) => first.start == 0,
        (false, true) => true,
        (true, false) => false,
    };
    let part = |from: usize, to: usize| words.get(from..to).unwrap_or_default().join(" ");
    let each = named.iter().enumerate().map(|(n, mention)| {
        let text = if is_behind {
            let next = named.get(n + 1).map_or(words.len(), |next| next.start);
            part(mention.end, next)
        } else {
            let previous = n.checked_sub(1).and_then(|n| named.get(n));
            part(previous.map_or(0, |previous| previous.end), mention.start)
        };
        (mention.key, text)
    });
    each.collect()
}

fn mentions(words: &[&str]) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match mention(words, at) {
            Some(mention) => {
                at = mention.end;
                found.push(mention);
            }
            None => at += 1,
        }
    }
    found
}

/// Returns the mention of a key that begins at a word.
fn mention(words: &[&str], start: usize) -> Option<Mention> {
    let is_between = |at: &usize| words.get(*at).is_some_and(|word| is_in(BETWEEN, word));
    let asked = is_in(PRESS, words.get(start)?);
    let mut at = if asked { start + 1 } else { start };
    while is_between(&at) {
        at += 1;
    }
    if !asked && at == start {
        return None;
    }
    let key = key(words.get(at)?)?;
    let end = at + 1;
    let next = words.get(end).copied().unwrap_or_default();
    // An extension, such as 1 0 4, is not a choice of a menu.
    if next.len() == 1 && next.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match asked {
        true => Some(Mention { start, end, key }),
        false if is_in(PRESS_BEHIND, next) => Some(Mention {
            start,
            end: end + 1,
            key,
        }),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_key_that_leads_to_a_person_is_found() {
        for (text, key) in [
            ("For reception, press 0.", '0'),
            (
                "Thank you for calling Northwind. For sales, press 1. For all else, or to speak to somebody, press zero.",
                '0',
            ),
            ("Press 1 for sales, press 2 for service, press 0 for an operator.", '0'),
            (
                "for sales press one for service press two for a representative press nine",
                '9',
            ),
            ("Press 1 to accept this call.", '1'),
            ("To be connected, press the star key.", '*'),
            ("If you would like to talk to a real person, dial 3 now", '3'),
            ("For reception. Press 0.", '0'),
            ("Press 5 to accept the call. Press 4 to speak to an agent.", '4'),
            (
                "Für den Vertrieb drücken Sie die 1. Um mit einem Mitarbeiter zu sprechen, drücken Sie bitte die Null.",
                '0',
            ),
            (
                "Wenn Sie mit dem Empfang verbunden werden möchten, wählen Sie die Neun.",
                '9',
            ),
            ("Für die Zentrale die 0 drücken.", '0'),
            (
                "Para ventas, marque uno. Para hablar con un representante, marque el cero.",
                '0',
            ),
            ("Si desea hablar con una operadora, oprima 2.", '2'),
            (
                "Pour le service commercial, tapez 1. Pour parler à un conseiller, tapez 3.",
                '3',
            ),
            ("Appuyez sur la touche zéro pour joindre l'accueil.", '0'),
            ("Pour parler à quelqu'un, faites le 9.", '9'),
        ] {
            assert_eq!(key_to_a_person(text), Some(key), "{text}");
            assert!(names_keys(text), "{text}");
        }
    }

    #[test]
    fn no_key_is_chosen_that_could_cost_something_or_is_not_clearly_a_persons() {
        for text in [
            "Thank you for calling Northwind. For sales, press 1. For service, press 2.",
            "To speak to an agent and cancel your order, press 3.",
            "To accept the charges, press 1.",
            "Press 1 to confirm your appointment.",
            "To pay a bill with an operator, press 4.",
            "To speak Spanish, press 2. Para hablar español, marque dos.",
            "For personal banking, press 1. For human resources, press 2.",
            // It is unclear which words belong to which key.
            "for billing press 1 for an operator",
            "to speak to somebody press 0 to hear this again",
            "Enter your number.",
            "To reach an agent, dial extension 1 0 4.",
            "Um einen Termin zu stornieren und mit einem Mitarbeiter zu sprechen, drücken Sie die 4.",
            "Pour annuler ou parler à un conseiller, tapez 2.",
            "Hello, this is Maria, who is calling?",
            "",
        ] {
            assert_eq!(key_to_a_person(text), None, "{text}");
        }
        for text in [
            "Thank you. Connecting you now.",
            "Einen Moment, Sie werden verbunden.",
            "We are transferring your call.",
        ] {
            assert!(announces_somebody(text), "{text}");
        }
        assert!(!announces_somebody("Hello, Dana speaking."));
        assert!(!names_keys(
            "Your call is important to us. Please hold for the next representative."
        ));
    }

    proptest! {
        #[test]
        fn whatever_is_said_a_named_key_is_one_of_a_telephone(
            words in prop::collection::vec(prop::sample::select(vec![
                "press", "0", "1", "one", "for", "to", "operator", "drücken", "Sie", "die", "pay", ".", ",", "speak",
                "star", "tapez", "é", "calling", "reception", "accept",
            ]), 0..30)
        ) {
            let text = words.join(" ");
            if let Some(key) = key_to_a_person(&text) {
                prop_assert!(KEYS.contains(&key) && names_keys(&text), "{text}");
            }
        }
    }
}
