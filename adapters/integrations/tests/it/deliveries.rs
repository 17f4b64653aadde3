//! Webhooks and mail after calls, over real sockets, from the outbox to receivers of the tests' own.

mod beside;
mod invitations;
mod mail;
mod outage;
mod receiver;
mod webhooks;
mod world;
