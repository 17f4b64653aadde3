//! The instruction about the language to speak.

/// Names of the languages that voices and recognisers commonly support, by ISO 639 code.
pub(crate) const NAMES: [(&str, &str); 44] = [
    ("ar", "Arabic"),
    ("bg", "Bulgarian"),
    ("bn", "Bengali"),
    ("ca", "Catalan"),
    ("cs", "Czech"),
    ("da", "Danish"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("es", "Spanish"),
    ("et", "Estonian"),
    ("fa", "Persian"),
    ("fi", "Finnish"),
    ("fr", "French"),
    ("gu", "Gujarati"),
    ("he", "Hebrew"),
    ("hi", "Hindi"),
    ("hr", "Croatian"),
    ("hu", "Hungarian"),
    ("id", "Indonesian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("kn", "Kannada"),
    ("ko", "Korean"),
    ("lt", "Lithuanian"),
    ("lv", "Latvian"),
    ("ml", "Malayalam"),
    ("mr", "Marathi"),
    ("ms", "Malay"),
    ("nl", "Dutch"),
    ("no", "Norwegian"),
    ("pa", "Punjabi"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("sk", "Slovak"),
    ("sv", "Swedish"),
    ("ta", "Tamil"),
    ("te", "Telugu"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("vi", "Vietnamese"),
    ("zh", "Chinese"),
];

/// Returns the code of the language without its region: `pt` of `pt-BR`. Bokmål (`nb`) is Norwegian.
pub fn main_code(code: &str) -> String {
    let language = code.split(['-', '_']).next().unwrap_or_default().to_lowercase();
    match language.as_str() {
        "nb" => "no".to_owned(),
        _ => language,
    }
}

/// Returns the English name of a language code such as `fr` or `pt-BR`; none if it is unknown.
pub fn name(code: &str) -> Option<&'static str> {
    let language = main_code(code);
    NAMES
        .iter()
        .find(|(known, _)| *known == language)
        .map(|(_, name)| *name)
}

/// Returns the instruction about the language.
pub(super) fn rule(code: &str, hinglish: bool) -> String {
    if hinglish {
        return "Speak Hinglish, as people in Indian cities do: Hindi sentences with the everyday English words in them. \
                Write the Hindi in Devanagari and the English words in Latin letters."
            .to_owned();
    }
    format!("Speak {}.", in_words(code))
}

/// Describes the language of a code in words.
pub fn in_words(code: &str) -> String {
    let (_, region) = code.split_once('-').unwrap_or((code, ""));
    match (name(code), region) {
        (Some(name), "") => name.to_owned(),
        (Some(name), region) => format!("{name} as in the region {region} ({code})"),
        (None, _) => format!("the language with the code `{code}`"),
    }
}
