//! How a session's id becomes a file name and back. Two ids never share a name, on any file system; no other file is taken
//! for a journal.

use std::{borrow::Cow, path::PathBuf};

use chat_core::{MAX_ID_BYTES, SessionId, hold::Lock};
use data_encoding::BASE32_DNSSEC as BASE32;

use crate::system::Folder;

/// How a journal's file name ends.
pub(crate) const JOURNAL: &str = ".jsonl";

/// How the file name ends that is locked by whoever has the hold.
pub(crate) const LOCK: &str = ".lock";

/// Where the files of one session are.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) folder: Folder,
    stem: String,
}

impl Paths {
    pub(crate) fn new(folder: &Folder, session: &SessionId) -> Self {
        Self {
            folder: folder.clone(),
            stem: stem(session),
        }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.with(JOURNAL)
    }

    /// Locked by whoever has the hold.
    pub(crate) fn lock(&self) -> PathBuf {
        self.lock_of(Lock::Hold)
    }

    /// Shared by all who wait for the hold.
    pub(crate) fn turnstile(&self) -> PathBuf {
        self.lock_of(Lock::Turnstile)
    }

    /// Where one of the session's locks is.
    pub(crate) fn lock_of(&self, lock: Lock) -> PathBuf {
        match lock {
            Lock::Hold => self.with(LOCK),
            Lock::Turnstile | Lock::Room(_) => self.with(&format!(".{}", lock.name())),
        }
    }

    /// A journal that is being created: nothing that a list shows.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.with(&format!("{TEMPORARY}{:016x}", fastrand::u64(..)))
    }

    /// Where a torn tail is put. The same tail gets the same name, so that setting it aside twice leaves one file.
    pub(crate) fn torn(&self, offset: u64, crc: u32) -> PathBuf {
        self.with(&format!("{TORN}{offset}-{crc:08x}"))
    }

    /// Whether a file name is that of a journal of this session that is being created.
    pub(crate) fn is_temporary(&self, name: &str) -> bool {
        name.strip_prefix(&self.stem)
            .is_some_and(is_temporary_suffix)
    }

    /// Whether a file name is that of a torn tail of this session.
    pub(crate) fn is_torn(&self, name: &str) -> bool {
        let Some((offset, crc)) = name
            .strip_prefix(&self.stem)
            .and_then(|rest| rest.strip_prefix(TORN))
            .and_then(|rest| rest.split_once('-'))
        else {
            return false;
        };
        !offset.is_empty()
            && offset.bytes().all(|b| b.is_ascii_digit())
            && crc.len() == 8
            && crc.bytes().all(|b| b.is_ascii_hexdigit())
    }

    fn with(&self, suffix: &str) -> PathBuf {
        self.folder.path.join(format!("{}{suffix}", self.stem))
    }
}

const TORN: &str = ".torn-";
const TEMPORARY: &str = ".tmp-";

/// Whether a file name is that of a journal of some session that is being created.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.rfind(TEMPORARY).is_some_and(|at| {
        let suffix = &name[at..];
        is_temporary_suffix(suffix) && session_of(name, suffix).is_some()
    })
}

fn is_temporary_suffix(suffix: &str) -> bool {
    suffix
        .strip_prefix(TEMPORARY)
        .is_some_and(|random| random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Plain ids stand as they are, so that a person finds them; all others are `=` and the base32hex of their bytes, since file
/// systems that fold case or normalize Unicode would take two of them for one.
fn stem(session: &SessionId) -> String {
    let id = session.as_str();
    if is_plain(id) {
        id.to_owned()
    } else {
        format!("={}", BASE32.encode(id.as_bytes()))
    }
}

/// The id of the session whose file with this ending has this name; `None` where it is no session's.
pub(crate) fn session_of<'a>(file_name: &'a str, ending: &str) -> Option<Cow<'a, str>> {
    let name = file_name.strip_suffix(ending)?;
    match name.strip_prefix('=') {
        Some(code) => {
            let bytes = BASE32.decode(code.as_bytes()).ok()?;
            let session = SessionId::parse(std::str::from_utf8(&bytes).ok()?).ok()?;
            // Base32 reads what it never writes (capitals, say), and a plain id may be spelled in code: one name per session.
            (stem(&session) == name).then(|| session.as_str().to_owned().into())
        }
        // Nothing is copied: a folder may hold hundreds of thousands of these. No plain name is a bad id but by its length.
        None => {
            let is_id = (1..=MAX_ID_BYTES).contains(&name.len()) && is_plain(name);
            is_id.then_some(name.into())
        }
    }
}

fn is_plain(id: &str) -> bool {
    id.bytes()
        .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-'))
        && !id.starts_with('.')
        && !is_reserved(id)
}

/// The names Windows keeps for devices, with whatever ending.
fn is_reserved(id: &str) -> bool {
    let base = id.split('.').next().unwrap_or(id);
    match base {
        "con" | "prn" | "aux" | "nul" => true,
        _ => {
            base.len() == 4
                && (base.starts_with("com") || base.starts_with("lpt"))
                && base.ends_with(|c: char| c.is_ascii_digit())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::Disk;

    #[test]
    fn s4_every_id_has_a_name_of_its_own_and_comes_back_from_it() {
        let long = "é".repeat(64);
        let ids = [
            "01jd3k",
            "a",
            "A",
            "ä",
            "a\u{308}",
            "con",
            "con.x",
            "CON",
            "com1",
            "com",
            "a.jsonl",
            "a.lock",
            ".hidden",
            "...",
            "=a",
            "a b",
            "a:b",
            "-x",
            "_",
            "user@example.org",
            "a.torn-1-deadbeef",
            long.as_str(),
        ];
        let mut names = Vec::new();
        for id in ids {
            let id = SessionId::parse(id).unwrap();
            let name = format!("{}{JOURNAL}", stem(&id));
            assert_eq!(
                session_of(&name, JOURNAL).as_deref(),
                Some(id.as_str()),
                "{name}"
            );
            assert!(
                name.len() + ".torn-12345678901234567890-00000000".len() < 255,
                "{name}"
            );
            names.push(name.to_lowercase());
        }
        names.sort();
        names.dedup();
        assert_eq!(
            names.len(),
            ids.len(),
            "two ids share a name where case is folded"
        );
    }

    #[test]
    fn s6_files_that_are_no_journals_are_not_taken_for_them() {
        for name in [
            "A.jsonl",
            ".jsonl",
            "..jsonl",
            ".x.jsonl",
            "con.jsonl",
            "a b.jsonl",
            "=.jsonl",
            "=C5.jsonl",
            "=c4.jsonl",
            "a.lock",
            "a.turn",
            "a.tmp-0123456789abcdef",
            "a.torn-1-00000000",
            "a.jsonl.bak",
            ".lock",
            "notes.txt",
        ] {
            assert_eq!(session_of(name, JOURNAL), None, "{name}");
        }
    }

    #[test]
    fn only_torn_tails_of_this_very_session_are_its_own() {
        let folder = Folder {
            files: Arc::new(Disk),
            path: "/x".into(),
        };
        let paths = Paths::new(&folder, &SessionId::parse("a").unwrap());
        let torn = paths.torn(17, 0xdead_beef);
        assert!(paths.is_torn(torn.file_name().unwrap().to_str().unwrap()));
        for name in [
            "a.torn-17-deadbeef.jsonl",
            "ab.torn-17-deadbeef",
            "a.torn-17",
            "a.torn--deadbeef",
            "a.jsonl",
        ] {
            assert!(!paths.is_torn(name), "{name}");
        }
    }
}
