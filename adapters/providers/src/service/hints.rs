//! Hints about configuration mistakes when a provider fails.

use crate::{registry::address, settings::ProviderSettings};

/// Adds to a provider's error the address that was asked. After a 404 it adds what may be wrong with the
/// address instead.
pub fn with_hint(provider: &str, why: &str, settings: &ProviderSettings) -> String {
    let (Some(known), Ok(endpoint)) = (address(provider), settings.endpoint(provider)) else {
        return why.to_owned();
    };
    let (base, variable) = (endpoint.base_url.as_str(), known.base);
    let versions = |base: &str| base.split('/').filter(|part| *part == "v1").count();
    let usual = known.default_base.map_or(0, versions);
    let says_404 = why.split(|c: char| !c.is_ascii_digit()).any(|number| number == "404");
    match versions(base) {
        given if says_404 && given < usual => format!("{why}; {variable} ({base}) may lack `/v1` at its end"),
        given if says_404 && given > usual => format!("{why}; {variable} ({base}) may have one `/v1` too many"),
        _ => format!("{why}; asked at {base} ({variable})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_404_puts_the_version_in_doubt() {
        let hint = |provider: &str, base: &str, why: &str| {
            let variable = address(provider).unwrap().base;
            let settings = ProviderSettings::read(|name| (name == variable).then(|| base.to_owned())).unwrap();
            with_hint(provider, why, &settings)
        };
        let at = "http://127.0.0.1:9";
        for (provider, base, why, says) in [
            ("openai", at.to_owned(), "HTTP 404: no", "lack `/v1`"),
            ("openai", format!("{at}/v1"), "HTTP 404: no", "asked at"),
            ("openai", format!("{at}/v1/v1"), "HTTP 404: no", "too many"),
            ("openai", at.to_owned(), "HTTP 500: 4040", "asked at"),
            ("gemini", format!("{at}/v1beta/openai"), "HTTP 404: no", "asked at"),
            ("deepgram", format!("{at}/v1"), "404 Not Found", "too many"),
            ("anthropic", at.to_owned(), "404", "asked at"),
        ] {
            let hinted = hint(provider, &base, why);
            assert!(hinted.starts_with(why) && hinted.contains(says), "{hinted}");
            assert!(hinted.contains(&base), "{hinted}");
        }
        let unknown = with_hint("espeak", "it is gone", &ProviderSettings::default());
        assert_eq!(unknown, "it is gone");
    }
}
