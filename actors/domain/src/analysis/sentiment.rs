//! Sentiment by lexicon (VADER), per turn, and of the user over the whole call.

use std::{collections::VecDeque, sync::LazyLock};

use vader_sentiment::SentimentIntensityAnalyzer;

use crate::{
    interviewer::phrases::{self, Intent},
    ports::{
        language_model::Speaker,
        store::{Sentiment, SentimentLabel, TurnFact, TurnSentiment},
    },
};

/// Score from which a text is positive, and negative below its opposite: the bounds given by VADER's authors.
const NEUTRAL: f64 = 0.05;
/// Most characters of a turn that are scored; a longer turn is a recogniser's error.
const MAX_CHARS: usize = 4000;
/// Words of a plain "no", which is an answer and not a mood, although the lexicon rates it.
const BARE_NO: [&str; 15] = [
    "no", "nope", "nah", "not", "i", "we", "do", "don't", "am", "are", "have", "haven't", "is", "it's", "none",
];

/// Turns of the user that make the mood of a call that goes on.
const MOOD_TURNS: usize = 3;

static ANALYZER: LazyLock<SentimentIntensityAnalyzer<'static>> = LazyLock::new(SentimentIntensityAnalyzer::new);

/// Returns the score of a text, -1 to 1.
pub(super) fn score(text: &str) -> f64 {
    if phrases::plain(text).split(' ').all(|word| BARE_NO.contains(&word)) {
        return 0.0;
    }
    let text: String = text.replace('\u{2019}', "'").chars().take(MAX_CHARS).collect();
    let scores = ANALYZER.polarity_scores(&text);
    let compound = scores.get("compound").copied().filter(|score| score.is_finite());
    let score = rounded(compound.unwrap_or(0.0).clamp(-1.0, 1.0));
    // The word "please" alone would make a polite opt-out look positive.
    match phrases::intent(&text) {
        Some(Intent::OptOut) => score.min(0.0),
        _ => score,
    }
}

/// Returns the sentiment per turn and overall, which is the mean of the user's turns. A machine has no sentiment.
pub(super) fn of(turns: &[TurnFact], scores: &[f64], voicemail: bool) -> Sentiment {
    let by_turn = turns.iter().zip(scores).map(|(turn, score)| TurnSentiment {
        text: turn.text.clone(),
        sentiment_label: label(*score),
        speaker: turn.speaker,
        sentiment_score: *score,
    });
    let of_user = turns
        .iter()
        .zip(scores)
        .filter(|(turn, _)| turn.speaker == Speaker::User && !voicemail);
    let (sum, count) = of_user.fold((0.0, 0.0), |(sum, count), (_, score)| (sum + score, count + 1.0));
    let overall = if count > 0.0 { rounded(sum / count) } else { 0.0 };
    Sentiment {
        sentiment_score: overall,
        sentiment_by_turn: by_turn.collect(),
        sentiment_overall: label(overall),
    }
}

/// Mood of the user in a call that goes on: the sentiment of the last turns.
#[derive(Debug, Default)]
pub struct Mood(VecDeque<f64>);

impl Mood {
    /// Takes the user's next turn.
    pub fn hear(&mut self, text: &str) {
        self.0.push_back(score(text));
        if self.0.len() > MOOD_TURNS {
            self.0.pop_front();
        }
    }

    /// Returns the present mood: neutral if nothing was said.
    pub fn label(&self) -> SentimentLabel {
        let sum: f64 = self.0.iter().sum();
        label(sum / self.0.len().max(1) as f64)
    }
}

/// Returns the label of a score.
pub(super) fn label(score: f64) -> SentimentLabel {
    if score >= NEUTRAL {
        SentimentLabel::Positive
    } else if score <= -NEUTRAL {
        SentimentLabel::Negative
    } else {
        SentimentLabel::Neutral
    }
}

/// Rounds to four decimals, like the lexicon's own implementations. Never returns a negative zero.
pub(super) fn rounded(score: f64) -> f64 {
    (score * 1e4).round() / 1e4 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_never_to_be_called_again_is_not_positive() {
        for text in [
            "Please don't call me again.",
            "Please stop calling, thank you!",
            "Take me off your list, please.",
        ] {
            assert_ne!(label(score(text)), SentimentLabel::Positive, "{text}");
        }
        assert_eq!(label(score("Yes please, that's great.")), SentimentLabel::Positive);
    }
}
