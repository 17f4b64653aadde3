//! Tests of webhooks and mail after calls over real sockets, from the outbox to receivers in the tests.

mod beside;
mod endpoints;
mod invitations;
mod mail;
mod outage;
mod receiver;
mod webhooks;
mod world;
