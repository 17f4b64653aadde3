//! Splits an utterance into clauses of comparable words: lower case, no accents, one spelling of each apostrophe.

/// Most words of an utterance that are examined; nobody says more in one turn, but a recogniser may go wrong.
const MOST_WORDS: usize = 200;

/// Words before a French apostrophe. Any other apostrophe is within a word: "don't" becomes `dont`.
const ELIDED: [&str; 12] = [
    "m", "n", "t", "s", "l", "d", "j", "c", "qu", "jusqu", "lorsqu", "puisqu",
];

/// Returns the words of each clause; no clause is empty.
pub(crate) fn clauses(text: &str) -> Vec<Vec<String>> {
    let mut clauses = vec![Vec::new()];
    let mut word = String::new();
    let mut count = 0;
    for c in text.chars().flat_map(char::to_lowercase).chain([' ']) {
        if is_mark(c) {
            continue;
        }
        let elides = is_apostrophe(c) && ELIDED.contains(&word.as_str());
        if is_apostrophe(c) && !elides {
            continue;
        }
        if is_letter(c) {
            fold(c, &mut word);
            continue;
        }
        if !word.is_empty() && count < MOST_WORDS {
            count += 1;
            if let Some(clause) = clauses.last_mut() {
                clause.push(std::mem::take(&mut word));
            }
        }
        word.clear();
        if ends_clause(c) {
            clauses.push(Vec::new());
        }
    }
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '\u{2018}' | '`' | '\u{b4}')
}

/// Returns whether a character is a mark on a letter or invisible between letters: accents, the nukta, joiners.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}' | '\u{93c}' | '\u{200c}' | '\u{200d}' | '\u{ad}'
    )
}

/// Devanagari signs belong to the word, although not all count as letters.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || (matches!(c, '\u{900}'..='\u{97f}') && !matches!(c, '\u{964}' | '\u{965}' | '\u{970}'))
}

fn ends_clause(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ';' | ':' | '!' | '?' | '…' | '\u{964}' | '\u{965}' | '—' | '–' | '。' | '，' | '\n'
    )
}

/// Appends a letter without its accent.
fn fold(c: char, word: &mut String) {
    let plain = match c {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        'ß' => {
            word.push_str("ss");
            return;
        }
        'œ' => {
            word.push_str("oe");
            return;
        }
        // Letters composed with their nukta, and the two signs for a nasal vowel.
        '\u{958}' => 'क',
        '\u{959}' => 'ख',
        '\u{95a}' => 'ग',
        '\u{95b}' => 'ज',
        '\u{95c}' => 'ड',
        '\u{95d}' => 'ढ',
        '\u{95e}' => 'फ',
        '\u{95f}' => 'य',
        '\u{901}' => '\u{902}',
        // The vowel of "call", which is written in three ways.
        '\u{949}' | '\u{945}' => '\u{93e}',
        c => c,
    };
    word.push(plain);
}
