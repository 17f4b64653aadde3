//! Changes that read a resource, change it and write it under the version that was read.

use domain::ports::store::{StoreError, StoreResult};

use super::error::ApiResult;

/// How often a change is tried when other requests change the resource meanwhile: each time one of them got through, so
/// that so many clients at once are served.
const TRIES: usize = 64;

/// Runs `attempt`, which reads, changes and writes, until no other request was faster; `Stale` when one always was.
///
/// # Errors
///
/// What `attempt` refuses; its store's answer to the write is the value.
pub async fn until_written<T, Attempt>(attempt: impl Fn() -> Attempt) -> ApiResult<StoreResult<T>>
where
    Attempt: Future<Output = ApiResult<StoreResult<T>>>,
{
    for _ in 1..TRIES {
        let outcome = attempt().await?;
        if !matches!(outcome, Err(StoreError::Stale)) {
            return Ok(outcome);
        }
    }
    attempt().await
}
