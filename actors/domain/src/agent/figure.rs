//! Serialises numbers as the API writes them: `7`, not `7.0`.

use serde::Serializer;

/// Largest whole number written as an integer; a float represents all of them exactly.
const MAX_WHOLE: f64 = 1e15;

/// Serialises a number, as an integer if it is whole.
pub(super) fn serialize<S: Serializer>(figure: &f64, to: S) -> Result<S::Ok, S::Error> {
    if figure.fract() == 0.0 && figure.abs() <= MAX_WHOLE {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
        to.serialize_i64(*figure as i64)
    } else {
        to.serialize_f64(*figure)
    }
}

/// Serialises an optional number in the same way.
pub(super) fn serialize_some<S: Serializer>(figure: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match figure {
        Some(figure) => serialize(figure, to),
        None => to.serialize_none(),
    }
}
