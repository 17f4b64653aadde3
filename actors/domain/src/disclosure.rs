//! The words that tell the other person that an AI speaks, in the language of the call.

use std::collections::BTreeMap;

use crate::{
    agent::{Agent, BUSINESS, text_of_preset},
    pieces::{has_words, spoken},
    prompt::main_code,
    template::{self, DISCLOSURE_CHARS, Place},
};

/// Default texts, each after the code of its language.
const TEXTS: &str = include_str!("../data/disclosures.txt");

impl Agent {
    /// Returns the words that tell in the present language that an AI speaks. Returns `None` if the agent does not say
    /// them. A text that its values leave without words or make too long is replaced by the default.
    pub fn disclosure(&self, variables: &BTreeMap<String, String>) -> Option<String> {
        let settings = &self.platform_settings.disclosure;
        let mut values = variables.clone();
        values.insert(BUSINESS.to_owned(), self.name.clone());
        let said = |text: &str| spoken(&template::render(Place::Disclosure, text, &values));
        let is_sound = |text: &String| has_words(text) && text.chars().count() <= 2 * DISCLOSURE_CHARS;
        let own = || self.disclosure_text().map(said).filter(is_sound);
        let language = &self.conversation_config.agent.primary_language;
        let usual = || said(usual(language));
        settings.enabled.then(|| own().unwrap_or_else(usual))
    }

    /// Returns the agent's own text in the present language, if it has one.
    fn disclosure_text(&self) -> Option<&str> {
        let (config, own) = (&self.conversation_config, self.in_own_language());
        let [language, own_language] = [config, own].map(|config| &config.agent.primary_language);
        let preset = own.language_presets.get(language).and_then(text_of_preset);
        let is_preset = language != own_language;
        let text = self.platform_settings.disclosure.text.as_deref();
        let text = text.filter(|_| main_code(language) == main_code(own_language));
        preset.filter(|_| is_preset).or(text)
    }
}

/// Returns the default text in a language, or the English one.
fn usual(language: &str) -> &'static str {
    let of = |code: &str| {
        TEXTS
            .lines()
            .find_map(|line| line.strip_prefix(code)?.strip_prefix(' '))
    };
    of(&main_code(language)).or_else(|| of("en")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{phrases::Phrases, pieces::is_whole, prompt::NAMES, template::placeholders};

    fn agent(settings: &Value) -> Agent {
        serde_json::from_value(json!({
            "name": "Greenfield Dental",
            "conversationConfig": { "languagePresets": {
                "de": { "overrides": { "disclosure": { "text": "Hier spricht die KI von {{name}}." } } }, "fr": {}, "en-GB": {},
            } },
            "platformSettings": { "disclosure": settings },
        }))
        .unwrap()
    }

    fn values(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn every_language_with_phrases_has_a_whole_text_of_its_own_with_the_name_of_the_business() {
        for (code, _) in NAMES {
            assert!(Phrases::built_in(code).is_some());
            let text = usual(code);
            assert_eq!(placeholders(text), [BUSINESS], "{code}");
            assert!(code == "en" || text != usual("en"), "{code}");
            let text = text.replace("{{name}}", "Greenfield Dental");
            assert!(is_whole(&text) && spoken(&text) == text, "{code}: {text}");
        }
        assert_eq!(TEXTS.lines().count(), NAMES.len() + 1);
        assert_eq!((usual("nb-NO"), usual("xx")), (usual("no"), usual("en")));
    }

    #[test]
    fn the_text_is_that_of_the_language_or_the_default_in_it() {
        let none = BTreeMap::new();
        assert_eq!(agent(&json!({})).disclosure(&none), None);
        let own = agent(&json!({ "enabled": true, "text": "An AI of {{name}} speaks." }));
        let usual = agent(&json!({ "enabled": true }));
        for (code, text, default) in [
            (
                "en",
                "An AI of Greenfield Dental speaks.",
                "This is Greenfield Dental. You are speaking with an AI assistant.",
            ),
            (
                "en-GB",
                "An AI of Greenfield Dental speaks.",
                "This is Greenfield Dental. You are speaking with an AI assistant.",
            ),
            (
                "de",
                "Hier spricht die KI von Greenfield Dental.",
                "Hier spricht die KI von Greenfield Dental.",
            ),
            (
                "fr",
                "Ici Greenfield Dental. Vous parlez avec un assistant d'intelligence artificielle.",
                "Ici Greenfield Dental. Vous parlez avec un assistant d'intelligence artificielle.",
            ),
        ] {
            assert_eq!(own.in_language(code).disclosure(&none).as_deref(), Some(text), "{code}");
            assert_eq!(
                usual.in_language(code).disclosure(&none).as_deref(),
                Some(default),
                "{code}"
            );
        }
    }

    #[test]
    fn no_value_removes_the_words() {
        let usual = "This is Greenfield Dental. You are speaking with an AI assistant.";
        for (text, values, said) in [
            (
                "{{name}} speaks by AI.",
                values("name", "Maria"),
                "Greenfield Dental speaks by AI.",
            ),
            ("{{city}}: an AI speaks.", values("city", "Bonn"), "Bonn: an AI speaks."),
            ("{{city}}", values("city", " "), usual),
            (
                "{{city}}{{city}}{{city}} An AI speaks.",
                values("city", &"a".repeat(400)),
                usual,
            ),
        ] {
            let agent = agent(&json!({ "enabled": true, "text": text }));
            assert_eq!(agent.disclosure(&values).as_deref(), Some(said), "{text}");
        }
    }
}
