//! What an open session of 100,000 turns keeps in memory, and the most it takes to open it, against the journal's own size.
//! Counted by the allocator, not guessed from the system; apart from the figures of speed, since counting slows every allocation.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

mod common;

use std::fs;

use chat_store_file::FileStore;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const TURNS: u64 = 100_000;

fn main() {
    if !common::is_asked_for() {
        return;
    }
    let folder = common::folder();
    common::runtime().block_on(async {
        let session = common::session("long");
        let store = FileStore::open(folder.path()).expect("the store opens");
        common::create(&store, &session, TURNS).await;
        let text = fs::metadata(store.journal_path(&session))
            .expect("it is there")
            .len();

        // Once without counting: what the runtime makes for itself is not the session's.
        drop(common::replay(folder.path(), &session).await);
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        let transcript = common::replay(folder.path(), &session).await;
        let (peak, kept) = (
            ALLOCATOR.peak_usage() - before,
            ALLOCATOR.current_usage() - before,
        );
        assert_eq!(transcript.turns().len() as u64, TURNS);

        let mebibytes = |bytes: f64| bytes / 1024.0 / 1024.0;
        println!(
            "memory of a session of {TURNS} turns, a journal of {:.1} MiB (MiB)",
            mebibytes(text as f64)
        );
        for (what, bytes, aim) in [
            ("at most, while it is opened", peak, "2.00 or less"),
            ("kept, while it is open", kept, "none"),
        ] {
            println!(
                "  {what:<44} {:>8.1}   of the text {:.2}  aim: {aim}",
                mebibytes(bytes as f64),
                bytes as f64 / text as f64
            );
        }
    });
}
