//! Languages of documents and callers: detected by their function words, stemmed with Snowball's rules.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Number of words from which a text's language is detected.
const TELLING_WORDS: usize = 2_000;

/// A language with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Language {
    English,
    German,
    French,
    Spanish,
    Hindi,
}

/// Function words, which do not tell what is asked for.
const STOP_WORDS: [(Language, &str); 5] = [
    (
        Language::English,
        "a about actually ahead all also am an and any anything are as at be been but by can could did do does doing don \
         for from get give go going gonna good got had has have having he hello hey hi him his how i if im in into is it \
         its just kind know let like ll long many may maybe me mean might more much my need no not of oh ok okay on one or \
         our ours out please quick re really right she should so some something sorry still sure tell than thank thanks that \
         the their them then there these they thing things this those to too uh um up us ve very wanna want was way we well \
         were what whats when where whether which who whom whose why will wish with wondering would yeah yes yet you your",
    ),
    (
        Language::German,
        "aber alle als also am an auch auf aus bei beim bin bis bitte bist da dann das dass dein dem den denn der des die \
         dies diese diesem diesen dieser dieses doch du ein eigentlich eine einem einen einer eines er es etwas eure f\u{fc}r \
         gibt haben habe hallo hast hat hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja kann kannst kein \
         keine k\u{f6}nnen k\u{f6}nnte man mein meine meinem meinen meiner mich mir mit muss m\u{fc}ssen m\u{f6}chte nach nein nicht noch nun nur \
         ob oder ohne schon sehr sein seine sich sie sind so soll \u{fc}ber um und uns unser unsere unter viel von vom vor wann \
         war warum was weil welche welchen welcher wenn wer werde werden wie will wir wird wo w\u{fc}rde zu zum zur",
    ),
    (
        Language::French,
        "ai alors as au aussi aux avec avez avoir bonjour ce ceci cela ces cet cette chez combien comme comment dans de des \
         donc du elle elles en encore est et \u{e9}t\u{e9} \u{ea}tre eu faire fait faut il ils je juste la le les leur leurs lui ma mais me \
         m\u{ea}me merci mes moi mon ne nos notre nous on ont ou o\u{f9} oui par pas peut peux plus pour pourquoi pouvez puis qu quand \
         que quel quelle quelles quels qui quoi sa sans se ses si son sont suis sur ta te tes toi ton tous tout toute tr\u{e8}s tu \
         un une va vais vos votre vous voudrais y",
    ),
    (
        Language::Spanish,
        "a al algo alguna alg\u{fa}n ante as\u{ed} aunque aqu\u{ed} bien buenas buenos como c\u{f3}mo con cu\u{e1}l cu\u{e1}les cuando cu\u{e1}ndo cuanto cu\u{e1}nto \
         cuesta d\u{ed}as de del desde donde d\u{f3}nde el \u{e9}l ella ellas ellos en entonces es esa ese eso esta est\u{e1} est\u{e1}n estas este \
         esto estos estoy favor fue gracias ha hace hacer hasta hay he hola la las le les lo los m\u{e1}s me mi mis muy nada ni no nos \
         nosotros o os para pero por porque pues puede puedo que qu\u{e9} qui\u{e9}n quiero saber se ser si s\u{ed} sin sobre solo son soy \
         su sus tambi\u{e9}n te tengo ten\u{e9}is tiene tienen todo todos tu tus un una uno unos usted ustedes va voy y ya yo",
    ),
    (
        Language::Hindi,
        "\u{905}\u{92a}\u{928}\u{93e} \u{905}\u{92a}\u{928}\u{940} \u{905}\u{92a}\u{928}\u{947} \u{914}\u{930} \u{906}\u{92a} \u{906}\u{92a}\u{915}\u{93e} \u{906}\u{92a}\u{915}\u{940} \u{906}\u{92a}\u{915}\u{947} \u{907}\u{938} \u{907}\u{938}\u{915}\u{93e} \u{907}\u{938}\u{915}\u{940} \u{907}\u{938}\u{915}\u{947} \u{909}\u{938} \u{909}\u{938}\u{915}\u{93e} \u{909}\u{938}\u{915}\u{947} \u{90f}\u{915} \u{915}\u{930} \u{915}\u{930}\u{928}\u{93e} \u{915}\u{930}\u{928}\u{947} \
         \u{915}\u{93e} \u{915}\u{93f} \u{915}\u{93f}\u{924}\u{928}\u{93e} \u{915}\u{93f}\u{924}\u{928}\u{940} \u{915}\u{93f}\u{924}\u{928}\u{947} \u{915}\u{940} \u{915}\u{941}\u{91b} \u{915}\u{947} \u{915}\u{94b} \u{915}\u{94c}\u{928} \u{915}\u{94d}\u{92f}\u{93e} \u{915}\u{94d}\u{92f}\u{94b}\u{902} \u{917}\u{92f}\u{93e} \u{91c}\u{93e} \u{91c}\u{940} \u{91c}\u{94b} \u{924}\u{915} \u{924}\u{94b} \u{925}\u{93e} \u{925}\u{940} \u{925}\u{947} \
         \u{926}\u{947} \u{928}\u{939}\u{940}\u{902} \u{928}\u{947} \u{92a}\u{930} \u{92d}\u{940} \u{92e}\u{941}\u{91d}\u{947} \u{92e}\u{947}\u{902} \u{92e}\u{947}\u{930}\u{93e} \u{92e}\u{947}\u{930}\u{940} \u{92e}\u{947}\u{930}\u{947} \u{92e}\u{948}\u{902} \u{92f}\u{939} \u{92f}\u{947} \u{92f}\u{93e} \u{930}\u{939}\u{93e} \u{930}\u{939}\u{947} \u{932}\u{93f}\u{90f} \u{935}\u{939} \u{935}\u{947} \u{938}\u{915}\u{924}\u{93e} \u{938}\u{915}\u{924}\u{947} \
         \u{938}\u{947} \u{939}\u{92e} \u{939}\u{92e}\u{93e}\u{930}\u{93e} \u{939}\u{92e}\u{93e}\u{930}\u{947} \u{939}\u{948} \u{939}\u{948}\u{902} \u{939}\u{94b} \u{939}\u{94b}\u{924}\u{93e} \u{939}\u{94b}\u{924}\u{940} \u{939}\u{94b}\u{924}\u{947} \u{939}\u{942}\u{901} \u{939}\u{942}\u{902}",
    ),
];

/// Longest word, in bytes, that is indexed; a longer one tells nothing and slows down the stemmer.
const LONGEST_WORD: usize = 64;

static STOPPED: LazyLock<[(Language, HashSet<&str>); 5]> =
    LazyLock::new(|| STOP_WORDS.map(|(language, words)| (language, words.split_whitespace().collect())));

/// Endings of Hindi nouns, adjectives and verbs, longest first (after Ramanathan and Rao, 2003).
const HINDI_ENDINGS: [&str; 18] = [
    "\u{93f}\u{92f}\u{94b}\u{902}", // iyon
    "\u{93f}\u{92f}\u{93e}\u{901}", // iyan
    "\u{93f}\u{92f}\u{93e}\u{902}",
    "\u{93e}\u{913}\u{902}", // aon
    "\u{93e}\u{90f}\u{901}", // aen
    "\u{93e}\u{90f}\u{902}",
    "\u{924}\u{93e}", // ta
    "\u{924}\u{940}", // ti
    "\u{924}\u{947}", // te
    "\u{94b}\u{902}", // on
    "\u{947}\u{902}", // en
    "\u{93e}",        // a
    "\u{940}",        // i
    "\u{947}",        // e
    "\u{94b}",        // o
    "\u{941}",        // u
    "\u{942}",        // u, long
    "\u{93f}",        // i, short
];

/// Splits a text into lower-case words. Elisions (`l'hôtel`) and endings after an apostrophe are separate words.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words()
        .flat_map(|word| word.split(['\'', '\u{2019}', '.', '_']))
        .filter(|word| word.len() <= LONGEST_WORD)
        .map(|word| word.nfkc().collect::<String>().to_lowercase())
        .filter(|word| word.chars().nth(1).is_some() || word.chars().any(char::is_numeric))
}

/// Returns whether a word is a function word of its language, or of any language if it is unknown.
pub(super) fn is_stop_word(token: &str, language: Option<Language>) -> bool {
    let mut lists = STOPPED
        .iter()
        .filter(|(of, _)| language.is_none_or(|language| *of == language));
    lists.any(|(_, words)| words.contains(token))
}

impl Language {
    /// Returns the language of a document; English if it cannot be detected.
    pub(super) fn of(text: &str) -> Self {
        Self::guess(text).unwrap_or(Self::English)
    }

    /// Returns the language of a text; none if there is no evidence, or equal evidence for two.
    pub(super) fn guess(text: &str) -> Option<Self> {
        let mut counts = STOP_WORDS.map(|(language, _)| (0_usize, language));
        for token in tokens(text).take(TELLING_WORDS) {
            for (count, language) in &mut counts {
                *count += usize::from(is_stop_word(&token, Some(*language)));
            }
        }
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        match counts {
            [(first, language), (second, _), ..] if first > second => Some(language),
            _ => None,
        }
    }

    /// Returns a lower-case word without its endings.
    pub(super) fn stem(self, word: &str) -> Cow<'_, str> {
        let algorithm = match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Hindi => return Cow::Borrowed(hindi_stem(word)),
        };
        Stemmer::create(algorithm).stem(word)
    }
}

/// Removes a Hindi ending, leaving at least two characters.
fn hindi_stem(word: &str) -> &str {
    let stems = HINDI_ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending));
    stems
        .into_iter()
        .find(|stem| stem.chars().nth(1).is_some())
        .unwrap_or(word)
}
