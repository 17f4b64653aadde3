//! Cuts a streamed reply into pieces worth speaking: sentence by sentence, the first one early.

/// The first piece may end at a comma once it is this long, in bytes.
const EARLY_BYTES: usize = 24;

/// A piece without any punctuation is cut at a space once it is this long, in bytes.
const LONG_BYTES: usize = 240;

/// Collects text and gives it back in pieces. The pieces together are the text, white space included.
#[derive(Debug, Clone, Default)]
pub struct PieceCutter {
    held: String,
    cut_before: bool,
}

impl PieceCutter {
    /// Takes more words; returns the pieces that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        while let Some(end) = self.piece_end() {
            let rest = self.held.split_off(end);
            pieces.push(std::mem::replace(&mut self.held, rest));
            self.cut_before = true;
        }
        pieces
    }

    /// The text is over: what is left, perhaps nothing.
    pub fn finish(&mut self) -> String {
        self.cut_before = false;
        std::mem::take(&mut self.held)
    }

    /// Byte offset one past the first piece and the white space behind it. A sentence's end counts only when white
    /// space follows, so that `3.5` and an unfinished `...` stay whole.
    fn piece_end(&self) -> Option<usize> {
        let mut last_space = None;
        let mut before = ' ';
        for (at, c) in self.held.char_indices() {
            if c.is_whitespace() && at > 0 {
                let end = at + c.len_utf8();
                let clause = matches!(before, ',' | ';' | ':' | '—') && !self.cut_before && at >= EARLY_BYTES;
                if matches!(before, '.' | '?' | '!' | '…' | '。') || clause {
                    return Some(end);
                }
                last_space = Some(end);
            }
            if at >= LONG_BYTES && last_space.is_some() {
                return last_space;
            }
            before = c;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_are_pieces_and_the_first_may_end_at_a_comma() {
        let mut cutter = PieceCutter::default();
        assert_eq!(
            cutter.push("Thanks, that is very good to hear, "),
            ["Thanks, that is very good to hear, "]
        );
        assert!(
            cutter
                .push("really, and it costs 3.5 euros, so far as I know")
                .is_empty()
        );
        assert_eq!(
            cutter.push(". Is it"),
            ["really, and it costs 3.5 euros, so far as I know. "]
        );
        assert_eq!(cutter.finish(), "Is it");
    }

    #[test]
    fn a_text_without_punctuation_is_still_cut() {
        let mut cutter = PieceCutter::default();
        let pieces = cutter.push(&"word ".repeat(200));
        assert!(pieces.len() >= 3);
        assert!(pieces.iter().all(|piece| piece.len() <= LONG_BYTES + 8));
    }

    proptest! {
        #[test]
        fn the_pieces_together_are_the_text(parts in prop::collection::vec("[ a-z.,?!…é]{0,40}", 0..20)) {
            let mut cutter = PieceCutter::default();
            let mut spoken = String::new();
            for part in &parts {
                for piece in cutter.push(part) {
                    prop_assert!(!piece.is_empty());
                    spoken.push_str(&piece);
                }
            }
            spoken.push_str(&cutter.finish());
            prop_assert_eq!(spoken, parts.concat());
        }
    }
}
