//! Notes that a model is given from the line, in square brackets, so that nobody's words are taken for one.

/// The call begins.
pub const CONNECTED: &str = "[The call is connected.]";
/// The agent is to speak up by itself.
pub const SILENCE: &str = "[The other person has been silent for a while. Speak up, briefly.]";
/// The agent's words before were not heard to their end.
pub const INTERRUPTED: &str = "[They cut you short.]";
/// Some of the words before were lost.
pub const DAMAGED: &str = "[Part of what they said was not understood.]";
/// Nobody said anything, and the agent has the turn.
pub const YOUR_TURN: &str = "[It is your turn.]";
/// What time it is; behind these words, to the end of the message.
pub const NOW: &str = "[It is ";
/// Quoted passages for the last words; behind these words, to the end of the message.
pub const FOUND: &str = "[From the documents, for their last words:]";
