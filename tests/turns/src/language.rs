//! Languages and thirds of the corpus, and the grammar of each pair.

use std::{fmt, str::FromStr};

use crate::grammar::{Grammar, GrammarError};

/// A language of the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// English.
    En,
    /// Spanish.
    Es,
    /// German.
    De,
    /// French.
    Fr,
    /// Hindi.
    Hi,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 5] = [Self::En, Self::Es, Self::De, Self::Fr, Self::Hi];

    /// Returns its code, such as `en`.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Es => "es",
            Self::De => "de",
            Self::Fr => "fr",
            Self::Hi => "hi",
        }
    }

    /// Words that every third needs to count and to spell.
    fn shared(self) -> &'static str {
        match self {
            Self::En => include_str!("../grammars/shared/en.txt"),
            Self::Es => include_str!("../grammars/shared/es.txt"),
            Self::De => include_str!("../grammars/shared/de.txt"),
            Self::Fr => include_str!("../grammars/shared/fr.txt"),
            Self::Hi => include_str!("../grammars/shared/hi.txt"),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|language| language.code() == text);
        found.ok_or_else(|| format!("write one of {}", Self::ALL.map(Self::code).join(", ")))
    }
}

/// A third of the corpus. Each has grammars of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Third {
    /// For tuning.
    Tune,
    /// For choosing between variants.
    Choose,
    /// For measuring, and nothing else.
    Measure,
}

impl Third {
    /// All thirds.
    pub const ALL: [Self; 3] = [Self::Tune, Self::Choose, Self::Measure];

    /// Returns its name, such as `tune`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Choose => "choose",
            Self::Measure => "measure",
        }
    }
}

impl fmt::Display for Third {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Third {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|third| third.name() == text);
        found.ok_or_else(|| format!("write one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Returns the grammar of a language and a third.
///
/// # Errors
/// Returns an error with file and line if the file is no grammar.
pub fn grammar(language: Language, third: Third) -> Result<Grammar, GrammarError> {
    let text = match third {
        Third::Tune => tune(language),
        Third::Choose => choose(language),
        Third::Measure => measure(language),
    };
    Grammar::parse(&format!("{third}/{language}.txt"), text, language.shared())
}

fn tune(language: Language) -> &'static str {
    match language {
        Language::En => include_str!("../grammars/tune/en.txt"),
        Language::Es => include_str!("../grammars/tune/es.txt"),
        Language::De => include_str!("../grammars/tune/de.txt"),
        Language::Fr => include_str!("../grammars/tune/fr.txt"),
        Language::Hi => include_str!("../grammars/tune/hi.txt"),
    }
}

fn choose(language: Language) -> &'static str {
    match language {
        Language::En => include_str!("../grammars/choose/en.txt"),
        Language::Es => include_str!("../grammars/choose/es.txt"),
        Language::De => include_str!("../grammars/choose/de.txt"),
        Language::Fr => include_str!("../grammars/choose/fr.txt"),
        Language::Hi => include_str!("../grammars/choose/hi.txt"),
    }
}

fn measure(language: Language) -> &'static str {
    match language {
        Language::En => include_str!("../grammars/measure/en.txt"),
        Language::Es => include_str!("../grammars/measure/es.txt"),
        Language::De => include_str!("../grammars/measure/de.txt"),
        Language::Fr => include_str!("../grammars/measure/fr.txt"),
        Language::Hi => include_str!("../grammars/measure/hi.txt"),
    }
}
