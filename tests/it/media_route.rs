//! The carrier doors in front of a switchboard.
