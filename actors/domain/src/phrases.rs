//! Sentences that an agent says by itself, in its language, if a provider fails or a call has to end.

mod made;

use std::{collections::BTreeMap, sync::LazyLock};

use crate::prompt::main_code;

/// Sentences of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrases {
    /// Said in turn while an answer takes long. None if the language is unknown, because another language is
    /// worse than silence.
    pub fillers: &'static [&'static str],
    /// Said once if no answer came.
    pub pardon: &'static str,
    /// Said if the agent has to give up.
    pub broken: &'static str,
    /// Said when the call has reached its time limit.
    pub time_is_up: &'static str,
    /// Said before the call is transferred.
    pub handing_on: &'static str,
    /// Said if nobody could be reached there.
    pub nobody_there: &'static str,
    /// Said after the media connection was lost for a moment.
    pub cut_off: &'static str,
    /// Said by the node that takes over the call, before it continues.
    pub lost_you: &'static str,
    /// Said after a person of the team spoke in place of the agent and was cut off.
    pub back_with_you: &'static str,
    /// Said to somebody who asked never to be called again.
    pub opted_out: &'static str,
    /// Asked if somebody may have asked for that. It can be answered with a plain yes or no; a question with
    /// "not" in it would be answered both ways.
    pub opt_out_meant: &'static str,
}

const ENGLISH: Phrases = Phrases {
    fillers: &["One moment, please.", "Just a second.", "I'm still here, one moment."],
    pardon: "Sorry, could you say that again?",
    broken: "I'm sorry, something is not working on our side. Goodbye.",
    time_is_up: "I'm afraid our time is up. Goodbye.",
    handing_on: "One moment, I'll put you through.",
    nobody_there: "I'm sorry, nobody could be reached there. Is there something I can do for you?",
    cut_off: "Sorry, the line was gone for a moment. Are you still there?",
    lost_you: "Sorry, I lost you for a moment.",
    back_with_you: "Sorry, the line to our team was cut. I'm with you again.",
    opted_out: "Understood, we won't call you again. Goodbye.",
    opt_out_meant: "Do you want us never to call you again?",
};

/// The sentences of all languages but English: blocks of a code and named sentences, several of one name
/// separated by `|`. Its test keeps the table complete.
static OTHERS: LazyLock<BTreeMap<&str, Phrases>> = LazyLock::new(|| read(include_str!("phrases.txt")));

fn read(table: &'static str) -> BTreeMap<&'static str, Phrases> {
    let blocks = table.split("\n\n").filter_map(|block| block.split_once('\n'));
    let phrases = |lines: &'static str| {
        let mut phrases = ENGLISH;
        for (name, text) in lines.lines().filter_map(|line| line.split_once(": ")) {
            match phrases.sentence(name) {
                Some(sentence) => *sentence = text,
                None => phrases.fillers = text.split(" | ").collect::<Vec<_>>().leak(),
            }
        }
        phrases
    };
    blocks.map(|(code, lines)| (code, phrases(lines))).collect()
}

/// Returns whether a text, as far as it was heard, ends with the opt-out question.
pub fn asks_about_opt_out(text: &str) -> bool {
    let text = text.trim_end();
    let mut all = OTHERS.values().chain([&ENGLISH]);
    all.any(|phrases| {
        let question = phrases.opt_out_meant;
        // Half of the question is enough to recognise it.
        let mut heard = question.char_indices().filter(|(at, _)| at * 2 >= question.len());
        text.ends_with(question) || heard.any(|(at, _)| text.ends_with(question[..at].trim_end()))
    })
}

impl Phrases {
    /// Returns the built-in sentences for a language code such as `pt-BR`, if there are any.
    pub fn built_in(language: &str) -> Option<Self> {
        match main_code(language).as_str() {
            "en" => Some(ENGLISH),
            code => OTHERS.get(code).copied(),
        }
    }

    /// Returns English sentences for a language without built-in ones, without fillers.
    pub fn foreign() -> Self {
        Self {
            fillers: &[],
            ..ENGLISH
        }
    }

    /// Returns the goodbye, with which the sentences that end a call end.
    pub fn goodbye(&self) -> &'static str {
        let ends = |c: char| matches!(c, '.' | '!' | '?' | '\u{3002}' | '\u{ff01}' | '\u{964}');
        let text = self.opted_out.trim();
        let before = text.trim_end_matches(ends);
        text[before
            .rfind(ends)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..]
            .trim()
    }

    /// Returns the sentence of a name in the table.
    fn sentence(&mut self, name: &str) -> Option<&mut &'static str> {
        Some(match name {
            "pardon" => &mut self.pardon,
            "broken" => &mut self.broken,
            "time_is_up" => &mut self.time_is_up,
            "handing_on" => &mut self.handing_on,
            "nobody_there" => &mut self.nobody_there,
            "cut_off" => &mut self.cut_off,
            "lost_you" => &mut self.lost_you,
            "back_with_you" => &mut self.back_with_you,
            "opted_out" => &mut self.opted_out,
            "opt_out_meant" => &mut self.opt_out_meant,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pieces::{is_whole, spoken},
        prompt::NAMES as LANGUAGES,
    };

    /// Returns the names of all sentences.
    fn names() -> impl Iterator<Item = &'static str> {
        made::ASKED.into_iter().chain(["opt_out_meant"])
    }

    #[test]
    fn every_language_with_a_name_has_all_sentences_in_its_own_words() {
        assert_eq!(LANGUAGES.len(), OTHERS.len() + 1);
        for (code, _) in LANGUAGES.iter().filter(|(code, _)| *code != "en") {
            let (mut own, mut english) = (Phrases::built_in(code).unwrap(), ENGLISH);
            assert!((2..=3).contains(&own.fillers.len()), "{code}");
            assert!(
                own.fillers.iter().all(|filler| !ENGLISH.fillers.contains(filler)),
                "{code}"
            );
            for name in names() {
                assert_ne!(own.sentence(name), english.sentence(name), "{code}");
            }
        }
    }

    #[test]
    fn every_language_has_a_goodbye_of_its_own() {
        assert_eq!(ENGLISH.goodbye(), "Goodbye.");
        for (code, phrases) in OTHERS.iter() {
            let goodbye = phrases.goodbye();
            assert!(
                !goodbye.is_empty() && goodbye.len() < phrases.opted_out.len(),
                "{code}: {goodbye}"
            );
            assert!(phrases.broken.ends_with(goodbye), "{code}: {goodbye}");
        }
    }

    #[test]
    fn every_sentence_is_whole_and_spoken_as_it_is_written() {
        for (code, phrases) in OTHERS.iter().chain([(&"en", &ENGLISH)]) {
            let mut phrases = *phrases;
            let others: Vec<&str> = names().map(|name| *phrases.sentence(name).unwrap()).collect();
            for text in phrases.fillers.iter().copied().chain(others) {
                // A question in Greek ends with a semicolon.
                let whole = is_whole(text) || (*code == "el" && text.ends_with(';'));
                assert!(whole && spoken(text) == text, "{code}: {text}");
                assert!(!text.contains(['{', '|']), "{code}: {text}");
            }
        }
    }

    #[test]
    fn the_question_about_an_opt_out_is_known_again_also_when_it_was_cut_short() {
        for text in [
            ENGLISH.opt_out_meant,
            "Do you want us never to call",
            "M\u{f6}chten Sie, dass wir Sie nie wieder anrufen?",
        ] {
            assert!(asks_about_opt_out(text), "{text}");
        }
        for text in ["Do you want", "Do you want us to call you again?", "", "How are you?"] {
            assert!(!asks_about_opt_out(text), "{text}");
        }
    }

    #[test]
    fn a_language_is_found_by_its_code_and_an_unknown_one_has_no_fillers() {
        let fillers = |code| Phrases::built_in(code).unwrap().fillers;
        assert_eq!(fillers("pt-BR")[0], "Um momento, por favor.");
        assert_eq!(fillers("nb-NO"), fillers("no"));
        assert_eq!(Phrases::built_in("EN-us"), Some(ENGLISH));
        assert_eq!(Phrases::built_in("xx"), None);
        assert!(Phrases::foreign().fillers.is_empty());
        assert_eq!(Phrases::foreign().pardon, ENGLISH.pardon);
    }
}
