//! Twilio's instructions, as far as a stub follows them: elements with attributes, texts and other elements. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Most characters of instructions in a request.
const MOST: usize = 4_000;

/// An element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verb {
    pub name: String,
    attributes: BTreeMap<String, String>,
    /// Nested nouns.
    pub nouns: Vec<Verb>,
    pub text: String,
}

impl Verb {
    /// Returns the verb that continues with the document at an address.
    pub fn redirect(url: &str) -> Self {
        Self {
            name: "Redirect".to_owned(),
            text: url.to_owned(),
            ..Self::default()
        }
    }

    /// Returns an attribute; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// Returns its attributes and nouns as one object, below its name.
    pub fn as_object(&self) -> Value {
        let attributes = self
            .attributes
            .iter()
            .map(|(name, text)| (name.clone(), text.as_str().into()));
        let mut fields: Map<String, Value> = attributes.collect();
        for noun in &self.nouns {
            fields.extend(noun.as_object().as_object().cloned().unwrap_or_default());
        }
        Map::from_iter([(self.name.clone(), fields.into())]).into()
    }

    /// Returns the first nested noun.
    pub fn noun(&self) -> Option<&Verb> {
        self.nouns.first()
    }

    /// Returns the media socket that this verb opens.
    pub fn stream(&self) -> Option<&Verb> {
        self.noun()
            .filter(|noun| (&*self.name, &*noun.name) == ("Connect", "Stream"))
    }

    /// Returns whether a stub can follow it.
    fn is_sound(&self) -> bool {
        let noun = self.noun();
        match (&*self.name, noun.map(|noun| &*noun.name)) {
            ("Connect", Some("Stream")) => noun.is_some_and(|stream| {
                let url = stream.get("url");
                url.starts_with("ws") && !url.contains('?')
            }),
            ("Dial", Some("Conference")) => noun.is_some_and(|noun| !noun.text.is_empty()),
            ("Dial", Some("Number")) => noun.is_some_and(|noun| noun.text.starts_with('+')),
            ("Dial", Some("Sip")) => noun.is_some_and(|noun| noun.text.starts_with("sip")),
            ("Refer", Some("Sip")) => noun.is_some_and(|noun| noun.text.starts_with("sip")),
            ("Redirect", None) => self.text.starts_with("http") && matches!(self.get("method"), "POST" | ""),
            ("Pause", None) => self.get("length").parse::<u64>().is_ok(),
            ("Reject", None) => matches!(self.get("reason"), "busy" | "rejected"),
            ("Hangup", None) => true,
            _ => false,
        }
    }
}

/// Returns the verbs of a document, or `None` if it is too long, damaged, or unsupported.
pub fn parse(document: &str) -> Option<Vec<Verb>> {
    let body = document.trim_start().strip_prefix("<?xml")?.split_once("?>")?.1;
    let mut rest = body.trim();
    let response = element(&mut rest)?;
    let sound = response.name == "Response" && rest.is_empty() && document.chars().count() <= MOST;
    (sound && response.nouns.iter().all(Verb::is_sound)).then_some(response.nouns)
}

/// Reads one element off the front.
fn element(rest: &mut &str) -> Option<Verb> {
    let (tag, behind) = rest.strip_prefix('<')?.split_once_outside_quotes()?;
    *rest = behind;
    let (tag, is_empty) = match tag.strip_suffix('/') {
        Some(tag) => (tag, true),
        None => (tag, false),
    };
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut verb = Verb {
        name: name.to_owned(),
        attributes: read_attributes(attributes)?,
        ..Verb::default()
    };
    let end = format!("</{name}>");
    if is_empty {
        return Some(verb);
    }
    loop {
        let (text, _) = rest.split_once('<')?;
        verb.text.push_str(&plain(text));
        *rest = &rest[text.len()..];
        if let Some(behind) = rest.strip_prefix(&*end) {
            *rest = behind;
            return Some(verb);
        }
        verb.nouns.push(element(rest)?);
    }
}

/// Splits off a tag.
trait Tag {
    fn split_once_outside_quotes(&self) -> Option<(&str, &str)>;
}

impl Tag for str {
    fn split_once_outside_quotes(&self) -> Option<(&str, &str)> {
        let mut quoted = false;
        let end = self.find(|character| {
            quoted ^= character == '"';
            character == '>' && !quoted
        })?;
        Some((&self[..end], &self[end + 1..]))
    }
}

fn read_attributes(mut text: &str) -> Option<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    while !text.trim().is_empty() {
        let (name, behind) = text.split_once("=\"")?;
        let (value, behind) = behind.split_once('"')?;
        if value.contains('<') || all.insert(name.trim().to_owned(), plain(value)).is_some() {
            return None;
        }
        text = behind;
    }
    Some(all)
}

fn plain(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs(inside: &str) -> Option<Vec<Verb>> {
        parse(&format!(
            r#"<?xml version="1.0" encoding="UTF-8"?><Response>{inside}</Response>"#
        ))
    }

    #[test]
    fn instructions_are_read() {
        let read = verbs(
            r#"<Connect><Stream url="ws://a/b&amp;c>" x="1"/></Connect><Pause length="5"/><Dial timeout="3"><Number>+1</Number></Dial><Redirect method="POST">http://a/b&amp;c</Redirect>"#,
        );
        let read = read.unwrap();
        let stream = read[0].stream().unwrap();
        assert_eq!(
            (stream.get("url"), stream.get("x"), stream.get("y")),
            ("ws://a/b&c>", "1", "")
        );
        assert_eq!(read[1].get("length"), "5");
        assert_eq!((&*read[2].noun().unwrap().text, read[2].stream()), ("+1", None));
        assert_eq!(read[3].text, "http://a/b&c");
    }

    #[test]
    fn damaged_or_unknown_instructions_are_refused() {
        for inside in [
            "<Connect>",
            "<Connect/>",
            "<Connect><Stream url=\"ws://a\"/>",
            "<Connect><Stream url=\"ws://a?b\"/></Connect>",
            "<Connect><Stream url=\"ws://a\" url=\"ws://b\"/></Connect>",
            "<Connect><Stream url=ws/></Connect>",
            "<Dial><Number>15</Number></Dial>",
            "<Say>Hello</Say>",
            "<Redirect>/back</Redirect>",
            "<Redirect method=\"GET\">http://a/back</Redirect>",
            "<Pause/>",
            "<Reject reason=\"no\"/>",
            "</Response><Response>",
        ] {
            assert_eq!(verbs(inside), None, "{inside}");
        }
        assert_eq!(parse("<Response/>"), None);
        let long = "<Hangup/>".repeat(500);
        assert_eq!(verbs(&long), None);
    }
}
