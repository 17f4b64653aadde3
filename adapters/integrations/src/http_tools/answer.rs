//! Answer of a tool's server in the form shown to a model: short, JSON or text, and always treated as data.

use domain::ports::tool_runner::ToolFault;
use reqwest::{RequestBuilder, Response, header};
use serde_json::{Value, json};

use net::address_policy::{is_of_no_address, refusal_in};

/// Maximum bytes of an answer shown to a model, after decompression.
const ANSWER_BYTES: usize = 16 * 1024;

/// Maximum characters of a failure shown to a model.
const FAILURE_CHARACTERS: usize = 500;

/// Sends a request and reads the answer.
pub(super) async fn of(request: RequestBuilder) -> Result<Value, ToolFault> {
    let response = request.send().await.map_err(|error| failed(&error))?;
    let status = response.status();
    if status.is_redirection() {
        let message = format!(
            "its server answered {} to go elsewhere, which is not done",
            status.as_u16()
        );
        return Err(ToolFault::Failed(message));
    }
    let kind = kind(&response);
    let (body, cut) = read(response).await?;
    if !status.is_success() {
        let told: String = String::from_utf8_lossy(&body)
            .chars()
            .take(FAILURE_CHARACTERS)
            .collect();
        let message = format!("its server answered {}: {}", status.as_u16(), told.trim());
        return Err(ToolFault::Failed(message));
    }
    let mut shown = json!({ "status": status.as_u16() });
    shown["answer"] = match kind {
        _ if body.is_empty() => Value::Null,
        Kind::Other => {
            return Err(ToolFault::Failed(
                "its server answered with neither JSON nor text".into(),
            ));
        }
        Kind::Json if !cut => serde_json::from_slice(&body)
            .map_err(|_| ToolFault::Failed("its server answered with JSON that cannot be read".into()))?,
        Kind::Json | Kind::Text => Value::from(String::from_utf8_lossy(&body).into_owned()),
    };
    if cut {
        shown["cutShort"] = Value::from(true);
    }
    Ok(shown)
}

enum Kind {
    Json,
    Text,
    Other,
}

fn kind(response: &Response) -> Kind {
    let named = response.headers().get(header::CONTENT_TYPE);
    let named = named.and_then(|value| value.to_str().ok()).unwrap_or("text/plain");
    let named = named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match named.as_str() {
        "application/json" => Kind::Json,
        other if other.starts_with("application/") && other.ends_with("+json") => Kind::Json,
        other if other.starts_with("text/") => Kind::Text,
        _ => Kind::Other,
    }
}

/// Returns the first bytes of the body, and whether there were more.
async fn read(mut response: Response) -> Result<(Vec<u8>, bool), ToolFault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
        let room = ANSWER_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}

/// Describes a failure for the model, without the address or the results of a private name server.
fn failed(error: &reqwest::Error) -> ToolFault {
    if refusal_in(error).is_some() || is_of_no_address(error) {
        return ToolFault::Refused("its address leads to no public server".into());
    }
    let why = match error {
        error if error.is_timeout() => "its server did not answer in time",
        error if error.is_connect() => "its server cannot be reached",
        _ => "its server broke off",
    };
    ToolFault::Failed(why.into())
}
