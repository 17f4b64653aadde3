//! Filter that removes `<think>…</think>` from a text stream. Some servers leak a model's reasoning into its words.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Filter of one reply.
#[derive(Debug, Default)]
pub(super) struct ThinkFilter {
    within: bool,
    /// End of the text so far, if it may be the beginning of a tag.
    held: String,
    /// Whether white space is skipped, as it follows a closing tag.
    after: bool,
}

impl ThinkFilter {
    /// Adds a piece of text and returns the part that may be spoken.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut rest = std::mem::take(&mut self.held);
        rest.push_str(text);
        let mut spoken = String::new();
        loop {
            let tag = if self.within { CLOSE } else { OPEN };
            let end = rest.find(tag).unwrap_or_else(|| rest.len() - beginning_of(tag, &rest));
            if !self.within {
                self.speak(&rest[..end], &mut spoken);
            }
            let Some(after) = rest[end..].strip_prefix(tag) else {
                self.held = rest.split_off(end);
                return spoken;
            };
            self.after |= self.within;
            self.within = !self.within;
            rest = after.to_owned();
        }
    }

    /// Returns the text that was held back.
    pub(super) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if self.within { String::new() } else { held }
    }

    /// Returns whether the model is thinking now.
    pub(super) fn is_within(&self) -> bool {
        self.within
    }

    fn speak(&mut self, text: &str, spoken: &mut String) {
        let text = if self.after { text.trim_start() } else { text };
        if !text.is_empty() {
            self.after = false;
            spoken.push_str(text);
        }
    }
}

/// Returns how many bytes at the end of a text are the beginning of a tag.
fn beginning_of(tag: &str, text: &str) -> usize {
    let lengths = (1..tag.len()).rev();
    lengths
        .into_iter()
        .find(|length| text.ends_with(&tag[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spoken(pieces: &[&str]) -> String {
        let mut filter = ThinkFilter::default();
        let mut spoken: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        spoken.push_str(&filter.finish());
        spoken
    }

    #[test]
    fn thoughts_are_not_spoken() {
        for (pieces, words) in [
            (&["<think>hm</think>Hello"][..], "Hello"),
            (&["<thi", "nk>hm</th", "ink>\n\n", "Hello"], "Hello"),
            (&["Hello <think>a</think>there<think>b</think>!"], "Hello there!"),
            (&["1 < 2 <", "b> <thin"], "1 < 2 <b> <thin"),
            (&["<think>for ever"], ""),
            (&["<think>a</thin", "g>b</think>c"], "c"),
            (&["a</think>b"], "a</think>b"),
        ] {
            assert_eq!(spoken(pieces), words, "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn where_the_pieces_are_cut_makes_no_difference(text in "(<think>|</think>|<|think|>|a|é| ){0,12}") {
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(spoken(&pieces), spoken(&[text.as_str()]));
        }
    }
}
