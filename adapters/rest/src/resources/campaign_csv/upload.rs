//! The multipart form: texts are kept in memory, the file is written to disk as it arrives.

use std::{collections::BTreeMap, fs::File, io::Seek, path::Path};

use axum::{extract::Request, http::header};
use domain::agent::Problem;
use futures_util::StreamExt;
use multer::{Constraints, Field, Multipart, SizeLimit};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use utoipa::ToSchema;

use super::paced::{Allowance, HeadTooLong, Paced};
use crate::{
    access::idempotency::RequestHash,
    request::{
        body::{broken_body, require_type},
        checked::Checked,
        fields::suggestion,
        schemas::names_of,
    },
    response::error::{ApiError, ApiResult},
};

/// Maximum bytes of the file.
pub const FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum bytes of a text field.
const TEXT_BYTES: usize = 16 * 1024;
/// Maximum bytes of the whole body: the file, all texts, and the boundaries between them.
const BODY_BYTES: u64 = FILE_BYTES + 1024 * 1024;
/// Maximum number of listed fields.
const LISTED: usize = 100;

/// A received form.
#[derive(Debug, Default)]
pub struct Upload {
    /// Text fields, trimmed, without blank ones.
    pub texts: BTreeMap<String, String>,
    /// File, at its start; deleted when it is closed.
    pub file: Option<File>,
    /// Problems of unknown, repeated or oversized fields.
    pub problems: Vec<Problem>,
    /// Hash of the file, if requested.
    file_hash: Option<Sha256>,
}

/// Reads a form with the fields of `T`, in any order. With `hashed`, also hashes the file for [`Upload::hash`].
pub async fn receive<T: ToSchema + 'static>(request: Request, spool_dir: &Path, hashed: bool) -> ApiResult<Upload> {
    require_type(request.headers(), "multipart/form-data")?;
    let sent = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let boundary = multer::parse_boundary(sent.unwrap_or_default())
        .map_err(|_| ApiError::Malformed("the multipart content type names no boundary".into()))?;
    let limits = Constraints::new().size_limit(SizeLimit::new().whole_stream(BODY_BYTES));
    let allowance = Allowance::default();
    let mut body = Paced::new(request.into_body().into_data_stream(), allowance.clone());
    let upload = fields(
        Multipart::with_constraints(&mut body, boundary, limits),
        &allowance,
        (spool_dir, hashed),
        &names_of::<T>(),
    )
    .await?;
    // A body that ends early after the last boundary is still incomplete.
    allowance.head();
    while let Some(piece) = body.next().await {
        piece.map_err(|cause| unread(cause.as_ref()))?;
    }
    Ok(upload)
}

/// Reads the form up to its last boundary.
async fn fields(
    mut form: Multipart<'_>,
    allowance: &Allowance,
    (spool_dir, hashed): (&Path, bool),
    names: &[String],
) -> ApiResult<Upload> {
    let mut upload = Upload {
        file_hash: hashed.then(Sha256::new),
        ..Upload::default()
    };
    let mut seen: Vec<String> = Vec::new();
    loop {
        allowance.head();
        let Some(field) = form.next_field().await.map_err(|error| refused(&error))? else {
            return Ok(upload);
        };
        allowance.content();
        let name = field.name().unwrap_or_default().to_owned();
        if seen.contains(&name) {
            upload.complain(&name, "repeated", "is given more than once");
            skip(field).await?;
        } else if name == "file" {
            upload.file = Some(spool(field, spool_dir, upload.file_hash.as_mut()).await?);
            seen.push(name);
        } else if names.contains(&name) {
            upload.text(&name, field).await?;
            seen.push(name);
        } else {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let message = format!("is not a field of this form{}", suggestion(&name, &names));
            upload.complain(&name, "unknown_field", message);
            skip(field).await?;
        }
    }
}

/// Reads an unused field to its end, so that its content does not count as bytes between fields.
async fn skip(mut field: Field<'_>) -> ApiResult<()> {
    while field.chunk().await.map_err(|error| refused(&error))?.is_some() {}
    Ok(())
}

impl Upload {
    /// Checks the fields against the schema of the form.
    pub fn checked<T: ToSchema + DeserializeOwned + 'static>(&self) -> Checked<T> {
        let mut texts = self.texts.clone();
        if self.file.is_some() {
            texts.insert("file".into(), String::new());
        }
        Checked::form(&texts, self.problems.clone())
    }

    /// Hashes the content of the form: its fields and the file, but not its encoding as parts.
    pub fn hash(&self) -> RequestHash {
        let mut hash = RequestHash::default();
        for (name, text) in &self.texts {
            hash.part(name.as_bytes());
            hash.part(text.as_bytes());
        }
        for problem in &self.problems {
            hash.part(problem.path.as_bytes());
        }
        let file = self.file_hash.clone().unwrap_or_default();
        hash.part(&file.finalize());
        hash
    }

    fn complain(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        if self.problems.len() < LISTED {
            let name: String = name.chars().take(100).collect();
            self.problems.push(Problem::new(name, code, message));
        }
    }

    async fn text(&mut self, name: &str, mut field: Field<'_>) -> ApiResult<()> {
        let mut bytes = Vec::new();
        while let Some(chunk) = field.chunk().await.map_err(|error| refused(&error))? {
            if bytes.len() + chunk.len() > TEXT_BYTES {
                self.complain(name, "too_long", format!("has more than {TEXT_BYTES} bytes"));
                return skip(field).await;
            }
            bytes.extend_from_slice(&chunk);
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) if text.contains('\0') => self.complain(name, "not_allowed", "contains the character U+0000"),
            Ok(text) => {
                self.texts.insert(name.to_owned(), text.trim().to_owned());
            }
            Err(_) => self.complain(name, "not_utf8", "is not UTF-8 text; send it as UTF-8"),
        }
        Ok(())
    }
}

async fn spool(mut field: Field<'_>, spool_dir: &Path, mut hash: Option<&mut Sha256>) -> ApiResult<File> {
    let mut file = tokio::fs::File::from_std(tempfile::tempfile_in(spool_dir).map_err(|e| no_room(&e))?);
    let mut size = 0;
    while let Some(chunk) = field.chunk().await.map_err(|error| refused(&error))? {
        size += chunk.len() as u64;
        if size > FILE_BYTES {
            return Err(too_large());
        }
        if let Some(hash) = &mut hash {
            hash.update(&chunk);
        }
        file.write_all(&chunk).await.map_err(|e| no_room(&e))?;
    }
    file.flush().await.map_err(|e| no_room(&e))?;
    let mut file = file.into_std().await;
    file.rewind().map_err(|e| no_room(&e))?;
    Ok(file)
}

fn too_large() -> ApiError {
    ApiError::PayloadTooLarge("a CSV file may have at most 64 MiB".into())
}

fn no_room(error: &std::io::Error) -> ApiError {
    tracing::error!(%error, "upload not written to disk");
    ApiError::Unavailable("the upload cannot be stored at the moment; try again".into())
}

fn refused(error: &multer::Error) -> ApiError {
    match error {
        multer::Error::StreamSizeExceeded { .. } | multer::Error::FieldSizeExceeded { .. } => too_large(),
        multer::Error::StreamReadFailed(cause) => unread(cause.as_ref()),
        other => ApiError::Malformed(format!("the form cannot be read: {other}")),
    }
}

fn unread(cause: &(dyn std::error::Error + 'static)) -> ApiError {
    if cause.is::<HeadTooLong>() {
        ApiError::Malformed(cause.to_string())
    } else {
        broken_body(cause)
    }
}
