//! The list of all carriers. Settings, checks, routes and lists are made from it.

use clap::builder::PossibleValuesParser;

use crate::kind::{CarrierKind, USUAL_RATE, listed};

/// All carriers, in the order in which they are listed.
pub static KINDS: &[&CarrierKind] = &[
    &crate::simulated::KIND,
    &crate::twilio::KIND,
    &crate::twilio::SIGNALWIRE,
    &crate::telnyx::KIND,
    &crate::vonage::KIND,
    &crate::asterisk::KIND,
    &crate::plain::KIND,
];

/// Returns the carriers that place calls.
pub fn dialing() -> impl Iterator<Item = &'static CarrierKind> {
    KINDS.iter().copied().filter(|kind| kind.dials)
}

/// Returns the carrier of this name that places calls.
pub fn named(name: &str) -> Option<&'static CarrierKind> {
    dialing().find(|kind| kind.name == name)
}

/// Returns what to set before a carrier of this name can place calls.
pub fn wanted(name: &str) -> String {
    named(name).map_or_else(|| "there is no such carrier".to_owned(), CarrierKind::wanted)
}

/// Returns the parser of `RINGBACK_CARRIER`.
pub fn name_parser() -> PossibleValuesParser {
    dialing().map(|kind| kind.name).into()
}

/// Returns the titles of the carriers that list the numbers of an account, as in a sentence.
pub fn number_lists() -> String {
    let titles: Vec<&str> = KINDS
        .iter()
        .filter(|kind| kind.lists_numbers)
        .map(|kind| kind.title)
        .collect();
    listed(&titles)
}

/// Returns the rates at which carriers accept dials, as in a sentence.
pub fn rates() -> String {
    let mut rates: Vec<(u32, Vec<&str>)> = Vec::new();
    for kind in dialing().filter(|kind| kind.dials_per_second != USUAL_RATE) {
        match rates.iter_mut().find(|(rate, _)| *rate == kind.dials_per_second) {
            Some((_, names)) => names.push(kind.name),
            None => rates.push((kind.dials_per_second, vec![kind.name])),
        }
    }
    let rates = rates
        .iter()
        .map(|(rate, names)| format!("{rate} with {}, ", listed(names)));
    format!("{}else {USUAL_RATE}", rates.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::agent::PROVIDERS;

    use super::*;

    #[test]
    fn the_carriers_are_those_that_an_agent_may_name() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names, BTreeSet::from_iter(PROVIDERS.iter().copied()));
        assert_eq!(names.len(), KINDS.len());
    }

    #[test]
    fn the_variables_of_a_carrier_are_named() {
        let needs = |name: &str| named(name).unwrap().needs();
        let own = ["TELNYX_API_KEY", "TELNYX_PUBLIC_KEY", "TELNYX_CONNECTION_ID"];
        assert_eq!(needs("telnyx"), [&own[..], &["RINGBACK_PUBLIC_URL"]].concat());
        assert_eq!(needs("asterisk").len(), 4);
        assert_eq!(needs("simulated"), ["RINGBACK_SIMULATED_URL"]);
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(wanted("twilio"), "set TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN");
        assert!(wanted("vonage").contains("VONAGE_PRIVATE_KEY"));
        assert_eq!(wanted("plain"), "there is no such carrier");
        assert_eq!(number_lists(), "Twilio, SignalWire and Telnyx");
        assert_eq!(rates(), "1 with twilio and signalwire, 3 with vonage, else 10");
    }
}
