//! Read, change and write of a resource under the version that was read.

use domain::ports::store::{StoreError, StoreResult};

use super::error::ApiResult;

/// Maximum tries if other requests change the resource meanwhile. Each time one of them succeeds, so that
/// this many concurrent clients are served.
const TRIES: usize = 64;

/// Runs `attempt`, which reads, changes and writes, until no other request was faster. Returns `Stale` after
/// too many tries.
///
/// # Errors
///
/// Returns the error of `attempt`. The store's result of the write is the value.
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
