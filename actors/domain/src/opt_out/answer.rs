//! Interprets the answer to the question whether somebody never wants to be called again.

use super::words::clauses;

const YES: [&str; 49] = [
    "yes",
    "yeah",
    "yep",
    "yup",
    "right",
    "correct",
    "exactly",
    "sure",
    "absolutely",
    "definitely",
    "please",
    "thats",
    "okay",
    "ok",
    "हां",
    "हा",
    "जी",
    "सही",
    "बिल्कुल",
    "बिलकुल",
    "ठीक",
    "haan",
    "han",
    "haa",
    "ji",
    "jee",
    "sahi",
    "bilkul",
    "theek",
    "thik",
    "si",
    "claro",
    "correcto",
    "exacto",
    "exactamente",
    "eso",
    "asi",
    "oui",
    "ouais",
    "exact",
    "exactement",
    "voila",
    "ja",
    "genau",
    "richtig",
    "stimmt",
    "jawohl",
    "korrekt",
    "bitte",
];
const NO: [&str; 17] = [
    "no",
    "nope",
    "nah",
    "not",
    "dont",
    "wait",
    "नहीं",
    "नही",
    "ना",
    "nahi",
    "nahin",
    "nai",
    "non",
    "pas",
    "nein",
    "nee",
    "nicht",
];

/// Returns the answer given by the first word that is a yes or a no. The French "tout à fait" and "c'est ça"
/// count as yes.
pub fn answer(text: &str) -> Option<bool> {
    let words: Vec<String> = clauses(text).into_iter().flatten().collect();
    let said = words.join(" ");
    if [
        "tout a fait",
        "c est ca",
        "de acuerdo",
        "d accord",
        "auf jeden fall",
        "of course",
    ]
    .iter()
    .any(|phrase| said.starts_with(phrase))
    {
        return Some(true);
    }
    words.iter().find_map(|word| {
        let is = |list: &[&str]| list.contains(&word.as_str());
        match (is(&NO), is(&YES)) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        }
    })
}
