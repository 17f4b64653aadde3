//! Histograms of the stages of an answer, from the facts that calls record.

use domain::ports::store::EventFact;
use serde_json::Value;

/// Histogram by stage and by whether the reply was prepared ahead.
pub const SECONDS: &str = "ringback_answer_stage_seconds";

/// Upper bounds, in seconds.
pub const BOUNDS: &[f64] = &[
    0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0,
];

/// Records the stages in an event about an answer.
pub fn measure(event: &EventFact) {
    if !matches!(event.name.as_str(), "reply" | "late_token") {
        return;
    }
    let figures: Value = serde_json::from_str(&event.detail).unwrap_or_default();
    let speculated = if figures["speculated"] == true { "yes" } else { "no" };
    for (stage, ms) in stages(&event.name, &figures) {
        metrics::histogram!(SECONDS, "stage" => stage, "speculated" => speculated).record(ms / 1000.0);
    }
}

/// Returns the stages and their milliseconds. `final`, `turn_end` and `answer` count from the user's last
/// voiced frame. The others are the time that each stage takes by itself, so that a reply prepared ahead
/// gives the same figures for its providers: the model from the question to its first word, tts from there to
/// its first audio, playout from there, or from the end of the turn if that came later. A filler counts for
/// neither model nor tts.
fn stages(name: &str, figures: &Value) -> Vec<(&'static str, f64)> {
    let at = |name: &str| figures[name].as_f64();
    if name == "late_token" {
        return at("modelMs").map(|ms| ("first_token", ms)).into_iter().collect();
    }
    let filled = figures["filled"] == true;
    let told = |ms: Option<f64>| ms.filter(|_| !filled);
    let between = |from: Option<f64>, to: Option<f64>| Some((to? - from?).max(0.0));
    let audio = at("firstAudioMs");
    let ready = audio.into_iter().chain(at("turnEndMs")).reduce(f64::max);
    let stages = [
        ("final", at("finalMs")),
        ("turn_end", at("turnEndMs")),
        ("first_token", between(at("askedMs"), at("firstTokenMs"))),
        ("first_audio", told(between(at("firstTokenMs"), audio))),
        ("playout", between(audio.and(ready), at("playoutMs"))),
        ("answer", at("playoutMs")),
    ];
    let known = stages.into_iter().filter_map(|(stage, ms)| Some((stage, ms?.max(0.0))));
    known.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_stage_is_told_by_itself_made_ahead_or_not() {
        let plain = json!({ "finalMs": 250, "turnEndMs": 450, "askedMs": 450, "firstTokenMs": 850, "firstAudioMs": 1150,
            "playoutMs": 1170, "speculated": false, "filled": false });
        let expected = vec![
            ("final", 250.0),
            ("turn_end", 450.0),
            ("first_token", 400.0),
            ("first_audio", 300.0),
            ("playout", 20.0),
            ("answer", 1170.0),
        ];
        assert_eq!(stages("reply", &plain), expected);
        let ahead = json!({ "finalMs": 50, "turnEndMs": 800, "askedMs": 60, "firstTokenMs": 360, "firstAudioMs": 660,
            "playoutMs": 815, "speculated": true, "filled": false });
        let expected = vec![
            ("final", 50.0),
            ("turn_end", 800.0),
            ("first_token", 300.0),
            ("first_audio", 300.0),
            ("playout", 15.0),
            ("answer", 815.0),
        ];
        assert_eq!(stages("reply", &ahead), expected);
    }

    #[test]
    fn a_filler_is_no_token_and_the_late_token_is_told_when_it_comes() {
        let filled = json!({ "finalMs": null, "turnEndMs": 450, "askedMs": 450, "firstTokenMs": null,
            "firstAudioMs": 1960, "playoutMs": 1970, "speculated": false, "filled": true });
        let expected = vec![("turn_end", 450.0), ("playout", 10.0), ("answer", 1970.0)];
        assert_eq!(stages("reply", &filled), expected);
        assert_eq!(
            stages("late_token", &json!({ "modelMs": 2600 })),
            [("first_token", 2600.0)]
        );
    }
}
