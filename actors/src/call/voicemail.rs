//! Whether the words a call was answered with are an answering machine's. Words decide, never loudness or length: a
//! person is not hung up on because a detector was unsure, so a single weak hint never suffices.

/// Each of these alone is said by machines only.
const STRONG: [&str; 16] = [
    "after the tone",
    "after the beep",
    "at the tone",
    "at the beep",
    "please leave a message",
    "please leave your message",
    "please leave me a message",
    "please leave us a message",
    "leave your name and number",
    "leave your name and your number",
    "leave your name and telephone number",
    "record your message",
    "voice mailbox",
    "voicemail box",
    "forwarded to voicemail",
    "forwarded to an automated voice",
];

/// Two different ones of these together are a machine.
const WEAK: [&str; 14] = [
    "leave a message",
    "leave me a message",
    "leave your message",
    "voicemail",
    "voice mail",
    "mailbox",
    "not available",
    "unavailable",
    "cannot come to the phone",
    "cant come to the phone",
    "unable to take your call",
    "youve reached",
    "you have reached",
    "get back to you",
];

fn normalised(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let word: String = word
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect();
        if !word.is_empty() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&word);
        }
    }
    words
}

/// Whether `text`, all that was said at the other end since the answer, is a machine's greeting.
pub fn is_machine_greeting(text: &str) -> bool {
    let words = normalised(text);
    STRONG.iter().any(|phrase| words.contains(phrase))
        || WEAK.iter().filter(|phrase| words.contains(*phrase)).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_recognised_by_their_words() {
        for text in [
            "Hi, you've reached Dana. I can't come to the phone right now.",
            "The person you are calling is not available. Please leave a message.",
            "Please record your message after the tone.",
            "Leave a message after the BEEP!",
            "You have reached the voicemail of five five five one two three four.",
            "Your call has been forwarded to an automated voice messaging system.",
            "The mailbox is full and the customer is unavailable",
        ] {
            assert!(is_machine_greeting(text), "{text}");
        }
    }

    #[test]
    fn people_are_not_taken_for_machines() {
        for text in [
            "",
            "Hello?",
            "Hi, this is Dana speaking, who is it?",
            "Can I leave a message for her?",
            "He is not available right now, can I help you?",
            "Is this a voicemail?",
            "You have reached the wrong number.",
            "I'll get back to you tomorrow.",
            "It is beeping, sorry, go on.",
        ] {
            assert!(!is_machine_greeting(text), "{text}");
        }
    }
}
