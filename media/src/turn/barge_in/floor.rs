//! Decides from the words over the agent's speech whether the user takes the floor, nods, or neither yet.
//!
//! The words' weights are summed: ten times the log-odds that these words interrupt. Weights are learned from the
//! corpus of conversations (`docs/internals/turn-corpus.md`) and hold for all of its languages at once.

use super::weights::{ALONE, BIAS, PAIRS, UNKNOWN, UNKNOWN_FIRST, WORDS};
use crate::turn::words::{bare, word_count};

/// Score from which the words take the floor.
const TAKEN: i32 = 28;

/// Score from which a turn that is over took the floor.
const LIKELY: i32 = 0;

/// Score up to which the words are only a nod.
const NOD: i32 = -24;

/// The same for a single word. One unknown word is above it: it may be misheard, or be an answer.
const NOD_ALONE: i32 = -40;

/// Weight of a nod in a language that the corpus does not have.
const FOREIGN_NOD: i32 = -40;

/// Nods in languages and spellings that the corpus does not have.
const FOREIGN_NODS: &[&str] = &[
    "haan", "accha", "achha", "ji", "theek", "sim", "certo", "嗯", "好", "好的", "对", "是", "是的", "はい", "うん",
];

/// Words with which people pick up a telephone, besides nods.
const GREETINGS: &[&str] = &[
    "hello",
    "hallo",
    "hullo",
    "hi",
    "hey",
    "morning",
    "afternoon",
    "evening",
    "there",
    "hola",
    "diga",
    "dígame",
    "allo",
    "allô",
    "bonjour",
    "pronto",
    "alo",
    "alô",
    "olá",
    "namaste",
    "नमस्ते",
    "हैलो",
    "喂",
    "もしもし",
];

/// Meaning of words over the agent's speech.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Floor {
    /// No word was understood.
    #[default]
    Silent,
    /// The user listens.
    Nod,
    /// The words do not decide.
    Undecided,
    /// The words do not decide, but more often interrupt.
    Likely,
    /// The user wants to speak.
    Taken,
}

impl Floor {
    /// Returns the meaning of words to which others may be added. A last word that may become a nod does not count
    /// for an interruption yet.
    pub fn so_far(words: &str) -> Self {
        let tokens = tokens(words);
        let all = Self::of(&tokens);
        match tokens.split_last() {
            Some((last, [])) if begins_nod(last) => all.min(Self::Likely),
            Some((last, before)) if begins_nod(last) => all.min(Self::of(before)),
            _ => all,
        }
    }

    /// Returns the meaning of the words of a turn that is over.
    pub fn of_turn(words: &str) -> Self {
        Self::of(&tokens(words))
    }

    fn of(tokens: &[String]) -> Self {
        if tokens.is_empty() {
            return Self::Silent;
        }
        let nod = if is_alone(tokens) { NOD_ALONE } else { NOD };
        match score(tokens) {
            TAKEN.. => Self::Taken,
            LIKELY.. => Self::Likely,
            score if score > nod => Self::Undecided,
            _ => Self::Nod,
        }
    }
}

/// Returns whether a turn is a nod in each of its words. An answer that begins like a nod ("Very many.") is none.
pub fn is_nod(words: &str) -> bool {
    let tokens = tokens(words);
    let weighed = tokens.iter().enumerate().map(|(at, token)| match weights(token) {
        (word, first) if at == 0 => word + first,
        (word, _) => word,
    });
    let mut nods: Vec<bool> = weighed.map(|weight| weight <= 0).collect();
    for (at, two) in tokens.windows(2).enumerate() {
        if pair(two) < 0 {
            nods.iter_mut().skip(at).take(2).for_each(|nod| *nod = true);
        }
    }
    Floor::of(&tokens) == Floor::Nod && nods.into_iter().all(|nod| nod)
}

/// Returns whether the words are only such with which people pick up: "Hello?", "Yes, good morning." No words
/// count too.
pub fn is_pick_up(words: &str) -> bool {
    let mut tokens = words.split_whitespace().map(bare).filter(|token| !token.is_empty());
    tokens.all(|token| GREETINGS.contains(&token.as_str()) || is_nod(&token))
}

/// Returns the words as the weights know them: in lower case without punctuation. A word said several times in a row
/// counts once.
pub fn tokens(words: &str) -> Vec<String> {
    let mut tokens: Vec<String> = words
        .split_whitespace()
        .map(bare)
        .filter(|token| !token.is_empty())
        .collect();
    tokens.dedup();
    tokens
}

/// Returns whether there is only one word.
fn is_alone(tokens: &[String]) -> bool {
    matches!(tokens, [token] if word_count(token) == 1)
}

fn score(tokens: &[String]) -> i32 {
    let first = tokens.first().map_or(0, |token| weights(token).1);
    let words: i32 = tokens.iter().map(|token| weights(token).0).sum();
    let pairs: i32 = tokens.windows(2).map(pair).sum();
    let alone = if is_alone(tokens) { ALONE } else { 0 };
    BIAS + alone + first + words + pairs
}

/// Returns the weight of a word anywhere, and the weight that it has besides as the first word.
fn weights(token: &str) -> (i32, i32) {
    if let Ok(at) = WORDS.binary_search_by(|(word, ..)| (*word).cmp(token)) {
        return WORDS
            .get(at)
            .map_or((0, 0), |(_, word, first)| (i32::from(*word), i32::from(*first)));
    }
    match FOREIGN_NODS.contains(&token) {
        true => (FOREIGN_NOD, 0),
        false => (UNKNOWN * word_count(token) as i32, UNKNOWN_FIRST),
    }
}

fn pair(tokens: &[String]) -> i32 {
    let [one, two] = tokens else { return 0 };
    let found = PAIRS.binary_search_by(|(first, second, _)| (*first, *second).cmp(&(one.as_str(), two.as_str())));
    found
        .ok()
        .and_then(|at| PAIRS.get(at))
        .map_or(0, |(.., weight)| i32::from(*weight))
}

/// Returns whether a word is the beginning of one with which people nod.
fn begins_nod(token: &str) -> bool {
    let from = WORDS.partition_point(|(word, ..)| *word < token);
    let longer = WORDS.iter().skip(from).take_while(|(word, ..)| word.starts_with(token));
    let mut nods = longer.filter(|(_, word, first)| i32::from(*word) + i32::from(*first) < 0);
    nods.next().is_some() || FOREIGN_NODS.iter().any(|nod| nod.starts_with(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_take_the_floor_in_every_language() {
        for words in [
            "Stop.",
            "no wait",
            "Sorry, can I say something?",
            "Yeah, but that's next week",
            "okay and how much would that be",
            "I need to change the date.",
            "Warten Sie mal.",
            "Ja, aber das ist doch viel zu teuer.",
            "was kostet das",
            "Ich habe eine Frage.",
            "Espere un momento.",
            "¿Cuánto cuesta?",
            "Sí, pero yo no puedo ese día.",
            "Attendez, s'il vous plaît.",
            "oui mais c'est trop cher",
            "Je voudrais changer la date.",
            "रुकिए, एक मिनट।",
            "हाँ, लेकिन मुझे कल चाहिए।",
            "ये कितने का है?",
        ] {
            assert_eq!(Floor::so_far(words), Floor::Taken, "{words:?}");
        }
    }

    #[test]
    fn nods_do_not_in_any_language() {
        for words in [
            "mm-hm",
            "Okay.",
            "yeah, yeah",
            "I see.",
            "Uh huh",
            "right, got it",
            "Oh, great.",
            "sounds good",
            "Mhm, ja.",
            "Ach so.",
            "alles klar",
            "Na gut.",
            "ja genau",
            "Ajá.",
            "ya veo",
            "De acuerdo.",
            "sí claro",
            "D'accord.",
            "je vois",
            "Ah bon ?",
            "très bien",
            "हाँ जी।",
            "अच्छा",
            "ठीक है।",
            "समझ गया",
            "sim",
            "好的。",
            "はい",
        ] {
            assert_eq!(Floor::so_far(words), Floor::Nod, "{words:?}");
            assert!(is_nod(words), "{words:?}");
        }
        for words in ["", "Very many.", "Good morning, Miller.", "Sí, el martes.", "zebra"] {
            assert!(!is_nod(words), "{words:?}");
        }
    }

    #[test]
    fn a_word_that_may_be_misheard_does_not_decide() {
        for words in ["zebra", "Mittwoch.", "okay zebra"] {
            let floor = Floor::of_turn(words);
            assert_eq!(floor, Floor::Undecided, "{words:?}");
        }
        for words in ["", "…", "?"] {
            assert_eq!(Floor::of_turn(words), Floor::Silent, "{words:?}");
        }
    }

    #[test]
    fn a_half_recognised_word_may_become_a_nod() {
        assert_eq!(Floor::so_far("okay abso"), Floor::Nod);
        assert!(Floor::of_turn("okay abso") > Floor::Nod);
    }

    #[test]
    fn words_in_a_script_without_spaces_count_by_their_length() {
        assert_eq!(Floor::of_turn("请停一下"), Floor::Likely);
        assert_eq!(Floor::so_far("请停一下好吗我现在有一个问题"), Floor::Taken);
    }

    #[test]
    fn the_tables_are_in_order() {
        assert!(WORDS.windows(2).all(|two| two[0].0 < two[1].0));
        assert!(PAIRS.windows(2).all(|two| (two[0].0, two[0].1) < (two[1].0, two[1].1)));
    }

    #[test]
    fn a_greeting_alone_is_a_pick_up() {
        for words in ["", "Hello?", "Yes, hello?", "Hi there.", "Good morning!", "Hola"] {
            assert!(is_pick_up(words), "{words:?}");
        }
        for words in ["Hello, Maria Miller speaking.", "Who is this?", "No."] {
            assert!(!is_pick_up(words), "{words:?}");
        }
    }
}
