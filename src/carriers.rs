//! The doors through which carriers come in: status callbacks and media sockets.

pub mod twilio;
