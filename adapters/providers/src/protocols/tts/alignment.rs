//! Alignment of a text with the characters or words that a provider reports as spoken.

/// Maximum distance at which a character is searched in the text. Providers leave out characters that they do
/// not speak.
const AHEAD: usize = 12;

/// Position of a provider within a text.
#[derive(Debug)]
pub(crate) struct Aligner {
    text: String,
    /// Byte offset up to which the text was spoken.
    at: usize,
}

impl Aligner {
    /// Starts at the beginning of a text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            at: 0,
        }
    }

    /// Handles one or more spoken characters. Returns the offset in the text if a word ended with them.
    pub(crate) fn character(&mut self, spoken: &str) -> Option<usize> {
        let moved = self.advance(spoken);
        (moved && self.at_word_end()).then_some(self.at)
    }

    /// Handles a spoken word, perhaps without its punctuation. Returns the offset in the text at which it ended.
    pub(crate) fn word(&mut self, spoken: &str) -> Option<usize> {
        if !self.advance(spoken) {
            return None;
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let marks = rest.find(|c: char| c.is_whitespace() || c.is_alphanumeric());
        self.at += marks.unwrap_or(rest.len());
        self.at_word_end().then_some(self.at)
    }

    fn advance(&mut self, spoken: &str) -> bool {
        let before = self.at;
        for wanted in spoken.chars().filter(|c| !c.is_whitespace()) {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let mut ahead = rest.char_indices().filter(|(_, c)| !c.is_whitespace()).take(AHEAD);
            let same = |c: char| c == wanted || c.to_lowercase().eq(wanted.to_lowercase());
            if let Some((offset, found)) = ahead.find(|(_, c)| same(*c)) {
                self.at += offset + found.len_utf8();
            }
        }
        self.at > before
    }

    fn at_word_end(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.is_empty() || rest.starts_with(char::is_whitespace)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ends(text: &str, spoken: &[&str], how: fn(&mut Aligner, &str) -> Option<usize>) -> Vec<usize> {
        let mut aligner = Aligner::new(text);
        spoken.iter().filter_map(|part| how(&mut aligner, part)).collect()
    }

    #[test]
    fn a_word_ends_with_its_last_character() {
        let spoken: Vec<String> = " Hi there. ".chars().map(String::from).collect();
        let spoken: Vec<&str> = spoken.iter().map(String::as_str).collect();
        assert_eq!(ends("Hi there.", &spoken, Aligner::character), [2, 9]);
    }

    #[test]
    fn a_word_may_come_without_its_marks_and_in_parts() {
        let spoken = ["hello", "it", "'s", "me"];
        assert_eq!(ends("“Hello”, it's me!", &spoken, Aligner::word), [12, 17, 21]);
    }

    #[test]
    fn what_is_not_in_the_text_moves_nothing() {
        assert_eq!(
            ends("one two", &["#", "one", "zzz", "two", "two"], Aligner::word),
            [3, 7]
        );
        assert_eq!(ends("", &["one", ""], Aligner::word), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn ends_rise_and_lie_on_ends_of_words(
            text in "\\PC{0,40}",
            spoken in prop::collection::vec("\\PC{0,6}", 0..30),
            whole in any::<bool>(),
        ) {
            let spoken: Vec<&str> = spoken.iter().map(String::as_str).collect();
            let how = if whole { Aligner::word } else { Aligner::character };
            let mut before = 0;
            for end in ends(&text, &spoken, how) {
                prop_assert!(end > before && text.is_char_boundary(end));
                prop_assert!(text[end..].is_empty() || text[end..].starts_with(char::is_whitespace));
                before = end;
            }
        }

        #[test]
        fn characters_of_the_text_itself_end_every_word(text in "\\PC{0,40}") {
            let spoken: Vec<String> = text.chars().map(String::from).collect();
            let spoken: Vec<&str> = spoken.iter().map(String::as_str).collect();
            let words = text.split_whitespace().map(|w| w.as_ptr().addr() - text.as_ptr().addr() + w.len());
            prop_assert_eq!(ends(&text, &spoken, Aligner::character), words.collect::<Vec<_>>());
        }
    }
}
