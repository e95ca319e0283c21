//! Where journals are kept, as a person names it: a path says by itself which store it is.

use std::{
    fmt,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_core::{MemoryStore, Store, StoreError};
use chat_store_file::FileStore;
use chat_store_sqlite::SqliteStore;

/// What every SQLite database begins with.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// How the name of a database ends.
const ENDINGS: [&str; 3] = ["db", "sqlite", "sqlite3"];

/// Where journals are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreAt {
    /// Where a path leads, in whichever store is there or its name says.
    Path(PathBuf),
    /// In a folder.
    Folder(PathBuf),
    /// In an SQLite database.
    Sqlite(PathBuf),
    /// In memory, for as long as the command runs.
    Memory,
}

impl std::str::FromStr for StoreAt {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORMS: &str = "a store is a PATH, file:DIR, sqlite:FILE or memory:";
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("file", folder)) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(file.into())),
            // One letter is a drive; a longer word is meant for one of the above.
            Some((word, _))
                if word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphanumeric()) =>
            {
                Err(FORMS)
            }
            Some(_) | None if text.is_empty() => Err(FORMS),
            Some(_) | None => Ok(Self::Path(text.into())),
        }
    }
}

/// As it can be named again.
impl fmt::Display for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Folder(folder) => write!(f, "file:{}", folder.display()),
            Self::Sqlite(file) => write!(f, "sqlite:{}", file.display()),
            Self::Memory => f.write_str("memory:"),
        }
    }
}

impl StoreAt {
    /// Whether this is the file or folder that the store is in.
    pub(crate) fn is_in(&self, path: &Path) -> bool {
        let is_same = |own: &Path| own.canonicalize().ok() == path.canonicalize().ok();
        path.exists() && self.path().is_some_and(is_same)
    }

    /// Where it is, unless in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) | Self::Folder(path) | Self::Sqlite(path) => Some(path),
            Self::Memory => None,
        }
    }

    /// Opens the store, and creates it where it is not there.
    pub(crate) fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::Path(path) if is_database(path) => Arc::new(SqliteStore::open(path)?),
            Self::Path(path) | Self::Folder(path) => Arc::new(FileStore::open(path)?),
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path)?),
            Self::Memory => Arc::new(MemoryStore::default()),
        })
    }
}

/// Whether a path is meant for a database: what is there decides, else its name. What can't be looked at is left to the store,
/// which says why.
fn is_database(path: &Path) -> bool {
    let named_so = path.extension().is_some_and(|ending| {
        ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    });
    let begins_so = || {
        let mut head = [0; SQLITE.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
        read.is_ok() && head == *SQLITE
    };
    !path.is_dir() && (named_so || path.is_file() && begins_so())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_a_store_is_a_path_or_says_which_it_is() {
        for (text, store) in [
            ("memory:", Some(StoreAt::Memory)),
            ("file:.chat", Some(StoreAt::Folder(".chat".into()))),
            ("file:/a:b", Some(StoreAt::Folder("/a:b".into()))),
            ("sqlite:chat", Some(StoreAt::Sqlite("chat".into()))),
            (".chat", Some(StoreAt::Path(".chat".into()))),
            ("chat.db", Some(StoreAt::Path("chat.db".into()))),
            (r"C:\chat", Some(StoreAt::Path(r"C:\chat".into()))),
            ("./a:b", Some(StoreAt::Path("./a:b".into()))),
            ("file:", None),
            ("sqlite:", None),
            ("memory:x", None),
            ("postgres://host/db", None),
            ("sqlit:chat.db", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), store, "{text:?}");
            if let Some(store) = store {
                assert_eq!(store.to_string(), text, "it can be named again");
            }
        }
    }

    #[test]
    fn c_a_store_is_told_from_others_by_where_it_leads() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::write(path("chat.db"), "").unwrap();
        let store = StoreAt::Sqlite(path("chat.db"));
        assert!(store.is_in(&path("./chat.db")));
        assert!(!store.is_in(home.path()));
        assert!(!store.is_in(&path("new")));
        assert!(!StoreAt::Path(path("new")).is_in(&path("newer")));
        assert!(!StoreAt::Memory.is_in(&path("chat.db")));
    }

    #[test]
    fn c_a_path_says_which_store_it_is() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::create_dir(path("folder.db")).unwrap();
        std::fs::write(path("mine"), [&SQLITE[..], b"and more"].concat()).unwrap();
        std::fs::write(path("notes"), "SQLite").unwrap();
        for (name, is) in [
            ("new", false),
            ("new.db", true),
            ("new.SQLite", true),
            ("new.sqlite3", true),
            ("new.txt", false),
            ("folder.db", false),
            ("mine", true),
            ("notes", false),
        ] {
            assert_eq!(is_database(&path(name)), is, "{name}");
        }
    }
}
