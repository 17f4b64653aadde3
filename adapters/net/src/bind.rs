//! Binds listening sockets.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
};

/// Length of the accept queue, in connections. The kernel caps it at `net.core.somaxconn`. With the usual
/// 128, a burst of calls answered at once loses some first packets, and TCP resends them only after a second.
const BACKLOG: i32 = 4_096;

/// Binds a non-blocking listener to the address.
///
/// # Errors
///
/// Returns an error if the address is in use or does not belong to this machine.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    // `TcpListener::bind` takes no backlog, so listen again with a longer queue.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Returns the way out, to be appended to the error of [`bind`]. Empty if there is no general one.
pub fn way_out(error: &io::Error, setting: &str) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!("; stop the other program or set {setting} to another port"),
        _ => String::new(),
    }
}

/// Returns an address to connect to, since `served` may be a wildcard address.
pub fn reachable(served: SocketAddr) -> SocketAddr {
    let ip = match served.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, served.port())
}

#[cfg(test)]
mod tests {
    use std::{fs, net::TcpStream, time::Duration};

    use super::*;

    #[test]
    fn a_burst_waits_in_the_kernel_and_loses_nothing() {
        let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
        let burst = allowed.trim().parse().unwrap_or(128).min(300);
        // A connection that finds the queue full is retried after a second.
        let waiting: Vec<_> = (0..burst)
            .map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(900)))
            .collect();
        assert!(waiting.iter().all(Result::is_ok));
    }

    #[test]
    fn an_address_of_all_interfaces_is_reached_by_loopback() {
        for (served, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.0.0.7:80", "10.0.0.7:80"),
        ] {
            assert_eq!(reachable(served.parse().unwrap()), reached.parse().unwrap());
        }
    }
}
