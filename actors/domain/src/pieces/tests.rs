//! The spoken form of texts and their pieces, which do not depend on how the text was streamed.

use proptest::prelude::*;

use super::{plain::plain, *};

/// Returns the pieces of a text that arrives in these parts.
fn pieces<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut cutter = PieceCutter::default();
    let mut pieces = Vec::new();
    for part in parts {
        pieces.extend(cutter.push(part.as_ref()));
    }
    pieces.extend(cutter.finish());
    pieces.into_iter().map(|piece| piece.text).collect()
}

fn words(pieces: Vec<Piece>) -> Vec<String> {
    pieces.into_iter().map(|piece| piece.text).collect()
}

/// Returns the pieces without the white space around them.
fn cut(text: &str) -> Vec<String> {
    pieces([text]).iter().map(|piece| piece.trim().to_owned()).collect()
}

#[test]
fn markup_is_not_spoken_and_what_means_something_is() {
    for (text, expected) in [
        ("That is **really** good.", "That is really good."),
        ("*Yes*, _of course_, __sure__, ***now***.", "Yes, of course, sure, now."),
        ("~~old~~ new, about ~5", "old new, about ~5"),
        ("Type `ls -l` now", "Type ls -l now"),
        ("3 * 4 is 12, 3*4 too, 2**3 is 8", "3 * 4 is 12, 3*4 too, 2**3 is 8"),
        ("a < b and c > d, x <5, i <3 you", "a < b and c > d, x <5, i <3 you"),
        ("a <b and c> d", "a <b and c> d"),
        (
            "the file my_long_name, john_doe@example.com",
            "the file my_long_name, john_doe@example.com",
        ),
        ("Press *67, or *. Then #1.", "Press *67, or *. Then #1."),
        ("price* applies", "price applies"),
        ("a \\*star\\* and 1\\. one", "a *star* and 1. one"),
        ("# Title\nText", "Title. Text"),
        ("## Is it?\nYes", "Is it? Yes"),
        ("#1 of all, and #tag", "#1 of all, and #tag"),
        ("> quoted\n> more", "quoted more"),
        (
            "We have:\n- apples\n* pears\n+ plums\n• figs\n\nWhich?",
            "We have: apples. pears. plums. figs. Which?",
        ),
        ("1. First\n2) Second\n", "1. First. 2. Second."),
        ("- [ ] open\n- [x] done\n", "open. done."),
        ("one\n---\ntwo\n***\nthree\n===", "one two three"),
        ("– one\n–\ntwo –", "one. – two –"),
        ("-5 degrees", "-5 degrees"),
        (
            "| Day | Time |\n|-----|:----:|\n| Mon | 9 |\n|Tue|10|\n",
            "Day, Time. Mon, 9. Tue, 10.",
        ),
        ("```python\nprint(1)\n```\nDone", "print(1) Done"),
        (
            "See [our site](https://x.org/a_(b)?c=d) or ![a cat](cat.png).",
            "See our site or a cat.",
        ),
        (
            "[**bold**](x) [named][1] [kept] note[^1] [a [b] c](d)",
            "bold named [kept] note a [b] c",
        ),
        (
            "Hello<br/>there <b>bold</b> <break time=\"1s\"/>now",
            "Hello there bold now",
        ),
        ("<speak>Hi <prosody rate='slow'>you</prosody></speak>", "Hi you"),
        ("<p>One</p><p>Two</p>", "One Two"),
        ("<think>secret\n**x**</think>Hello", "Hello"),
        ("<THINK>a</think> b<thinking>c</thinking> d<think/> e", "b d e"),
        ("never closed <think>all of this", "never closed"),
        ("bye</think> then<|im_end|>", "bye then"),
        ("<!-- note --> text <!-- -->end", "text end"),
        (
            "Tom &amp; Jerry &lt; 5 &nbsp;x &unknown;",
            "Tom & Jerry < 5 x &unknown;",
        ),
        ("Great! 😀👍🏽 Go 👩‍👩‍👧 ❤️ 🇩🇪 1️⃣ ⭐", "Great! Go 1"),
        (
            "Visit https://www.example.com/a/b/?x=1&y=2. Or http://foo.org/, www.bar.net?",
            "Visit example.com/a/b. Or foo.org, bar.net?",
        ),
        (
            "(see https://x.org/a_b_c) <https://y.org> <me@z.org>",
            "(see x.org/a_b_c) y.org me@z.org",
        ),
        ("**https://x.org/**", "x.org"),
        (
            "क्\u{200d}ष zero\u{200b}width\r\nline\u{a0}x",
            "क्\u{200d}ष zerowidth line x",
        ),
        ("  two   spaces \n\n\n lines ", "two spaces lines"),
        ("😀", ""),
        (
            "“Quoted”, don't, l'été — naïve… 50 % & more!",
            "“Quoted”, don't, l'été — naïve… 50 % & more!",
        ),
    ] {
        assert_eq!(spoken(text), expected, "{text}");
    }
}

#[test]
fn sentences_are_pieces_and_the_first_may_end_at_a_comma() {
    let mut cutter = PieceCutter::default();
    assert_eq!(
        words(cutter.push("Thanks, that is very good to hear, ")),
        ["Thanks, that is very good to hear, "]
    );
    assert!(
        cutter
            .push("really, and it costs 3.5 euros, so far as I know")
            .is_empty()
    );
    assert_eq!(
        words(cutter.push(". Is it")),
        ["really, and it costs 3.5 euros, so far as I know. "]
    );
    assert_eq!(words(cutter.finish()), ["Is it"]);
}

#[test]
fn a_point_is_not_always_an_end() {
    for (text, expected) in [
        (
            "Dr. Who met Mrs. J. R. Smith. Then he left.",
            &["Dr. Who met Mrs. J. R. Smith.", "Then he left."][..],
        ),
        (
            "Fruit, e.g. figs, i.e. this. Yes.",
            &["Fruit, e.g. figs, i.e. this.", "Yes."],
        ),
        ("It is 9 a.m. on Monday. Good.", &["It is 9 a.m. on Monday.", "Good."]),
        ("At 9 a.m. Monday we open. Ok.", &["At 9 a.m. Monday we open.", "Ok."]),
        (
            "We open at 9 a.m. We close at 5 p.m. sharp.",
            &["We open at 9 a.m.", "We close at 5 p.m. sharp."],
        ),
        (
            "It costs 3.5 or 1.200 euros at 9.30 h. Fine?",
            &["It costs 3.5 or 1.200 euros at 9.30 h.", "Fine?"],
        ),
        (
            "Am 3. Mai und am 4. dieses Monats. Gut.",
            &["Am 3. Mai und am 4. dieses Monats.", "Gut."],
        ),
        (
            "We have 12. Do you? It was in 2024. Yes.",
            &["We have 12.", "Do you?", "It was in 2024.", "Yes."],
        ),
        (
            "Take No. 5. No. I mean it. So do I. Well.",
            &["Take No. 5.", "No.", "I mean it.", "So do I.", "Well."],
        ),
        (
            "The U.S. is big. Ask Acme Inc. They know.",
            &["The U.S. is big.", "Ask Acme Inc.", "They know."],
        ),
        (
            "Well... let me see. Hm… Right.",
            &["Well... let me see.", "Hm…", "Right."],
        ),
        (
            "He said \"Go!\" Then (really?) he went.",
            &["He said \"Go!\"", "Then (really?) he went."],
        ),
        (
            "Mail me@example.com or see x.org. Done!",
            &["Mail me@example.com or see x.org.", "Done!"],
        ),
        ("1. Open it.\n2. Close it.", &["1. Open it.", "2. Close it."]),
        ("Apples\nPears\n", &["Apples", "Pears"]),
        ("नमस्ते। आप कैसे हैं? ठीक।", &["नमस्ते।", "आप कैसे हैं?", "ठीक।"]),
        (
            "你好。「很好！」他说。是吗？好",
            &["你好。", "「很好！」", "他说。", "是吗？", "好"],
        ),
        ("مرحبا؟ نعم۔ جيد", &["مرحبا؟", "نعم۔", "جيد"]),
        (
            "¿Qué tal? ¡Bien! Sr. López llegó.",
            &["¿Qué tal?", "¡Bien!", "Sr. López llegó."],
        ),
        ("... Yes. !", &["... Yes.", "!"]),
    ] {
        assert_eq!(cut(text), expected, "{text}");
    }
}

#[test]
fn an_end_is_told_as_soon_as_it_can_be() {
    let mut cutter = PieceCutter::default();
    assert_eq!(words(cutter.push("Sure. ")), ["Sure. "]);
    assert!(cutter.push("It is Dr. ").is_empty());
    assert_eq!(words(cutter.push("No. Wait for 9 a.m. ")), ["It is Dr. No. "]);
    assert!(cutter.push("W").is_empty(), "it might be Wednesday");
    assert_eq!(words(cutter.push("e ")), ["Wait for 9 a.m. "]);
    assert_eq!(words(cutter.finish()), ["We "]);
}

#[test]
fn long_sentences_are_cut_at_a_comma_or_else_a_space() {
    let clause = "and so it went on for quite some time, ";
    let long = clause.repeat(20);
    let parts = pieces([&long]);
    assert!(parts.len() >= 4, "{parts:?}");
    assert!(
        parts
            .iter()
            .all(|part| part.ends_with(", ") && part.len() <= LONG_BYTES + 8)
    );
    let parts = pieces(["word ".repeat(200)]);
    assert!(parts.len() >= 4);
    assert!(
        parts
            .iter()
            .all(|part| part.ends_with("word ") && part.len() <= LONG_BYTES + 8)
    );
    let parts = pieces(["好".repeat(1000)]);
    assert!(parts.iter().all(|part| part.len() <= ENDLESS_BYTES + 3) && parts.len() > 5);
}

#[test]
fn a_piece_tells_whether_its_sentence_is_whole() {
    for whole in ["Yes. ", "(Really?) ", "是。", "“No!” "] {
        assert!(is_whole(whole), "{whole}");
    }
    for part in ["Thanks, ", "and so", ""] {
        assert!(!is_whole(part), "{part}");
    }
}

/// Generates texts from everything that matters to the reader and the cutter, in all combinations.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let bits = prop::sample::select(vec![
        "a", "B", " ", "  ", "\n", "\n\n", "*", "**", "***", "_", "__", "`", "```", "~", "~~", "#", "## ", ">", "- ",
        "* ", "1. ", "2) ", "12", "3.5", "[", "]", "](", "](x)", "[^1]", "![", "(", ")", "<", ">", "</", "/>", "<b>",
        "<think>", "</think>", "<br", "=\"", "\"", "<|", "|>", "<!--", "-->", "|", "|---|", "\\", "&", "&amp;", "&a",
        "😀", "\u{fe0f}", "\u{200d}", "👍🏽", "http", "https://", "www.", "/", "?", "x.org", "@", ".", "! ", "? ", "…",
        "...", "。", "」", "।", ", ", "，", "Dr. ", "a.m. ", "e.g. ", "Monday", "Mai", "I. ", "No. ", "word", "é",
        "\r", "\u{a0}", "\t", "=", "---", "x",
    ]);
    prop::collection::vec(bits.prop_map(str::to_owned), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn it_does_not_matter_how_a_text_is_streamed(parts in texts(), cuts in prop::collection::vec(0usize..200, 0..12)) {
        let whole = parts.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| whole.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        let mut streamed = Vec::new();
        let mut from = 0;
        for at in cuts {
            streamed.push(&whole[from..at]);
            from = at;
        }
        streamed.push(&whole[from..]);
        let at_once = pieces([&whole]);
        prop_assert_eq!(&pieces(&streamed), &at_once);
        let mut buffer = [0; 4];
        let one_by_one: Vec<String> = whole.chars().map(|c| c.encode_utf8(&mut buffer).to_owned()).collect();
        prop_assert_eq!(&pieces(&one_by_one), &at_once);
    }

    #[test]
    fn the_pieces_together_are_the_plain_text(parts in texts()) {
        let whole = parts.concat();
        let tidy = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = pieces(&parts);
        prop_assert!(said.iter().all(|piece| !piece.is_empty()));
        prop_assert_eq!(tidy(&said.concat()), tidy(&plain(&whole)));
    }

    #[test]
    fn plain_words_stay_as_they_are(text in "[a-zA-Zäéñ0-9]{1,8}( [a-zA-Zäéñ0-9]{1,8}[,.!?]?){0,20}") {
        prop_assume!(!text.to_lowercase().contains("http") && !text.contains("www"));
        prop_assert_eq!(spoken(&text), text);
    }
}
