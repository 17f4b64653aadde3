//! Detects a wish for another language by typical phrases, in that language or in English.

use super::phrases::{contains, plain};

/// Main language codes, and the phrases that ask for them.
const WISHES: [(&str, &[&str]); 5] = [
    (
        "de",
        &[
            "german please",
            "speak german",
            "in german",
            "auf deutsch",
            "sprechen sie deutsch",
            "sprichst du deutsch",
        ],
    ),
    ("en", &["english please", "speak english", "in english"]),
    (
        "es",
        &[
            "spanish please",
            "speak spanish",
            "in spanish",
            "en español",
            "en espanol",
            "habla español",
            "habla usted español",
        ],
    ),
    (
        "fr",
        &[
            "french please",
            "speak french",
            "in french",
            "en français",
            "parlez vous français",
        ],
    ),
    (
        "hi",
        &[
            "hindi please",
            "speak hindi",
            "in hindi",
            "hindi mein",
            "hindi me",
            "हिंदी में",
            "हिन्दी में",
        ],
    ),
];

/// Returns the first of `offered` that the text asks for.
pub(super) fn wish<'o>(text: &str, offered: &'o [String]) -> Option<&'o String> {
    let words = plain(text);
    let main = |code: &str| code.split('-').next().unwrap_or_default().to_ascii_lowercase();
    let wanted = WISHES
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| contains(&words, &plain(phrase))))?;
    offered.iter().find(|code| main(code) == wanted.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_in_its_own_words_and_only_if_it_is_offered() {
        let offered: Vec<String> = ["en", "es", "hi", "fr-CA", "de"].map(str::to_owned).into();
        for (text, code) in [
            ("Spanish, please!", Some("es")),
            ("¿En español, por favor?", Some("es")),
            ("हिंदी में बात कीजिए", Some("hi")),
            ("Hindi mein bolo", Some("hi")),
            ("Parlez-vous français ?", Some("fr-CA")),
            ("Auf Deutsch, bitte.", Some("de")),
            ("Can we speak English?", Some("en")),
            ("I am Spanish.", None),
            ("My name is French.", None),
            ("Português, por favor.", None),
        ] {
            assert_eq!(wish(text, &offered).map(String::as_str), code, "{text}");
        }
        assert_eq!(wish("Spanish, please!", &offered[..1]), None);
    }
}
