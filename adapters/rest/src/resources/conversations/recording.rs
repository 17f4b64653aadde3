//! `GET /public/v1/conversations/{conversationId}/recording`: the WAV file, whole or a byte range.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::{id::AttemptId, ports::store::Account};
use futures_util::{Stream, stream};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt, SeekFrom},
};

use crate::{
    caller::Caller,
    request::{
        path_id::PathId,
        query::{NoParameters, Query},
    },
    response::error::{ApiError, ApiResult, OrNoSuch},
    state::RestState,
};
use storage::recordings::file_of;

/// Bytes per read.
const CHUNK: u64 = 64 * 1024;

/// Handles the request.
pub async fn recording(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    _: Query<NoParameters>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let (file, length, tag) = open(finished(&state, &account, id).await?).await?;
    let range = wanted(&headers, length, &tag)?;
    let (status, bytes) = match range.clone() {
        Some(range) => (StatusCode::PARTIAL_CONTENT, range),
        None => (StatusCode::OK, 0..length),
    };
    let mut response = (status, Body::from_stream(content(file, bytes.clone()))).into_response();
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static("audio/wav"));
    own.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.end - bytes.start));
    own.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
    let disposition = format!("attachment; filename=\"{id}.wav\"");
    let content_range = range.map(|range| format!("bytes {}-{}/{length}", range.start, range.end - 1));
    let texts = [
        (header::ETAG, Some(tag)),
        (header::CONTENT_DISPOSITION, Some(disposition)),
        (header::CONTENT_RANGE, content_range),
    ];
    for (name, text) in texts {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
            own.insert(name, value);
        }
    }
    Ok(response)
}

/// Returns the path that the recording of a call that is over has, whether or not it exists.
pub async fn finished(state: &RestState, account: &Account, id: AttemptId) -> ApiResult<PathBuf> {
    let row = state.store.conversation(account.id, id).await;
    let row = row.or_no_such("conversation")?;
    if row.ended_at.is_none() {
        let message = "there is no recording yet: the call is not over";
        return Err(ApiError::NotFound(message.into()));
    }
    Ok(file_of(&state.recordings_dir, id))
}

/// Opens the finished file. Also returns its length, and a tag that changes if another file takes its name.
async fn open(path: PathBuf) -> ApiResult<(File, u64, String)> {
    let opened = async {
        let file = File::open(&path).await?;
        let metadata = file.metadata().await?;
        let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let tag = format!("\"{:x}-{:x}\"", metadata.len(), changed.as_micros());
        io::Result::Ok((file, metadata.len(), tag))
    };
    opened.await.map_err(|error| unread(&error, &path))
}

/// Returns the answer if a recording cannot be read.
pub fn unread(error: &io::Error, path: &Path) -> ApiError {
    match error.kind() {
        io::ErrorKind::NotFound => ApiError::NotFound(
            "there is no recording of this conversation; calls of agents with `platformSettings.privacy.recordVoice` \
             are recorded from their answer on"
                .into(),
        ),
        _ => {
            tracing::error!(%error, path = %path.display(), "recording read failed");
            ApiError::Internal
        }
    }
}

/// Returns the requested byte range, or `None` for the whole file. Ranges that cannot be parsed are ignored,
/// as RFC 9110, section 14.2, allows. A range outside of the file is a 416.
fn wanted(headers: &HeaderMap, length: u64, tag: &str) -> ApiResult<Option<Range<u64>>> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|known| known != tag) {
        return Ok(None);
    }
    let Some((first, last)) = text(header::RANGE).and_then(parse) else {
        return Ok(None);
    };
    let range = match (first, last) {
        (Some(first), last) => first..last.map_or(length, |last| length.min(last.saturating_add(1))),
        (None, Some(suffix)) => length.saturating_sub(suffix)..length,
        (None, None) => return Ok(None),
    };
    if range.is_empty() {
        return Err(ApiError::RangeNotSatisfiable(length));
    }
    Ok(Some(range))
}

/// Parses `bytes=first-last`, where one of the two may be missing.
fn parse(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok().map(Some),
        _ => None,
    };
    let (first, last) = (number(first)?, number(last)?);
    match (first, last) {
        (Some(first), Some(last)) if first > last => None,
        both => Some(both),
    }
}

/// Streams a range of a file, read in pieces as the client accepts them.
fn content(file: File, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold((file, range, false), async |(mut file, range, sought)| {
        if range.is_empty() {
            return Ok(None);
        }
        if !sought {
            file.seek(SeekFrom::Start(range.start)).await?;
        }
        let size = CHUNK.min(range.end - range.start);
        let mut piece = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact(&mut piece).await?;
        Ok(Some((Bytes::from(piece), (file, range.start + size..range.end, true))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(range: &str) -> Result<Option<Range<u64>>, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_str(range).unwrap());
        wanted(&headers, 100, "\"t\"").map_err(|error| error.into_response().status().as_u16())
    }

    #[test]
    fn one_range_is_obeyed_and_what_is_not_understood_is_not() {
        for (range, expected) in [
            ("bytes=0-9", Ok(Some(0..10))),
            ("bytes=90-", Ok(Some(90..100))),
            ("bytes=90-1000", Ok(Some(90..100))),
            ("bytes=-30", Ok(Some(70..100))),
            ("bytes=-1000", Ok(Some(0..100))),
            ("bytes=100-", Err(416)),
            ("bytes=-0", Err(416)),
            ("bytes=9-0", Ok(None)),
            ("bytes=-", Ok(None)),
            ("bytes=0-1,3-4", Ok(None)),
            ("bytes=+1-4", Ok(None)),
            ("bytes=99999999999999999999-", Ok(None)),
            ("lines=1-2", Ok(None)),
        ] {
            assert_eq!(asked(range), expected, "{range}");
        }
    }

    #[test]
    fn a_range_of_another_file_is_not_given() {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-9"));
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"other\""));
        assert_eq!(wanted(&headers, 100, "\"t\"").unwrap(), None);
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"t\""));
        assert_eq!(wanted(&headers, 100, "\"t\"").unwrap(), Some(0..10));
    }
}
