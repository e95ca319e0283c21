//! One simulated file: what is seen of it, what the device has for sure, and the changes in between, which a loss of power
//! leaves done, undone or half done.

use std::time::SystemTime;

use fastrand::Rng;

/// The bytes of a file, twice.
#[derive(Debug, Default)]
pub(super) struct Inode {
    /// What programs see: the page cache.
    seen: Vec<u8>,
    /// What the device has for sure.
    durable: Vec<u8>,
    /// What was issued since the last sync, in order.
    pending: Vec<Change>,
    pub(super) modified: Option<SystemTime>,
}

#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Inode {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            modified: Some(now),
            ..Self::default()
        }
    }

    pub(super) fn seen(&self) -> &[u8] {
        &self.seen
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8], now: SystemTime) {
        self.modified = Some(now);
        put(&mut self.seen, offset, bytes);
        let bytes = bytes.to_vec();
        self.pending.push(Change::Write { offset, bytes });
    }

    pub(super) fn set_len(&mut self, len: usize, now: SystemTime) {
        self.modified = Some(now);
        self.seen.resize(len, 0);
        self.pending.push(Change::SetLen(len));
    }

    pub(super) fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            change.apply(&mut self.durable);
        }
    }

    /// A sync that fails: of what was issued the device has this or that, and the system believes that nothing is left to
    /// write. Only the length, which is not the data's business, may still follow.
    pub(super) fn fail_sync(&mut self, rng: &mut Rng) {
        self.durable = self.survivors(rng);
        self.pending = vec![Change::SetLen(self.seen.len())];
    }

    pub(super) fn lose_power(&mut self, rng: &mut Rng) {
        self.durable = self.survivors(rng);
        self.seen.clone_from(&self.durable);
        self.pending.clear();
    }

    /// Pages that are believed to be written are forgotten, and read again from the device; whether that shows. It does after a
    /// failed sync, and never else.
    pub(super) fn evict(&mut self) -> bool {
        let mut seen = self.durable.clone();
        for change in &self.pending {
            change.apply(&mut seen);
        }
        let shows = seen != self.seen;
        self.seen = seen;
        shows
    }

    /// What the device has after a loss of power. The changes of the length happened up to some point, in order; what was
    /// written within the length that came of it is there, or the beginning of it, or nothing: then NULs are.
    fn survivors(&self, rng: &mut Rng) -> Vec<u8> {
        let grown = rng.usize(..=self.pending.len());
        let mut bytes = self.durable.clone();
        for (at, change) in self.pending.iter().enumerate() {
            match change {
                Change::SetLen(len) if at < grown => bytes.resize(*len, 0),
                Change::SetLen(_) => {}
                Change::Write { offset, bytes: new } => {
                    let end = offset + new.len();
                    if at < grown && bytes.len() < end {
                        bytes.resize(end, 0);
                    }
                    let written = match rng.u8(..4) {
                        0 => 0,
                        1 => new.len(),
                        _ => rng.usize(..=new.len()),
                    };
                    let room = bytes.len().saturating_sub(*offset);
                    put(&mut bytes, *offset, &new[..written.min(room)]);
                }
            }
        }
        bytes
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => put(to, *offset, bytes),
            Self::SetLen(len) => to.resize(*len, 0),
        }
    }
}

fn put(to: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if !bytes.is_empty() {
        if to.len() < end {
            to.resize(end, 0);
        }
        to[offset..end].copy_from_slice(bytes);
    }
}
