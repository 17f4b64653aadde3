//! Paths of a recording: of its beginning, until it is complete, and after.

use std::path::{Path, PathBuf};

use domain::id::AttemptId;

/// Returns the path that the completed recording of an attempt has, whether or not it exists.
pub fn file_of(dir: &Path, attempt: AttemptId) -> PathBuf {
    dir.join(format!("{attempt}.wav"))
}

/// Returns the path of a recording until it is complete.
pub(super) fn part_of(path: &Path) -> PathBuf {
    path.with_added_extension("part")
}

/// Returns the path of a new file until it is locked.
pub(super) fn begun_of(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}
