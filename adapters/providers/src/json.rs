//! Reading of providers' messages. A key that a provider sends twice fails none of them.

use serde::Deserialize;
use serde_json::Value;

/// Reads a message. If a key comes twice, which serde refuses, the last value counts.
pub(crate) fn read<'m, T: Deserialize<'m>>(text: &'m str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| {
        let value: Value = serde_json::from_str(text)?;
        T::deserialize(value).map_err(|_| error)
    })
}

/// Returns a message with each of its keys twice, and with a key that nobody knows in each object.
#[cfg(test)]
pub(crate) fn doubled(message: &str) -> String {
    fn write(value: &Value) -> String {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| {
                    let field = format!("{}:{}", Value::from(name.as_str()), write(value));
                    format!("{field},{field},")
                });
                format!("{{{}\"unknown\":{{\"a\":[1]}}}}", fields.collect::<String>())
            }
            Value::Array(items) => format!("[{}]", items.iter().map(write).collect::<Vec<_>>().join(",")),
            plain => plain.to_string(),
        }
    }
    write(&serde_json::from_str(message).unwrap())
}
