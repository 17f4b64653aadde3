//! Notes from the line for a model, in square brackets, which distinguish them from spoken words.

/// The call begins.
pub const CONNECTED: &str = "[The call is connected.]";
/// The agent should speak up by itself.
pub const SILENCE: &str = "[The other person has been silent for a while. Speak up, briefly.]";
/// The agent's last words were not heard to their end.
pub const INTERRUPTED: &str = "[They cut you short.]";
/// Part of the user's words was lost.
pub const DAMAGED: &str = "[Part of what they said was not understood.]";
/// Nobody said anything, and it is the agent's turn.
pub const YOUR_TURN: &str = "[It is your turn.]";
/// Beginning of the note with the words of an operator.
pub const OPERATOR: &str = "[A person of the team took over and said: ";
/// Beginning of the note with the time, which extends to the end of the message.
pub const NOW: &str = "[It is ";
/// Beginning of the note with an instruction that people gave during the call.
pub const INSTRUCTED: &str = "[For the rest of the call, the people you speak for ask: ";
/// Beginning of the note with an instruction for the agent's next turn.
pub const INSTRUCTED_ONCE: &str = "[For your next words only, the people you speak for ask: ";
/// Beginning of the quoted passages for the last turn, which extend to the end of the message.
pub const FOUND: &str = "[From the documents, for their last words:]";
