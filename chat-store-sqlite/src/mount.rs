//! File systems on which a database in WAL mode is not safe: its index is memory that all processes share, which other machines
//! don't, and locks that a server or a program in between may lose. They are refused by name.

use std::path::Path;

use chat_core::StoreError;

/// Refuses a folder that is on such a file system. One that can't be told is taken for a local disk.
pub(crate) fn check(folder: &Path) -> Result<(), StoreError> {
    match unsafe_kind(folder) {
        Some(name) => Err(refused(folder, &name)),
        None => Ok(()),
    }
}

fn refused(folder: &Path, name: &str) -> StoreError {
    StoreError::backend(format!(
        "{} is on {name}, where a SQLite database in WAL mode can be corrupted: put it on a local disk, or use a store that is \
         made for many hosts",
        folder.display()
    ))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn unsafe_kind(folder: &Path) -> Option<std::borrow::Cow<'static, str>> {
    let kind = rustix::fs::statfs(folder).ok()?.f_type;
    // The numbers have 32 bits, in a field that is wider on some platforms, and may be negative there.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the field's type differs from platform to platform"
    )]
    let kind = kind as u32;
    by_number(kind).map(Into::into)
}

#[cfg(target_vendor = "apple")]
fn unsafe_kind(folder: &Path) -> Option<std::borrow::Cow<'static, str>> {
    let found = rustix::fs::statfs(folder).ok()?;
    let name: Vec<u8> = found
        .f_fstypename
        .iter()
        .map(|c| c.cast_unsigned())
        .take_while(|byte| *byte != 0)
        .collect();
    let name = String::from_utf8_lossy(&name).into_owned();
    is_unsafe_name(&name).then(|| name.into())
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn unsafe_kind(_folder: &Path) -> Option<std::borrow::Cow<'static, str>> {
    None
}

/// What a file system's number stands for, where WAL is not safe on it. Linux (statfs(2), linux/magic.h).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_number(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x517B => "SMB",
        0xFF53_4D42 => "CIFS",
        0xFE53_4D42 => "SMB 2",
        0x6573_5546 => "a FUSE file system",
        0x0102_1997 => "9p",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x00C3_6400 => "Ceph",
        0x7375_7245 => "Coda",
        0x564C => "NCP",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x0116_1970 => "GFS2",
        0x7461_636F => "OCFS2",
        0x786F_4256 => "a VirtualBox shared folder",
        0xBACB_ACBC => "a VMware shared folder",
        0x7C7C_6673 => "a Parallels shared folder",
        _ => return None,
    })
}

#[cfg(any(target_vendor = "apple", test))]
fn is_unsafe_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["nfs", "smbfs", "cifs", "afpfs", "webdav", "ftp"].contains(&name.as_str())
        || name.contains("fuse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn c31_network_and_fuse_file_systems_are_known_by_their_numbers() {
        for (kind, name) in [
            (0x6969, "NFS"),
            (0xFF53_4D42, "CIFS"),
            (0xFE53_4D42, "SMB 2"),
            (0x6573_5546, "a FUSE file system"),
            (0x0102_1997, "9p"),
            (0x5346_414F, "AFS"),
            (0x00C3_6400, "Ceph"),
        ] {
            assert_eq!(by_number(kind), Some(name));
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs.
        for kind in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
            0xF2F5_2010,
        ] {
            assert_eq!(by_number(kind), None, "{kind:#x}");
        }
    }

    #[test]
    fn c31_network_and_fuse_file_systems_are_known_by_their_names() {
        for name in ["nfs", "smbfs", "afpfs", "webdav", "macfuse", "osxfuse"] {
            assert!(is_unsafe_name(name), "{name}");
        }
        for name in ["apfs", "hfs", "exfat", "msdos"] {
            assert!(!is_unsafe_name(name), "{name}");
        }
    }

    #[test]
    fn c31_the_refusal_names_the_place_and_says_what_to_do() {
        let error = refused(Path::new("/mnt/share"), "NFS").to_string();
        for part in ["/mnt/share", "NFS", "local disk"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn c31_a_local_disk_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check(folder.path()).is_ok());
    }
}
