//! The known name that was probably meant by an unknown one.

/// Minimum similarity (Jaro-Winkler) of a suggested name.
const LIKELY: f64 = 0.8;

/// Bytes of the longest name that is compared. Comparison time grows with the square of the length.
const LONGEST_COMPARED: usize = 200;

/// Returns `; did you mean …?` if a known name is similar, otherwise an empty text.
pub fn suggestion(name: &str, known: &[&str]) -> String {
    if name.len() > LONGEST_COMPARED {
        return String::new();
    }
    let lower = name.to_lowercase();
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= LIKELY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default()
}
