//! The multipart form of an uploaded document. The file is written to disk as it arrives.

use std::{fs::File, io::Seek, path::Path};

use axum::{extract::Request, http::header};
use domain::agent::Problem;
use multer::{Constraints, Field, Multipart, SizeLimit};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::{
    access::idempotency::RequestHash,
    request::{
        body::{broken_body, require_type},
        fields::{NAME_CHARACTERS, check_name, suggestion},
    },
    resources::campaign_csv::paced::{Allowance, HeadTooLong, Paced},
    response::error::{ApiError, ApiResult},
};

/// Maximum bytes of the file.
pub const FILE_BYTES: usize = 10 * 1024 * 1024;
/// Maximum bytes of the name, whose characters have at most four bytes each.
const NAME_BYTES: usize = 16 * 1024;
/// Maximum bytes of the whole body: the file, the name, and the boundaries between them.
const BODY_BYTES: usize = FILE_BYTES + 1024 * 1024;
/// Maximum number of listed fields.
const LISTED: usize = 100;

/// A received form.
#[derive(Debug)]
pub struct Upload {
    /// File, at its start; deleted when it is closed.
    pub file: File,
    /// Content type of the file, if given.
    pub content_type: Option<String>,
    /// Name from the form, otherwise the file's.
    pub name: String,
    digest: [u8; 32],
}

impl Upload {
    /// Hashes the parts that distinguish it from other uploads.
    pub fn hash(&self) -> RequestHash {
        let mut hash = RequestHash::default();
        hash.part(self.name.as_bytes());
        hash.part(self.content_type.as_deref().unwrap_or_default().as_bytes());
        hash.part(&self.digest);
        hash
    }
}

/// A file on disk.
#[derive(Debug)]
struct Spooled {
    file: File,
    digest: [u8; 32],
    content_type: Option<String>,
    own_name: Option<String>,
}

/// State of a partly received form.
#[derive(Debug, Default)]
struct Received {
    file: Option<Spooled>,
    name: Option<String>,
    seen: Vec<String>,
    problems: Vec<Problem>,
}

/// Reads a form, with its fields in any order.
pub async fn receive(request: Request, spool_dir: &Path) -> ApiResult<Upload> {
    require_type(request.headers(), "multipart/form-data")?;
    let sent = request.headers().get(header::CONTENT_TYPE);
    let sent = sent.and_then(|value| value.to_str().ok());
    let boundary = multer::parse_boundary(sent.unwrap_or_default())
        .map_err(|_| ApiError::Malformed("the multipart content type names no boundary".into()))?;
    let limits = Constraints::new().size_limit(SizeLimit::new().whole_stream(BODY_BYTES as u64));
    let allowance = Allowance::default();
    let body = Paced::new(request.into_body().into_data_stream(), allowance.clone());
    let mut form = Multipart::with_constraints(body, boundary, limits);
    let mut received = Received::default();
    loop {
        allowance.head();
        let Some(field) = form.next_field().await.map_err(|error| refused(&error))? else {
            return received.finish();
        };
        allowance.content();
        received.take(field, spool_dir).await?;
    }
}

impl Received {
    fn complain(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        if self.problems.len() < LISTED {
            let name: String = name.chars().take(100).collect();
            self.problems.push(Problem::new(name, code, message));
        }
    }

    async fn take(&mut self, field: Field<'_>, spool_dir: &Path) -> ApiResult<()> {
        let name = field.name().unwrap_or_default().to_owned();
        if self.seen.contains(&name) {
            self.complain(&name, "repeated", "is given more than once");
            return skip(field).await;
        }
        match name.as_str() {
            "file" => {
                let content_type = field.content_type().map(ToString::to_string);
                let own_name = field.file_name().map(str::to_owned);
                let (file, digest) = spool(field, spool_dir).await?;
                self.file = Some(Spooled {
                    file,
                    digest,
                    content_type,
                    own_name,
                });
            }
            "name" => self.name(field).await?,
            _ => {
                let message = format!("is not a field of this form{}", suggestion(&name, &["file", "name"]));
                self.complain(&name, "unknown_field", message);
                return skip(field).await;
            }
        }
        self.seen.push(name);
        Ok(())
    }

    async fn name(&mut self, mut field: Field<'_>) -> ApiResult<()> {
        let mut bytes = Vec::new();
        while let Some(chunk) = field.chunk().await.map_err(|error| refused(&error))? {
            if bytes.len() + chunk.len() > NAME_BYTES {
                self.complain(
                    "name",
                    "too_long",
                    format!("has more than {NAME_CHARACTERS} characters"),
                );
                return skip(field).await;
            }
            bytes.extend_from_slice(&chunk);
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => self.complain("name", "not_allowed", "contains the character U+0000"),
            Ok(text) => match check_name(&text) {
                Ok(name) => self.name = Some(name),
                Err((code, message)) => self.complain("name", code, message),
            },
            Err(_) => self.complain("name", "not_utf8", "is not UTF-8 text"),
        }
        Ok(())
    }

    fn finish(mut self) -> ApiResult<Upload> {
        let file_name = self.file.as_ref().and_then(|file| file.own_name.clone());
        let complained = self.problems.iter().any(|problem| problem.path == "name");
        if self.name.is_none() && !complained {
            self.name = file_name.as_deref().and_then(named_after);
            if self.name.is_none() {
                self.complain("name", "required", "is required, since the file has no name");
            }
        }
        if self.file.is_none() {
            self.complain("file", "required", "is required");
        }
        match (self.file, self.name) {
            (Some(spooled), Some(name)) if self.problems.is_empty() => Ok(Upload {
                file: spooled.file,
                content_type: spooled.content_type,
                name,
                digest: spooled.digest,
            }),
            _ => Err(ApiError::Invalid(self.problems)),
        }
    }
}

/// Returns a document name from a file name, without folders and cut to the maximum length.
fn named_after(file_name: &str) -> Option<String> {
    let own = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let own: String = own.chars().filter(|c| !c.is_control()).take(NAME_CHARACTERS).collect();
    check_name(&own).ok()
}

/// Reads an unused field to its end, so that its content does not count as bytes between fields.
async fn skip(mut field: Field<'_>) -> ApiResult<()> {
    while field.chunk().await.map_err(|error| refused(&error))?.is_some() {}
    Ok(())
}

async fn spool(mut field: Field<'_>, spool_dir: &Path) -> ApiResult<(File, [u8; 32])> {
    let mut digest = Sha256::new();
    let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(spool_dir).map_err(|e| no_room(&e))?);
    let mut size = 0;
    while let Some(chunk) = field.chunk().await.map_err(|error| refused(&error))? {
        size += chunk.len();
        if size > FILE_BYTES {
            return Err(too_large());
        }
        digest.update(&chunk);
        file.write_all(&chunk).await.map_err(|e| no_room(&e))?;
    }
    file.flush().await.map_err(|e| no_room(&e))?;
    let mut file = file.into_std().await;
    file.rewind().map_err(|e| no_room(&e))?;
    Ok((file, digest.finalize().into()))
}

fn too_large() -> ApiError {
    ApiError::PayloadTooLarge("a document may have at most 10 MiB".into())
}

fn no_room(error: &std::io::Error) -> ApiError {
    tracing::error!(%error, "upload not written to disk");
    ApiError::Unavailable("the upload cannot be stored at the moment; try again".into())
}

fn refused(error: &multer::Error) -> ApiError {
    match error {
        multer::Error::StreamSizeExceeded { .. } | multer::Error::FieldSizeExceeded { .. } => too_large(),
        multer::Error::StreamReadFailed(cause) if cause.is::<HeadTooLong>() => ApiError::Malformed(cause.to_string()),
        multer::Error::StreamReadFailed(cause) => broken_body(cause.as_ref()),
        other => ApiError::Malformed(format!("the form cannot be read: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_after_its_file() {
        for (file, name) in [
            ("prices.pdf", Some("prices.pdf")),
            ("C:\\docs\\prices.pdf", Some("prices.pdf")),
            ("../../a\u{7}b.md", Some("ab.md")),
            ("", None),
            ("folder/", None),
        ] {
            assert_eq!(named_after(file).as_deref(), name, "{file}");
        }
        assert_eq!(named_after(&"x".repeat(900)).map(|name| name.len()), Some(200));
    }
}
