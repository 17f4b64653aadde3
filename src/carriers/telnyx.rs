//! Telnyx, through Call Control version 2: signed webhooks, dial commands, and media sockets.

pub mod line;
pub mod mark;
pub mod signature;
pub mod stream;
pub mod webhook;
