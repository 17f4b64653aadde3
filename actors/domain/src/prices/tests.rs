//! Tests of the price list.

use proptest::prelude::*;

use super::*;

const EXAMPLE: &str = include_str!("../../../../docs/prices.example.json");

fn list(entries: &str) -> Result<PriceList, InvalidPrices> {
    PriceList::parse(&format!(r#"{{ "currency": "EUR", "prices": [{entries}] }}"#))
}

#[test]
fn the_example_is_a_price_list() {
    assert_eq!(PriceList::parse(EXAMPLE).unwrap().currency(), "USD");
}

#[test]
fn a_refused_price_list_names_the_entry_the_value_and_the_way_out() {
    let good = r#"{ "model": "a/b", "unit": "seconds", "price": "1" }"#;
    for (entry, named) in [
        (
            r#"{ "model": "a/b", "unit": "seconds", "price": "1" }"#,
            "`a/b` has a price for seconds already",
        ),
        (
            r#"{ "model": "ab", "unit": "seconds", "price": "1" }"#,
            "`model` is \"ab\": write provider/model",
        ),
        (r#"{ "unit": "seconds", "price": "1" }"#, "either `model` or `carrier`"),
        (
            r#"{ "model": "a/c", "carrier": "t", "unit": "seconds", "price": "1" }"#,
            "either `model` or `carrier`",
        ),
        (
            r#"{ "carrier": "t", "unit": "characters", "price": "1" }"#,
            "`unit` is \"characters\": write seconds",
        ),
        (
            r#"{ "carrier": "", "unit": "seconds", "price": "1" }"#,
            "`carrier` is empty",
        ),
        (
            r#"{ "carrier": "t", "unit": "seconds", "price": "1", "incrementSeconds": 0 }"#,
            "`incrementSeconds` is 0",
        ),
        (
            r#"{ "carrier": "t", "unit": "seconds", "price": "1", "direction": "up" }"#,
            "`direction` is \"up\"",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "1", "direction": "inbound" }"#,
            "are for carriers",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "1", "per": 0 }"#,
            "`per` is 0: write a whole number",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "-1" }"#,
            "`price` is \"-1\": write a decimal number",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "1." }"#,
            "`price` is \"1.\"",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "1e3" }"#,
            "`price` is \"1e3\"",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "0.0000000001" }"#,
            "at most 9 digits",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "1000000.1" }"#,
            "from 0 to 1000000",
        ),
    ] {
        let why = list(&format!("{good}, {entry}")).unwrap_err().to_string();
        assert!(why.starts_with("entry 2 of `prices`: "), "{why}");
        assert!(
            why.contains(named) && why.ends_with("docs/prices.md describes the format"),
            "{why}"
        );
    }
    for (entry, named) in [
        (
            r#"{ "model": "a/c", "unit": "words", "price": "1" }"#,
            "unknown variant `words`",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": 1.5 }"#,
            "floating point `1.5`, expected a string",
        ),
        (
            r#"{ "model": "a/c", "unit": "seconds", "price": "1", "pre": 1 }"#,
            "unknown field `pre`",
        ),
    ] {
        let why = list(entry).unwrap_err().to_string();
        assert!(why.contains(named) && why.contains("at line 1"), "{why}");
    }
    let why = PriceList::parse(r#"{ "currency": "Euro", "prices": [] }"#)
        .unwrap_err()
        .to_string();
    assert!(why.starts_with("`currency` is \"Euro\": write three capitals"), "{why}");
}

#[test]
fn decimals_have_no_more_digits_than_they_need() {
    for (number, text) in [
        (0, "0"),
        (1, "0.000000001"),
        (1_500_000_000, "1.5"),
        (20_000_000_000, "20"),
    ] {
        assert_eq!(decimal(number, 9), text);
    }
}

#[test]
fn half_a_unit_of_the_last_digit_is_rounded_up() {
    let prices = list(r#"{ "model": "a/b", "unit": "characters", "price": "0.000000001", "per": 2 }"#).unwrap();
    let amount = |quantity| {
        prices
            .charge(&Use::Model("a", "b"), ChargedUnit::Characters, quantity * MILLI)
            .unwrap()
            .nanos
    };
    assert_eq!([0, 1, 2, 3].map(amount), [0, 1, 1, 2]);
}

#[test]
fn broken_and_enormous_usage_is_no_fault() {
    let prices = list(r#"{ "model": "a/*", "unit": "characters", "price": "1000000" }"#).unwrap();
    for used in [
        serde_json::json!({ "a": { "characters": u64::MAX, "models": { "m": { "characters": u64::MAX } } }, "b": 3 }),
        serde_json::json!({ "a": { "characters": 1e300, "models": [] } }),
        serde_json::json!({ "a": { "characters": -4.5, "seconds": "x" } }),
        serde_json::json!([]),
    ] {
        let mut sum = Sum::of(&prices);
        for (provider, used) in used.as_object().into_iter().flatten() {
            sum.add_all(&Use::Model(provider, "m"), &Quantities::of(used));
        }
        assert!(!sum.cost.total.is_empty());
    }
}

proptest! {
    #[test]
    fn the_total_is_the_sum_of_the_parts(amounts in prop::collection::vec((0_u32..3, 0_u64..10_000_000), 0..40)) {
        let prices = list(
            r#"{ "model": "p/m0", "unit": "characters", "price": "0.3", "per": 7 },
               { "model": "p/*", "unit": "characters", "price": "0.000000123", "per": 11 }"#,
        );
        let prices = prices.unwrap();
        let mut sum = Sum::of(&prices);
        let mut expected = 0_u128;
        for (model, characters) in amounts {
            let (price, per) = if model == 0 { (300_000_000, 7) } else { (123, 11) };
            let amount = u128::from(characters) * price;
            expected += amount / per + u128::from(amount % per * 2 >= per);
            let model = format!("m{model}");
            sum.add(&Use::Model("p", &model), ChargedUnit::Characters, u128::from(characters) * MILLI);
        }
        prop_assert_eq!(sum.cost.total, decimal(expected, 9));
    }
}
