//! What several test files share.
#![allow(dead_code, reason = "each test file uses some of it")]

pub(crate) use chat_conformance::entries::*;

/// A folder of its own, and where a database in it is to be.
pub(crate) fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    (folder, path)
}
