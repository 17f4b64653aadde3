//! Grammars: every sentence can be drawn, and a file that is none is refused with its line.

use turns::{
    chance::Chance,
    grammar::Grammar,
    language::{Language, Third, grammar},
    sentence::{Part, Sentence},
};

/// Draws of each sentence.
const DRAWS: usize = 20;

fn draw(text: &str, seed: u64) -> Sentence {
    let file = format!("[list digit]\none\n[list name]\nAnna Lee\n[list surname]\nLee\n[turn test]\n? Yes?\n{text}\n");
    let grammar = Grammar::parse("test", &file, "").unwrap();
    let template = &grammar.turns()["test"][0].template;
    grammar.draw(template, 1.0, &mut Chance::new(seed, "test"))
}

fn error(file: &str) -> String {
    Grammar::parse("test", file, "").unwrap_err().to_string()
}

#[test]
fn every_sentence_of_every_grammar_can_be_drawn() {
    for (third, language) in Third::ALL
        .iter()
        .flat_map(|third| Language::ALL.map(|language| (third, language)))
    {
        let grammar = grammar(language, *third).unwrap();
        let mut chance = Chance::new(1, "draws");
        for template in grammar.templates() {
            for _ in 0..DRAWS {
                let sentence = grammar.draw(template, 1.0, &mut chance);
                let text = sentence.marked();
                assert!(
                    sentence.words().count() > 0,
                    "{third} {language}: {}",
                    template.source()
                );
                assert!(
                    !text.contains(['{', '}', '|', '<', '>', '~', '(', ')']),
                    "{third} {language}: {text}"
                );
                check_pauses(&sentence);
            }
        }
        for rule in grammar.turns().values().flatten() {
            assert!(
                !rule.questions.is_empty(),
                "{third} {language}: {}",
                rule.template.source()
            );
        }
        assert!(
            grammar.talk().len() >= 3 && grammar.ask().len() >= 2,
            "{third} {language}"
        );
    }
}

fn check_pauses(sentence: &Sentence) {
    let is_pause = |part: &Part| matches!(part, Part::Pause { .. });
    let ends = [sentence.parts.first(), sentence.parts.last()];
    assert!(!ends.into_iter().flatten().any(is_pause), "{}", sentence.marked());
    for pair in sentence.parts.windows(2) {
        assert!(!(is_pause(&pair[0]) && is_pause(&pair[1])), "{}", sentence.marked());
    }
    for part in &sentence.parts {
        if let Part::Pause { ms, .. } = part {
            assert!((200..=2_500).contains(ms), "{}", sentence.marked());
        }
    }
}

#[test]
fn pauses_tell_whether_the_words_before_them_could_be_the_end() {
    let sentence = draw("it's here. <pause 400-400 whole> or <pause 300-300> there", 0);
    assert_eq!(sentence.marked(), "It's here. [400 whole] Or [300] there");
    assert_eq!(sentence.bare(), "it's here or there");
}

#[test]
fn choices_are_drawn_and_filled_pauses_are_marked() {
    let mut drawn: Vec<String> = (0..40).map(|seed| draw("~um, (a|b (c|d)|)", seed).bare()).collect();
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn, ["", "a", "b c", "b d"]);
    let sentence = draw("~um, yes", 0);
    let fillers: Vec<bool> = sentence.words().map(|word| word.filler).collect();
    assert_eq!(fillers, [true, false]);
}

#[test]
fn a_name_is_spelled_as_it_was_said() {
    let letters = draw("{name} {spell surname}", 3).bare();
    assert_eq!(letters, "anna lee l e e");
}

#[test]
fn digits_come_in_groups_of_the_right_number() {
    for seed in 0..50 {
        let sentence = draw("{groups 7-10}", seed);
        let digits = sentence.words().count();
        assert!((7..=10).contains(&digits), "{}", sentence.marked());
        check_pauses(&sentence);
    }
}

#[test]
fn what_is_no_grammar_is_refused_with_file_and_line() {
    assert_eq!(error("[turn a]\n? b\nc {d}"), "test, line 3: there is no [list d]");
    assert_eq!(error("a"), "test, line 1: begin a section first, such as [list name]");
    assert_eq!(error("# a\n\n[turn a]\n? b\n(c"), "test, line 5: a ( has no )");
    assert_eq!(error("[turn a]\n? b\nc)"), "test, line 3: ) stands outside of ( )");
    assert_eq!(error("[turn a]\n? b\n{c"), "test, line 3: { has no }");
    for wrong in [
        "<pause 100-300>",
        "<pause 300-2600>",
        "<pause 300-200>",
        "<pause a>",
        "<wait 300>",
        "{digits a}",
        "{a b}",
    ] {
        let error = error(&format!("[turn a]\n? b\nc {wrong} d"));
        assert!(error.starts_with("test, line 3: "), "{error}");
        assert!(error.contains("write"), "{error}");
    }
    let error = error("[overlap cough]\na");
    assert_eq!(
        error,
        "test, line 1: [overlap cough]: no overlap with words is called \"cough\""
    );
}
