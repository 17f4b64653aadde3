//! Policy on which addresses the service may connect to on behalf of clients. By default only public internet
//! addresses are allowed; the operator can allow more. This keeps clients from reaching hosts that only this
//! machine or its network can reach.

mod addresses;
mod guarded;

pub use addresses::{ALLOW_PRIVATE, AddressPolicy, NotAllowed};
pub use guarded::{Resolver, SystemResolver, guard, is_of_no_address, refusal_in};
