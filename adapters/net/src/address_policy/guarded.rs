//! DNS resolver that returns allowed addresses only. The client connects to exactly the addresses that were
//! checked, so a name that resolves differently the next time gains nothing.

use std::{error::Error, io, net::IpAddr, net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::addresses::{AddressPolicy, NotAllowed};

/// Resolves host names.
pub trait Resolver: Send + Sync + 'static {
    /// Returns all addresses of the host in order of preference.
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Error for a name without any address.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct NoAddress(#[from] io::Error);

struct Guarded {
    policy: AddressPolicy,
    resolver: Arc<dyn Resolver>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (policy, found) = (self.policy.clone(), self.resolver.resolve(host.clone()));
        Box::pin(async move {
            let mut addresses = found.await.map_err(NoAddress)?;
            if addresses.is_empty() {
                let nothing = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                return Err(NoAddress(nothing).into());
            }
            addresses.retain(|address| policy.allows(*address));
            if addresses.is_empty() {
                return Err(NotAllowed::Resolved { host }.into());
            }
            // The HTTP client sets the port.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// Makes a client connect to allowed addresses only when the host is a name, and follow no redirects. A host
/// that is an IP address bypasses the resolver, so call [`AddressPolicy::check_literal`] before every
/// request.
pub fn guard(
    builder: reqwest::ClientBuilder,
    policy: &AddressPolicy,
    resolver: Arc<dyn Resolver>,
) -> reqwest::ClientBuilder {
    let guarded = Guarded {
        policy: policy.clone(),
        resolver,
    };
    builder
        .dns_resolver(guarded)
        .redirect(reqwest::redirect::Policy::none())
}

/// Returns the [`NotAllowed`] among the causes of an error, if there is one.
pub fn refusal_in(error: &reqwest::Error) -> Option<&NotAllowed> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// Returns whether an error was caused by a name that has no address. Clients who choose names get the same
/// answer for names that have only private addresses, so that they cannot find out which names a private name
/// server knows.
pub fn is_of_no_address(error: &reqwest::Error) -> bool {
    causes(error).any(<dyn std::error::Error>::is::<NoAddress>)
}

fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}
