//! Instructions for a model about the voices it can use and the audio tags they support.

use std::fmt::Write;

use super::language;
use crate::{
    agent::Agent,
    pieces::{bare_tag, is_callable},
};

/// Lists the voices that the model may select by their labels.
pub(super) fn voices(agent: &Agent) -> Option<String> {
    let mut told = String::new();
    let mut example = None;
    for voice in &agent.conversation_config.tts.supported_voices {
        let Some(label) = voice.label.as_deref().filter(|label| is_callable(label)) else {
            continue;
        };
        let label = label.trim();
        example.get_or_insert(label);
        let language = voice.language.as_deref().filter(|code| !code.trim().is_empty());
        let _ = match language {
            Some(code) => write!(told, "\n- `{label}`, for words in {}", language::in_words(code.trim())),
            None => write!(told, "\n- `{label}`"),
        };
    }
    let label = example?;
    Some(format!(
        "# Voices\nYou can speak in other voices. Put the words that one of them says between its tags, as in \
         `<{label}>Hello!</{label}>`; all other words are said in your own voice. Tags are not read aloud. Use one where \
         your instructions ask for it or the words are in its language; never put one voice inside another.{told}"
    ))
}

/// Lists the audio tags, if they are enabled.
pub(super) fn audio_tags(agent: &Agent) -> Option<String> {
    let tts = &agent.conversation_config.tts;
    if !tts.expressive_mode {
        return None;
    }
    let mut told = String::from(
        "# Audio tags\nYour voice acts on tags in square brackets, which are not read aloud: one or two English words in \
         lower case, right before the words they are for, such as `[laughs]`, `[whispers]` or `[excited]`. Use few, and \
         only where they fit what is said.",
    );
    let mut suggested = tts.suggested_audio_tags.iter().filter_map(|suggested| {
        let tag = bare_tag(suggested.tag.as_deref()?);
        let when = suggested.description.as_deref().unwrap_or_default();
        let when = when.split_whitespace().collect::<Vec<_>>().join(" ");
        (!tag.is_empty()).then_some((tag, when))
    });
    if let Some(first) = suggested.next() {
        told.push_str(" These before others:");
        for (tag, when) in std::iter::once(first).chain(suggested) {
            let _ = match when.as_str() {
                "" => write!(told, "\n- `[{tag}]`"),
                when => write!(told, "\n- `[{tag}]`: {when}"),
            };
        }
    }
    Some(told)
}
