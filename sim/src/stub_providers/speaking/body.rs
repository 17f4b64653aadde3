//! Audio as the body of an HTTP response, streamed, with the faults set by the test.

use std::{io, sync::Arc, time::Duration};

use axum::{body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use tokio::time::sleep;

use crate::stub_providers::{
    fault::Fault,
    speaking::{
        Spoken, chunk_ms,
        client::{Faulty, Odd, Step},
    },
};

/// Longer than the audio of any text.
const OVERSIZED_BYTES: usize = 16 * 1024 * 1024;

/// Audio to send, and its faults.
pub(crate) struct Body {
    pub spoken: Arc<Spoken>,
    pub after: Duration,
    pub fault: Fault,
}

impl Body {
    /// Returns the response; it begins with the first audio.
    pub(crate) async fn answer(self, content_type: &'static str) -> Response {
        if self.fault == Fault::Hang {
            std::future::pending::<()>().await;
        }
        sleep(self.after).await;
        let (content_type, body) = match self.fault {
            Fault::MalformedAfter(0) => ("text/html", body::Body::from("<html>It works!</html>")),
            _ => (content_type, body::Body::from_stream(self.chunks())),
        };
        let mut answer = Response::new(body);
        let content_type = axum::http::HeaderValue::from_static(content_type);
        answer
            .headers_mut()
            .insert(axum::http::header::CONTENT_TYPE, content_type);
        answer
    }

    fn chunks(self) -> impl futures_util::Stream<Item = io::Result<Bytes>> + Send {
        let start = (self.spoken, Faulty::new(self.fault), 0);
        stream::unfold(start, async |(spoken, mut faulty, at_ms)| {
            let drip = faulty.drip();
            let ms = chunk_ms(drip);
            let chunk = spoken
                .chunk(at_ms, ms)
                .map(|(audio, _)| Bytes::copy_from_slice(audio))?;
            if let Some(each) = drip.filter(|_| at_ms > 0) {
                sleep(each).await;
            }
            let item = match faulty.step() {
                Step::Send => Ok(chunk),
                Step::Nothing => std::future::pending().await,
                Step::Drop | Step::Instead(Odd::Error) => Err(io::Error::other("dropped")),
                Step::Instead(Odd::Malformed) => Ok(chunk.slice(..chunk.len() - 1)),
                Step::Instead(Odd::Oversized) => Ok(Bytes::from(vec![0x55; OVERSIZED_BYTES])),
            };
            Some((item, (spoken, faulty, at_ms + ms)))
        })
    }
}
