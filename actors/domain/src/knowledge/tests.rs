//! Searches and answers over small documents, and properties of the splitter.

use proptest::prelude::*;

use super::*;

fn document(name: &str, text: &str) -> Document {
    Document {
        name: name.into(),
        text: text.into(),
    }
}

fn clinic() -> Library {
    Library::new(vec![
        document(
            "Greenfield Dental",
            "# Opening hours\n\nMonday to Friday from 9 am to 5 pm. On Saturdays we are closed.\n\n# Prices\n\nA \
             professional cleaning costs 80 dollars. A check-up is free once a year.\n\n# Parking\n\nThere are ten places \
             behind the house.",
        ),
        document(
            "Refunds",
            "Do you give money back? Yes, within 14 days, if you bring the receipt.",
        ),
    ])
}

fn answer(library: &Library, words: &str) -> Option<String> {
    let question = Question::of_words(words);
    let hits = library.search(&question, 10);
    library.knowledge(&question, &hits).answer
}

#[test]
fn a_question_is_answered_with_the_sentences_that_speak_of_it() {
    let library = clinic();
    let hours = answer(&library, "Okay, and what are your opening hours?").unwrap();
    assert_eq!(hours, "Monday to Friday from 9 am to 5 pm. On Saturdays we are closed.");
    let cleaning = answer(&library, "How much is a cleaning?").unwrap();
    assert!(
        cleaning.starts_with("A professional cleaning costs 80 dollars."),
        "{cleaning}"
    );
    let refund = answer(&library, "do you give the money back").unwrap();
    assert_eq!(refund, "Yes, within 14 days, if you bring the receipt.");
}

#[test]
fn what_no_document_speaks_of_is_not_answered() {
    let library = clinic();
    for words in [
        "Who won the match yesterday?",
        "",
        "uh what",
        "Do you sell bicycles in Ohio?",
    ] {
        assert_eq!(answer(&library, words), None, "{words}");
    }
    let nothing = Library::new(Vec::new());
    assert_eq!(answer(&nothing, "What are your opening hours?"), None);
}

#[test]
fn words_are_found_in_other_forms_and_in_each_language() {
    let library = Library::new(vec![
        document(
            "Hotel Sol",
            "El desayuno se sirve de siete a diez. Los perros peque\u{f1}os son bienvenidos.",
        ),
        document(
            "H\u{f4}tel du Parc",
            "Le petit-d\u{e9}jeuner est servi \u{e0} sept heures. Les chiens sont accept\u{e9}s.",
        ),
        document(
            "Hotel Post",
            "Die Zimmer sind ab 15 Uhr bezugsfertig. Hunde d\u{fc}rfen mitgebracht werden.",
        ),
        document(
            "\u{939}\u{94b}\u{91f}\u{932}",
            "\u{928}\u{93e}\u{936}\u{94d}\u{924}\u{93e} \u{938}\u{941}\u{92c}\u{939} \u{938}\u{93e}\u{924} \u{92c}\u{91c}\u{947} \u{938}\u{947} \u{92e}\u{93f}\u{932}\u{924}\u{93e} \u{939}\u{948}\u{964} \u{915}\u{941}\u{924}\u{94d}\u{924}\u{947} \u{932}\u{93e} \u{938}\u{915}\u{924}\u{947} \u{939}\u{948}\u{902}\u{964}",
        ),
    ]);
    for (words, wanted) in [
        ("\u{bf}Puedo llevar mi perro?", 0),
        ("est-ce que je peux venir avec mon chien", 1),
        ("Darf ich meinen Hund mitbringen?", 2),
        (
            "\u{915}\u{94d}\u{92f}\u{93e} \u{92e}\u{948}\u{902} \u{905}\u{92a}\u{928}\u{93e} \u{915}\u{941}\u{924}\u{94d}\u{924}\u{93e} \u{932}\u{93e} \u{938}\u{915}\u{924}\u{93e} \u{939}\u{942}\u{901}?",
            3,
        ),
    ] {
        let hits = library.search(&Question::of_words(words), 3);
        let first = hits.first().map(|hit| library.passages()[hit.passage].document);
        assert_eq!(first, Some(wanted), "{words}: {hits:?}");
    }
}

#[test]
fn what_the_agent_asked_helps_and_counts_for_little() {
    let library = clinic();
    let question = Question {
        words: "Yes, how much?".into(),
        context: "Would you like a cleaning?".into(),
    };
    let hits = library.search(&question, 1);
    assert_eq!(library.passages()[hits[0].passage].heading, "Prices");
    let question = Question {
        words: "And where can I park?".into(),
        ..question
    };
    let hits = library.search(&question, 1);
    assert_eq!(library.passages()[hits[0].passage].heading, "Parking");
}

#[test]
fn little_is_given_whole_and_much_by_its_best_passages() {
    let small = clinic();
    let question = Question::of_words("What are your opening hours?");
    let knowledge = small.knowledge(&question, &small.search(&question, 10));
    assert!(knowledge.found.is_empty());
    assert_eq!(knowledge.whole.unwrap().len(), 2);
    let filler = "Our staff is trained every year. ".repeat(400);
    let large = Library::new(vec![
        document("Staff", &filler),
        document("Hours", "# Opening hours\nMonday to Friday from 9 to 5."),
    ]);
    let knowledge = large.knowledge(&question, &large.search(&question, 10));
    assert_eq!(knowledge.whole, None);
    assert_eq!(knowledge.found[0].document, "Hours");
    assert_eq!(knowledge.found[0].heading, "Opening hours");
    let staff = Question::of_words("How is your staff trained?");
    let found = large.knowledge(&staff, &large.search(&staff, 50)).found;
    let characters: usize = found.iter().map(|excerpt| excerpt.text.chars().count()).sum();
    assert!(!found.is_empty() && found.len() <= MOST_FOUND && characters <= FOUND_CHARACTERS);
}

#[test]
fn what_is_high_in_two_orders_comes_first() {
    let order = |passages: &[usize]| -> Vec<Hit> {
        passages
            .iter()
            .map(|passage| Hit {
                passage: *passage,
                score: 1.0,
            })
            .collect()
    };
    let places: Vec<usize> = fused(&[order(&[1, 2, 3]), order(&[4, 2])], 3)
        .iter()
        .map(|hit| hit.passage)
        .collect();
    assert_eq!(places, [2, 1, 4]);
}

#[test]
fn passages_stand_under_their_headings() {
    let text =
        "Welcome to our house.\n\nOpening hours\nFrom nine to five.\n\n## Prices ##\nTen each.\n- Tea: 2 dollars\n";
    let cut = passages(0, text);
    let shown: Vec<(&str, &str)> = cut
        .iter()
        .map(|one| (one.heading.as_str(), &text[one.range.clone()]))
        .collect();
    assert_eq!(
        shown,
        [
            ("", "Welcome to our house."),
            ("Opening hours", "Opening hours\nFrom nine to five."),
            ("Prices ##", "## Prices ##\nTen each.\n- Tea: 2 dollars"),
        ]
    );
}

#[test]
fn a_title_goes_along_with_what_stands_below_it() {
    let text = "# Greenfield Dental\n\n## Hours\n\nNine to five.\n\n# Nothing\n";
    let cut = passages(0, text);
    let shown: Vec<(&str, &str)> = cut
        .iter()
        .map(|one| (one.heading.as_str(), &text[one.range.clone()]))
        .collect();
    assert_eq!(
        shown,
        [
            ("Hours", "# Greenfield Dental\n\n## Hours\n\nNine to five."),
            ("Nothing", "# Nothing")
        ]
    );
}

#[test]
fn a_sentence_that_speaks_of_the_one_before_keeps_it() {
    let sentence = "This is one of many sentences of about sixty characters. ";
    let text = sentence.repeat(40);
    let cut = passages(0, &text);
    assert!(cut.len() > 2);
    for pair in cut.windows(2) {
        assert!(pair[1].range.start < pair[0].range.end, "{pair:?}");
    }
}

proptest! {
    #[test]
    fn no_word_of_a_document_is_lost_and_no_passage_is_too_long(
        text in proptest::collection::vec(
            prop_oneof![
                "\\PC{0,40}", Just("\n".to_owned()), Just("\n\n".to_owned()), Just("# Head\n".to_owned()), Just(". ".to_owned()),
                "[a-z]{600,1500}", "([a-z]{1,8} ){50,200}", Just("\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947}\u{964} ".repeat(60)), any::<char>().prop_map(String::from),
            ],
            0..20,
        ).prop_map(|pieces| pieces.concat())
    ) {
        let cut = passages(3, &text);
        let mut covered = 0;
        for passage in &cut {
            prop_assert_eq!(passage.document, 3);
            let words = &text[passage.range.clone()];
            prop_assert!(!words.trim().is_empty());
            prop_assert_eq!(words.trim(), words);
            prop_assert!(words.chars().count() <= PASSAGE_CHARACTERS, "{}", words.chars().count());
            if passage.range.start > covered {
                prop_assert!(text[covered..passage.range.start].trim().is_empty(), "lost: {:?}", &text[covered..passage.range.start]);
            }
            prop_assert!(passage.range.end > covered, "nothing but a repetition");
            covered = passage.range.end;
        }
        prop_assert!(text[covered..].trim().is_empty());
    }

    #[test]
    fn any_text_is_indexed_and_any_question_asked(text in "\\PC{0,400}", words in "\\PC{0,80}") {
        let library = Library::new(vec![document(&words, &text)]);
        let question = Question::of_words(&words);
        let hits = library.search(&question, 5);
        prop_assert!(hits.len() <= 5);
        let _ = library.knowledge(&question, &hits);
        prop_assert!(library.bytes() >= text.len());
    }
}
