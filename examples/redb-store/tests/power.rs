//! The same laws over a disk that tells what was written from what was synced: whether "durable" is true. All that this adds is
//! `lose_power`; where a store can be given its disk, that is all it takes.
#![allow(
    clippy::unwrap_used,
    reason = "a factory that can't make a store panics"
)]

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use chat_conformance::StoreFactory;
use redb::StorageBackend;
use redb_store::RedbStore;

/// A disk in memory. Clones are the same disk.
#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<Bytes>>);

#[derive(Debug, Default)]
struct Bytes {
    /// What whoever looks sees.
    written: Vec<u8>,
    /// What a loss of power leaves.
    synced: Vec<u8>,
}

impl Disk {
    fn of(bytes: &[u8]) -> Self {
        Self(Arc::new(Mutex::new(Bytes {
            written: bytes.to_vec(),
            synced: bytes.to_vec(),
        })))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().written.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = offset.try_into().unwrap_or(usize::MAX);
        let disk = self.0.lock().unwrap();
        let end = start.saturating_add(out.len());
        let bytes = disk.written.get(start..end);
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = len.try_into().map_err(io::Error::other)?;
        self.0.lock().unwrap().written.resize(len, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.synced = disk.written.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let start = offset.try_into().unwrap_or(usize::MAX);
        let mut disk = self.0.lock().unwrap();
        let end = start.saturating_add(data.len());
        let place = disk.written.get_mut(start..end);
        place
            .ok_or(io::ErrorKind::UnexpectedEof)?
            .copy_from_slice(data);
        Ok(())
    }
}

/// Stores on disks of their own, by the names of their places.
#[derive(Default)]
struct Simulated {
    disks: Mutex<HashMap<PathBuf, Disk>>,
}

impl Simulated {
    fn open(&self, disk: Disk) -> RedbStore {
        let mut disks = self.disks.lock().unwrap();
        let name = PathBuf::from(format!("disk-{}", disks.len()));
        disks.insert(name.clone(), disk.clone());
        RedbStore::open_on(disk, name).unwrap()
    }

    fn disk(&self, path: &Path) -> Disk {
        self.disks.lock().unwrap()[path].clone()
    }
}

impl StoreFactory for Simulated {
    type Store = RedbStore;

    async fn make(&self) -> RedbStore {
        self.open(Disk::default())
    }

    /// As after a kill: what was written is there, in whatever moment that was.
    async fn reopen(&self, store: &RedbStore) -> RedbStore {
        let disk = self.disk(store.path());
        let killed = Disk::of(&disk.0.lock().unwrap().written);
        self.open(killed)
    }

    async fn lose_power(&self, store: &RedbStore) -> Option<RedbStore> {
        let disk = self.disk(store.path());
        let left = Disk::of(&disk.0.lock().unwrap().synced);
        Some(self.open(left))
    }
}

chat_conformance::store_laws!(Simulated::default());
