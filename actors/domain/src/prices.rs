//! Price list: computes the cost of a call from its usage, with exact decimal amounts.

mod list;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::ports::store::ConversationRow;

pub use list::{ChargedUnit, InvalidPrices, PriceList};

use list::{MILLI, Use};

/// Cost of a call by the price list of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Cost {
    /// Currency of all amounts (ISO 4217).
    pub currency: String,
    /// Sum of the amounts of all parts, as a decimal number.
    pub total: String,
    /// Usage that has a price, each with its amount.
    pub parts: Vec<CostPart>,
    /// Usage without a price. It adds nothing to the total.
    pub unpriced: Vec<UnpricedUsage>,
}

/// Usage with a price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostPart {
    /// Model as `provider/model`, provider if its model has no name, or carrier as `carrier/name`.
    pub what: String,
    /// Unit of the quantity.
    pub unit: ChargedUnit,
    /// Quantity that is charged, as a decimal number. Seconds of a carrier are rounded up to its billing increment.
    pub quantity: String,
    /// Amount as a decimal number, rounded to 9 digits after the point.
    pub amount: String,
}

/// Usage without a price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct UnpricedUsage {
    /// Model as `provider/model`, provider if its model has no name, or carrier as `carrier/name`.
    pub what: String,
    /// Unit of the quantity.
    pub unit: ChargedUnit,
    /// Quantity that was used, as a decimal number.
    pub quantity: String,
}

/// Returns the cost of a call that is over; `usage` is what its conversation shows.
pub fn cost(prices: &PriceList, row: &ConversationRow, usage: Option<&Value>) -> Cost {
    sum(prices, row, usage).cost
}

/// Returns the total of [`cost`] in thousand-millionths of the currency's unit.
pub fn nanos(prices: &PriceList, row: &ConversationRow, usage: Option<&Value>) -> u64 {
    u64::try_from(sum(prices, row, usage).total).unwrap_or(u64::MAX)
}

/// Returns an amount in thousand-millionths as a decimal number.
pub fn amount(nanos: u64) -> String {
    decimal(u128::from(nanos), 9)
}

fn sum<'a>(prices: &'a PriceList, row: &ConversationRow, usage: Option<&Value>) -> Sum<'a> {
    let mut sum = Sum::of(prices);
    if let (Some(carrier), Some(answered), Some(ended)) = (&row.carrier, row.answered_at, row.ended_at) {
        // Carriers charge a second that has begun.
        let seconds = ended.since(answered).as_nanos().div_ceil(1_000_000_000);
        let used = Use::Carrier(carrier, row.direction);
        sum.add(&used, ChargedUnit::Seconds, seconds.saturating_mul(MILLI));
    }
    for (provider, used) in usage.and_then(Value::as_object).into_iter().flatten() {
        let mut rest = Quantities::of(used);
        for (model, used) in used["models"].as_object().into_iter().flatten() {
            let used = Quantities::of(used);
            rest.take(&used);
            sum.add_all(&Use::Model(provider, model), &used);
        }
        // Models without a name are counted at their provider only.
        sum.add_all(&Use::Model(provider, ""), &rest);
    }
    sum
}

/// Quantities in thousandths, in the order of [`ChargedUnit::ALL`].
struct Quantities([u128; ChargedUnit::ALL.len()]);

impl Quantities {
    /// Reads a provider or a model of a conversation's `usage`.
    fn of(used: &Value) -> Self {
        Self(ChargedUnit::ALL.map(|unit| match &used[unit.as_str()] {
            Value::Number(number) => match number.as_u64() {
                Some(whole) => u128::from(whole) * MILLI,
                // A negative number becomes 0, and too large a one the largest.
                None => (number.as_f64().unwrap_or_default() * MILLI as f64).round() as u128,
            },
            _ => 0,
        }))
    }

    fn take(&mut self, other: &Self) {
        for (rest, other) in self.0.iter_mut().zip(other.0) {
            *rest = rest.saturating_sub(other);
        }
    }

    fn get(&self, unit: ChargedUnit) -> u128 {
        self.0[unit as usize]
    }
}

struct Sum<'a> {
    prices: &'a PriceList,
    total: u128,
    cost: Cost,
}

impl<'a> Sum<'a> {
    fn of(prices: &'a PriceList) -> Self {
        let cost = Cost {
            currency: prices.currency().to_owned(),
            total: decimal(0, 9),
            parts: Vec::new(),
            unpriced: Vec::new(),
        };
        Self { prices, total: 0, cost }
    }

    /// Adds the usage of a model. Cached tokens are part of its input tokens: a price of their own replaces
    /// that of input tokens, and without one they cost as much as the others.
    fn add_all(&mut self, used: &Use<'_>, quantities: &Quantities) {
        let cached = match self.prices.has(used, ChargedUnit::CachedTokens) {
            true => quantities.get(ChargedUnit::CachedTokens),
            false => 0,
        };
        for unit in ChargedUnit::ALL {
            let quantity = match unit {
                ChargedUnit::InputTokens => quantities.get(unit).saturating_sub(cached),
                ChargedUnit::CachedTokens => cached,
                ChargedUnit::OutputTokens | ChargedUnit::Characters | ChargedUnit::Seconds => quantities.get(unit),
            };
            self.add(used, unit, quantity);
        }
    }

    fn add(&mut self, used: &Use<'_>, unit: ChargedUnit, quantity: u128) {
        if quantity == 0 {
            return;
        }
        let what = used.to_string();
        let Some(charge) = self.prices.charge(used, unit, quantity) else {
            let quantity = decimal(quantity, 3);
            self.cost.unpriced.push(UnpricedUsage { what, unit, quantity });
            return;
        };
        self.total = self.total.saturating_add(charge.nanos);
        self.cost.total = decimal(self.total, 9);
        self.cost.parts.push(CostPart {
            what,
            unit,
            quantity: decimal(charge.quantity, 3),
            amount: decimal(charge.nanos, 9),
        });
    }
}

/// Writes a number that is counted in units of 10 to the power of minus `digits`, without trailing zeros.
fn decimal(number: u128, digits: u32) -> String {
    let one = 10_u128.pow(digits);
    let fraction = format!("{:0width$}", number % one, width = digits as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}", number / one)
}

#[cfg(test)]
mod tests;
