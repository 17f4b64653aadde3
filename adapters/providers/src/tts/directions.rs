//! Texts with directions for the voice, and their form in a provider's markup. Word times in the marked-up
//! text are mapped back to the plain text.

use domain::ports::synthesizer::{SpeechPiece, WordEnd};
use futures_util::StreamExt;
use media::session::Cue;

use crate::protocols::tts::provider::Pieces;

/// Text with directions for the voice.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub text: String,
    pub cues: Vec<Cue>,
}

impl Script {
    /// Returns the text and directions from a byte offset on.
    pub(super) fn behind(&self, at: usize) -> Self {
        let cues = self.cues.iter().filter(|cue| cue.at >= at).map(|cue| Cue {
            at: cue.at - at,
            tag: cue.tag.clone(),
        });
        Self {
            text: self.text.get(at..).unwrap_or_default().to_owned(),
            cues: cues.collect(),
        }
    }

    /// Returns the text with the directions that `write` can express as markup.
    pub(super) fn written(&self, write: impl Fn(&str) -> Option<String>) -> Written {
        let mut written = Written::default();
        let mut from = 0;
        for cue in &self.cues {
            let (Some(words), Some(markup)) = (self.text.get(from..cue.at), write(&cue.tag)) else {
                continue;
            };
            written.text.push_str(words);
            from = cue.at;
            let before = if written.text.is_empty() || written.text.ends_with(char::is_whitespace) {
                ""
            } else {
                " "
            };
            let follows = self.text.get(from..).unwrap_or_default();
            let after = if follows.starts_with(char::is_whitespace) {
                ""
            } else {
                " "
            };
            let markup = format!("{before}{markup}{after}");
            written.inserted.push((written.text.len(), markup.len()));
            written.text.push_str(&markup);
        }
        written.text.push_str(self.text.get(from..).unwrap_or_default());
        written
    }
}

/// Text in the form that a provider receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub text: String,
    /// Inserted markup: offset and length in bytes.
    inserted: Vec<(usize, usize)>,
}

impl Written {
    /// Returns the text with blanks in place of the markup.
    pub(super) fn words(&self) -> String {
        let mut words = self.text.clone();
        for &(at, bytes) in &self.inserted {
            words.replace_range(at..at + bytes, &" ".repeat(bytes));
        }
        words
    }

    /// Maps the word times in the audio back to the plain text.
    pub(super) fn timed(self, pieces: Pieces) -> Pieces {
        if self.inserted.is_empty() {
            return pieces;
        }
        let plain = move |word: WordEnd| {
            let before = self.inserted.iter().filter(|(at, _)| *at < word.text_end);
            let markup: usize = before.map(|(at, bytes)| (*bytes).min(word.text_end - at)).sum();
            WordEnd {
                text_end: word.text_end - markup,
                ..word
            }
        };
        pieces
            .map(move |piece| {
                piece.map(|piece| SpeechPiece {
                    words: piece.words.into_iter().map(&plain).collect(),
                    ..piece
                })
            })
            .boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn script(text: &str, cues: &[(usize, &str)]) -> Script {
        let cues = cues.iter().map(|(at, tag)| Cue {
            at: *at,
            tag: (*tag).to_owned(),
        });
        Script {
            text: text.into(),
            cues: cues.collect(),
        }
    }

    #[tokio::test]
    async fn words_are_found_again_behind_what_was_put_in() {
        let script = script(
            "One two three.",
            &[(0, "laughs"), (4, "odd"), (4, "sighs"), (14, "coughs")],
        );
        let written = script.written(|tag| (tag != "odd").then(|| format!("[{tag}]")));
        assert_eq!(written.text, "[laughs] One [sighs] two three. [coughs] ");
        assert_eq!(written.words(), "         One         two three.          ");
        let word = |word: &str| WordEnd {
            text_end: written.text.find(word).unwrap() + word.len(),
            sample_end: 1,
        };
        let piece = SpeechPiece {
            samples: vec![1],
            words: ["One", "two", "three."].map(word).to_vec(),
        };
        let pieces = written.clone().timed(stream::iter([Ok(piece)]).boxed());
        let told: Vec<_> = pieces.collect().await;
        let ends: Vec<usize> = told[0]
            .as_ref()
            .unwrap()
            .words
            .iter()
            .map(|word| word.text_end)
            .collect();
        assert_eq!(ends, [3, 7, 14]);
    }

    #[test]
    fn what_is_left_of_a_text_keeps_the_directions_that_are_left() {
        let rest = script("One two.", &[(0, "a"), (4, "b")]).behind(4);
        assert_eq!(rest.written(|tag| Some(format!("[{tag}]"))).text, "[b] two.");
    }
}
