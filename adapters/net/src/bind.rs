//! Taking an address to listen at.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

/// Connections that wait in the kernel until they are accepted; it allows itself no more than `net.core.somaxconn`. With
/// the usual 128 a burst of calls that are answered together loses some of its first packets, which come again a second
/// later.
const BACKLOG: i32 = 4_096;

/// Takes the address; the listener does not block.
///
/// # Errors
///
/// When it is taken, or none of this machine.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    // Again, with a longer queue: there is no other way to say it there.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
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
        // What finds the queue full is asked for again after a second.
        let waiting: Vec<_> = (0..burst)
            .map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(900)))
            .collect();
        assert!(waiting.iter().all(Result::is_ok));
    }
}
