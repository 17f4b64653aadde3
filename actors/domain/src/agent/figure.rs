//! Figures read back as the contract writes them: `7`, not `7.0`.

use serde::Serializer;

/// Whole figures up to this size are written as integers; all of them are exact in a float.
const MAX_WHOLE: f64 = 1e15;

/// Serialises a figure, a whole one as an integer.
pub(super) fn serialize<S: Serializer>(figure: &f64, to: S) -> Result<S::Ok, S::Error> {
    if figure.fract() == 0.0 && figure.abs() <= MAX_WHOLE {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
        to.serialize_i64(*figure as i64)
    } else {
        to.serialize_f64(*figure)
    }
}

/// The same for a figure that may be unset.
pub(super) fn serialize_some<S: Serializer>(figure: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match figure {
        Some(figure) => serialize(figure, to),
        None => to.serialize_none(),
    }
}
