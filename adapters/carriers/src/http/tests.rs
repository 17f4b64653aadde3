//! Tests of the single request of a dial, as it arrives at the other end of a connection.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// Starts a server that responds once it has received a whole request. Returns its address and what it received.
async fn listening() -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/calls", listener.local_addr().unwrap());
    let heard = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        let mut piece = [0; 1024];
        while !heard.ends_with(b"To=1") {
            match socket.read(&mut piece).await.unwrap() {
                0 => return String::from_utf8(heard).unwrap(),
                read => heard.extend_from_slice(&piece[..read]),
            }
        }
        let answer = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
        socket.write_all(answer).await.unwrap();
        String::from_utf8(heard).unwrap()
    });
    (address, heard)
}

#[tokio::test]
async fn a_dial_that_is_in_time_goes_out_whole() {
    let (address, heard) = listening().await;
    let dial = Clients::new().unwrap().dialer.post(address).body("To=1");
    let answer = send_dial(dial, &LastLook::default()).await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    let heard = heard.await.unwrap().to_ascii_lowercase();
    assert!(heard.contains("content-length: 4\r\n"), "{heard}");
    assert!(!heard.contains("transfer-encoding"), "{heard}");
}

#[tokio::test]
async fn a_dial_whose_connection_took_too_long_writes_not_a_byte() {
    let (address, heard) = listening().await;
    let looks = Arc::new(AtomicUsize::new(0));
    let looked = Arc::clone(&looks);
    let too_late = LastLook::new(move || {
        looked.fetch_add(1, Ordering::Relaxed);
        Some("too late".to_owned())
    });
    let dial = Clients::new().unwrap().dialer.post(address).body("To=1");
    let refused = send_dial(dial, &too_late).await;
    assert_eq!(refused.err(), Some(DialError::HeldBack("too late".to_owned())));
    // The connection was open: the last look was taken after that.
    assert_eq!((heard.await.unwrap().as_str(), looks.load(Ordering::Relaxed)), ("", 1));
}

#[tokio::test]
async fn what_has_no_body_is_held_back_before_it_connects() {
    let dial = Clients::new().unwrap().dialer.post("http://127.0.0.1:9/calls");
    let refused = send_dial(dial, &LastLook::new(|| Some("too late".to_owned()))).await;
    assert_eq!(refused.err(), Some(DialError::HeldBack("too late".to_owned())));
}
