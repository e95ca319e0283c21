//! What a store has left on the disk, and what it has open.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The names in a folder, sorted.
///
/// # Panics
/// Where it can't be read, or a name is no text.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let name = |path: PathBuf| path.file_name()?.to_str().map(str::to_owned);
    let names = below(folder).into_iter().map(name);
    names.collect::<Option<_>>().expect("names are text")
}

/// All files and folders below a folder, at any depth, sorted. Links are not followed.
///
/// # Panics
/// Where one of them can't be read.
#[must_use]
pub fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in below(folder) {
        let is_folder = path.is_dir() && !path.is_symlink();
        all.push(path);
        if is_folder {
            let last = all.len() - 1;
            all.extend(all_below(&all[last]));
        }
    }
    all
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).and_then(|files| {
        let paths = files.map(|file| file.map(|file| file.path()));
        paths.collect::<Result<Vec<_>, _>>()
    });
    let mut files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.sort();
    files
}

/// Who may do what with a file or folder, as `chmod` takes it. Of a link, its own.
///
/// # Panics
/// Where there is none.
#[cfg(unix)]
#[must_use]
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;

    let found = fs::symlink_metadata(path);
    let found = found.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    found.permissions().mode() & 0o777
}

/// The files below a folder that this process has open; `None` where the system does not tell: only Linux does.
#[must_use]
pub fn open_below(folder: &Path) -> Option<Vec<PathBuf>> {
    let links = fs::read_dir("/proc/self/fd").ok()?.flatten();
    // One that was closed meanwhile leads nowhere.
    let paths = links.filter_map(|link| fs::read_link(link.path()).ok());
    Some(paths.filter(|path| path.starts_with(folder)).collect())
}
