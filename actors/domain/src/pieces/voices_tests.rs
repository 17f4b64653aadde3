//! The voice and directions of each word, which do not depend on how the text was streamed.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::agent::Agent;

/// An agent with the voices `Joe` and `Old Man` that suggests the tag `like a pirate`.
fn directions(expressive: bool) -> Arc<Directions> {
    let agent: Agent = serde_json::from_value(json!({ "conversationConfig": { "tts": {
        "expressiveMode": expressive,
        "supportedVoices": [
            { "label": "Joe", "voiceId": "joe" },
            { "label": " Old Man ", "voiceId": "old" },
            { "label": "</x>", "voiceId": "x" },
            { "voiceId": "nameless" }
        ],
        "suggestedAudioTags": [{ "tag": "[Like a  pirate]" }, { "description": "no tag" }]
    } } }))
    .unwrap();
    Arc::new(Directions::of(&agent))
}

fn pieces<T: AsRef<str>>(expressive: bool, parts: impl IntoIterator<Item = T>) -> Vec<Piece> {
    let mut cutter = PieceCutter::new(directions(expressive));
    let mut pieces: Vec<_> = parts.into_iter().flat_map(|part| cutter.push(part.as_ref())).collect();
    pieces.extend(cutter.finish());
    pieces
}

/// Returns each piece as voice and words, with its cues in braces.
fn cut(expressive: bool, text: &str) -> Vec<(usize, String)> {
    let pieces = pieces(expressive, [text]).into_iter().map(|piece| {
        let mut words = piece.text;
        for cue in piece.manner.cues.iter().rev() {
            words.insert_str(cue.at, &format!("{{{}}}", cue.tag));
        }
        (piece.manner.voice, words.trim().to_owned())
    });
    pieces.collect()
}

#[test]
fn words_between_a_voices_tags_are_its_own() {
    for (text, expected) in [
        (
            "Hi. <Joe>Hello there.</Joe> Bye.",
            &[(0, "Hi."), (1, "Hello there."), (0, "Bye.")][..],
        ),
        (
            "He said <joe>hi</JOE>, and left.",
            &[(0, "He said"), (1, "hi,"), (0, "and left.")],
        ),
        (
            "<Old Man>Hm. Well.</ old man >Yes.",
            &[(2, "Hm."), (2, "Well."), (0, "Yes.")],
        ),
        (
            "<Joe>One. <Old Man>Two.</Old Man> Three.</Joe> Four.",
            &[(1, "One."), (2, "Two."), (1, "Three."), (0, "Four.")],
        ),
        ("<Joe>never closed. At all", &[(1, "never closed."), (1, "At all")]),
        ("<Joe>**Bold** <b>x</b><br/>y</Joe>", &[(1, "Bold x"), (1, "y")]),
        ("</Joe>Hi. <Joe>a <Joe>b</Joe> c", &[(0, "Hi."), (1, "a b"), (0, "c")]),
        (
            "<Zed>Hello</Zed> <Élise>there</Élise> <Young Man>you</Young Man>.",
            &[(0, "Hello there you.")],
        ),
        ("a < b, <5, <Joe and <j> x", &[(0, "a < b, <5, <Joe and x")]),
        ("<think><Joe>x</think>Hi", &[(0, "Hi")]),
        ("“<Joe>Yes!</Joe>” he said", &[(0, "“"), (1, "Yes!”"), (0, "he said")]),
        ("<Joe></Joe>Hi <Joe> </Joe>you", &[(0, "Hi"), (0, "you")]),
    ] {
        let expected: Vec<_> = expected
            .iter()
            .map(|(voice, words)| (*voice, (*words).to_owned()))
            .collect();
        assert_eq!(cut(false, text), expected, "{text}");
    }
}

#[test]
fn audio_tags_go_to_the_voice_and_are_never_words() {
    for (text, expressive, plain) in [
        (
            "[laughs] Right. [whispers]Yes [sighs].",
            &["{laughs}Right.", "{whispers}Yes {sighs}."][..],
            &["Right.", "Yes ."][..],
        ),
        (
            "Oh [Like a pirate] arr [laughs][excited] ho.",
            &["Oh {like a pirate}arr {laughs}{excited}ho."],
            &["Oh arr ho."],
        ),
        (
            "[french accent] Oui.",
            &["{french accent}Oui."],
            &["[french accent] Oui."],
        ),
        (
            "[laughs](https://x.org) see [here](y)",
            &["laughs see here"],
            &["laughs see here"],
        ),
        (
            "So [laughs](quietly [laughs]( it is.",
            &["So {laughs}(quietly {laughs}( it is."],
            &["So (quietly ( it is."],
        ),
        (
            "Dial [1], [see page 3].",
            &["Dial [1], [see page 3]."],
            &["Dial [1], [see page 3]."],
        ),
        ("It ends [laughs", &["It ends"], &["It ends"]),
        (
            "<Joe>[sad] No.</Joe>[happy] Yes.",
            &["{sad}No.", "{happy}Yes."],
            &["No.", "Yes."],
        ),
    ] {
        let words = |expressive| {
            cut(expressive, text)
                .into_iter()
                .map(|(_, words)| words)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(true), expressive, "{text}");
        assert_eq!(words(false), plain, "{text}");
    }
}

#[test]
fn a_voices_words_are_given_out_as_soon_as_they_can_be() {
    let mut cutter = PieceCutter::new(directions(true));
    assert!(cutter.push("Well <J").is_empty());
    let [piece] = &cutter.push("oe>")[..] else {
        panic!("what came before the voice")
    };
    assert_eq!((piece.manner.voice, piece.text.as_str()), (0, "Well "));
    let [piece] = &cutter.push("Hi there. ")[..] else {
        panic!("a sentence")
    };
    assert_eq!((piece.manner.voice, piece.text.as_str()), (1, "Hi there. "));
    assert!(cutter.push("Me").is_empty() && cutter.push("</Joe>").is_empty());
    let [piece] = &cutter.push(" ")[..] else {
        panic!("no mark follows")
    };
    assert_eq!((piece.manner.voice, piece.text.as_str()), (1, "Me"));
    assert!(cutter.finish().is_empty());
    let [piece] = &cutter.push("Next. ")[..] else {
        panic!("a sentence")
    };
    assert_eq!(piece.manner, Manner::default(), "the reply before is over");
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let bits = prop::sample::select(vec![
        "<Joe>",
        "</Joe>",
        "<old man>",
        "</Old Man>",
        "<Zed>",
        "</Zed>",
        "<Young Man>",
        "</",
        "<",
        ">",
        "/",
        "<J",
        "oe",
        "<Old ",
        "Man>",
        "<b>",
        "<br>",
        "<think>",
        "</think>",
        "[laughs]",
        "[",
        "]",
        "[laughs",
        "sighs]",
        "[like a pirate]",
        "[x y]",
        "(",
        ")",
        "](x)",
        "*",
        "**",
        "_",
        " ",
        "\n",
        ".",
        ". ",
        "! ",
        ",",
        ", ",
        "\"",
        "”",
        "。",
        "word",
        "Yes",
        "12",
        "é",
        "… ",
        "Dr. ",
    ]);
    prop::collection::vec(bits.prop_map(str::to_owned), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn it_does_not_matter_how_markup_is_streamed(
        parts in texts(),
        expressive in any::<bool>(),
        cuts in prop::collection::vec(0usize..200, 0..12),
    ) {
        let whole = parts.concat();
        let at_once = pieces(expressive, [&whole]);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| whole.is_char_boundary(*at)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let streamed: Vec<&str> = cuts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
        prop_assert_eq!(&pieces(expressive, &streamed), &at_once);
        let mut buffer = [0; 4];
        let one_by_one: Vec<String> = whole.chars().map(|c| c.encode_utf8(&mut buffer).to_owned()).collect();
        prop_assert_eq!(&pieces(expressive, &one_by_one), &at_once);
        for piece in &at_once {
            prop_assert!(!piece.text.is_empty() && piece.manner.voice <= 2);
            prop_assert!(piece.manner.cues.is_empty() || expressive);
            let mut before = 0;
            for cue in &piece.manner.cues {
                prop_assert!(cue.at >= before && piece.text.is_char_boundary(cue.at), "{:?}", piece);
                before = cue.at;
            }
        }
    }
    #[test]
    fn all_words_are_spoken_and_no_markup_is(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<Joe>", "</Joe>", "<old man>", "</Old Man>", "<Zed>", "</Zed>", "[laughs]", "[Like a pirate]", "one", "two.", "three,",
        ]), 0..40),
        expressive in any::<bool>(),
        each in 1usize..9,
    ) {
        let whole = parts.join(" ");
        let streamed: Vec<String> = whole.as_bytes().chunks(each).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        let spoken = pieces(expressive, &streamed).into_iter().map(|piece| piece.text + " ").collect::<String>();
        let words: Vec<&str> = parts.iter().copied().filter(|part| !part.starts_with(['<', '['])).collect();
        prop_assert_eq!(spoken.split_whitespace().collect::<Vec<_>>(), words);
    }
}
