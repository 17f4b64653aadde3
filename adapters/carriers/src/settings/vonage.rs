//! Variables of Vonage.

use super::{SettingsError, Variables};
use crate::vonage::{
    account::{BASE_URL, Rate, VonageAccount},
    token::ApplicationKey,
};

impl Variables<'_> {
    pub(super) fn vonage(&self) -> Result<Option<VonageAccount>, SettingsError> {
        if !self.any(&["VONAGE_APPLICATION_ID", "VONAGE_PRIVATE_KEY", "VONAGE_SIGNATURE_SECRET"]) {
            return Ok(None);
        }
        let address = self.address("VONAGE_BASE_URL")?;
        Ok(Some(VonageAccount {
            base_url: address.unwrap_or_else(|| BASE_URL.to_owned()),
            application: self.needed("VONAGE_APPLICATION_ID", "Vonage")?,
            key: application_key(&self.needed("VONAGE_PRIVATE_KEY", "Vonage")?)?,
            signature_secret: self.key("VONAGE_SIGNATURE_SECRET", "Vonage")?,
            from: self.number("VONAGE_PHONE_NUMBER")?,
            rate: self.choice("VONAGE_SAMPLE_RATE", Rate::named, "8000 or 16000")?,
        }))
    }
}

/// Reads a key from its text or from the file at this path.
fn application_key(text: &str) -> Result<ApplicationKey, SettingsError> {
    if text.contains("-----BEGIN") {
        return ApplicationKey::from_pem(text).map_err(|error| format!("VONAGE_PRIVATE_KEY: {error}").into());
    }
    // The value is not shown: if it is not a path, it may be a key without its PEM header.
    let pem = std::fs::read_to_string(text).map_err(|error| {
        format!(
            "VONAGE_PRIVATE_KEY: must be a PEM key or the path of one: {}",
            error.kind()
        )
    })?;
    ApplicationKey::from_pem(&pem).map_err(|error| format!("VONAGE_PRIVATE_KEY: the file {error}").into())
}

#[cfg(test)]
mod tests {
    use super::super::{CarrierSettings, wanted};
    use super::*;
    use sim::stub_carriers::vonage::PRIVATE_KEY;

    fn read(variables: &[(&str, &str)]) -> Result<CarrierSettings, SettingsError> {
        CarrierSettings::read(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn whole<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut variables = vec![
            ("VONAGE_APPLICATION_ID", "app-1"),
            ("VONAGE_PRIVATE_KEY", PRIVATE_KEY),
            ("VONAGE_SIGNATURE_SECRET", "tell-nobody"),
        ];
        variables.retain(|(name, _)| more.iter().all(|(changed, _)| changed != name));
        variables.extend(more);
        variables
    }

    #[test]
    fn an_account_is_read_and_its_keys_are_shown_nowhere() {
        let settings = read(&whole(&[])).unwrap();
        let shown = format!("{settings:?}");
        assert!(!shown.contains("tell-nobody") && !shown.contains("MII"), "{shown}");
        let vonage = settings.vonage.unwrap();
        assert_eq!(
            (&*vonage.base_url, vonage.rate, vonage.from),
            (BASE_URL, Rate::Wide, None)
        );
        let more = [
            ("VONAGE_SAMPLE_RATE", "8000"),
            ("VONAGE_PHONE_NUMBER", "+15550000001"),
            ("VONAGE_BASE_URL", "https://api-us.vonage.com/"),
        ];
        let vonage = read(&whole(&more)).unwrap().vonage.unwrap();
        assert_eq!(
            (&*vonage.base_url, vonage.rate),
            ("https://api-us.vonage.com", Rate::Narrow)
        );
        assert_eq!(vonage.from.unwrap().as_str(), "+15550000001");
        assert!(
            read(&[("VONAGE_PHONE_NUMBER", "+15550000001")])
                .unwrap()
                .vonage
                .is_none()
        );
    }

    #[test]
    fn a_key_may_be_in_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), PRIVATE_KEY).unwrap();
        let path = file.path().to_str().unwrap();
        assert!(read(&whole(&[("VONAGE_PRIVATE_KEY", path)])).unwrap().vonage.is_some());
        std::fs::write(file.path(), "nothing").unwrap();
        let why = read(&whole(&[("VONAGE_PRIVATE_KEY", path)])).unwrap_err().to_string();
        assert!(
            why.starts_with("VONAGE_PRIVATE_KEY: the file is not the private key"),
            "{why}"
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (changed, value, named) in [
            ("VONAGE_APPLICATION_ID", "", "VONAGE_APPLICATION_ID is not set"),
            ("VONAGE_PRIVATE_KEY", " ", "VONAGE_PRIVATE_KEY is not set"),
            ("VONAGE_SIGNATURE_SECRET", "", "VONAGE_SIGNATURE_SECRET is not set"),
            (
                "VONAGE_PRIVATE_KEY",
                "MII-tell-nobody",
                "VONAGE_PRIVATE_KEY: must be a PEM key",
            ),
            (
                "VONAGE_PRIVATE_KEY",
                "-----BEGIN PRIVATE KEY-----",
                "VONAGE_PRIVATE_KEY: is not the private key",
            ),
            ("VONAGE_SAMPLE_RATE", "24000", "VONAGE_SAMPLE_RATE: write 8000 or 16000"),
        ] {
            let why = read(&whole(&[(changed, value)])).unwrap_err().to_string();
            assert!(why.starts_with(named) && !why.contains("tell-nobody"), "{why}");
        }
        assert!(wanted("vonage").contains("VONAGE_PRIVATE_KEY"));
    }
}
