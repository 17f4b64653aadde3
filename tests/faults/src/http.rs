//! One HTTP request on its own connection.

use std::{io, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};
use url::Url;

/// The request.
pub struct Ask<'a> {
    pub method: &'a str,
    pub url: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: Vec<u8>,
    pub within: Duration,
}

/// Status and body of the response.
pub type Answer = (u16, Bytes);

/// Sends the request; fails if no complete response came in time.
pub async fn send(ask: Ask<'_>) -> io::Result<Answer> {
    let within = ask.within;
    timeout(within, exchange(ask))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn exchange(ask: Ask<'_>) -> io::Result<Answer> {
    let url = Url::parse(ask.url).map_err(io::Error::other)?;
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let target = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
    let mut request = Request::builder()
        .method(ask.method)
        .uri(target)
        .header(header::HOST, format!("{host}:{port}"))
        .header(header::CONNECTION, "close");
    for (name, value) in ask.headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::new(Bytes::from(ask.body)))
        .map_err(io::Error::other)?;
    let answered = async {
        let answer = sender.send_request(request).await.map_err(io::Error::other)?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(io::Error::other)?;
        Ok((status, body.to_bytes()))
    };
    // The connection ends with the future that drives it.
    tokio::pin!(answered);
    tokio::select! {
        answer = &mut answered => answer,
        _ = connection => answered.await,
    }
}
