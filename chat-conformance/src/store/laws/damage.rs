//! S3, S6 and J2: what no crash explains, and what a newer program wrote. Neither is skipped, repaired or rewritten.

use std::collections::BTreeSet;

use chat_core::{Entry, Place, Salvaged, Seq, SessionId, StoreError};

use crate::store::{
    Harm, NotClaimed, Outcome,
    entries::{script, session_id},
    lab::Lab,
};

/// Each kind of damage to the journal of [`script`], and the place it is at.
fn damages() -> Vec<(u64, Harm)> {
    let at = |seq, harm: fn(Seq) -> Harm| (seq, harm(Seq(seq)));
    let flip = |seq, byte, bit| {
        let seq = Seq(seq);
        (seq.0, Harm::FlipBit { seq, byte, bit })
    };
    vec![
        // The brace, the format, the place, the text, in one byte of UTF-8 more than ASCII has (C22), and near the end.
        flip(4, 0, 1),
        flip(4, 5, 1),
        flip(4, 13, 0),
        flip(4, 60, 0),
        flip(4, 60, 7),
        flip(1, 140, 2),
        flip(8, 70, 3),
        flip(0, 30, 0),
        // C20: the next entry was glued onto the stub of this one.
        at(4, |seq| Harm::CutEntry { seq, keep: 21 }),
        // The second one stands where entry 5 belongs.
        (5, Harm::RepeatEntry { seq: Seq(4) }),
        at(4, |seq| Harm::DropEntry { seq }),
        at(0, |seq| Harm::DropEntry { seq }),
        at(4, |seq| Harm::ZeroEntry { seq }),
    ]
}

/// A session for each kind of damage that can be played, in a store that was opened behind it all.
async fn damaged(lab: Lab) -> Result<(Lab, Vec<Case>), NotClaimed> {
    let mut cases = Vec::new();
    let mut refused = None;
    for (seq, harm) in damages() {
        let session = lab
            .session_of(&format!("s3-{}", cases.len()), script())
            .await;
        match lab.harm(&session, harm).await {
            Ok(()) => cases.push(Case { session, seq, harm }),
            Err(why) => {
                lab.store.delete(&session).await.expect("nobody holds it");
                refused = Some(why);
            }
        }
    }
    match refused {
        Some(why) if cases.is_empty() => Err(why),
        Some(_) | None => Ok((lab.reopened().await?, cases)),
    }
}

struct Case {
    session: SessionId,
    seq: u64,
    harm: Harm,
}

impl Case {
    /// The entries before the damage.
    fn before(&self) -> Vec<Entry> {
        script()[..place(self.seq)].to_vec()
    }

    fn check(&self, error: Option<&StoreError>) {
        let harm = self.harm;
        let Some(StoreError::Damaged(damage)) = error else {
            panic!("{harm:?} is damage, and what came of it is {error:?}");
        };
        assert_eq!(damage.session, self.session, "{harm:?}");
        assert!(
            damage.place.seq.is_none_or(|seq| seq == Seq(self.seq)),
            "{harm:?} is found in another place: {damage}"
        );
        let somewhere = Place {
            path: damage.place.path.clone(),
            ..Place::default()
        };
        assert_ne!(
            damage.place, somewhere,
            "{harm:?}: the error names no place"
        );
        assert!(
            damage.to_string().contains(self.session.as_str()),
            "{harm:?}: the message names no session: {damage}"
        );
    }
}

pub(in crate::store) async fn s3_c21_damage_is_an_error_that_names_session_and_place(
    lab: Lab,
) -> Outcome {
    let (lab, cases) = damaged(lab).await?;
    for case in &cases {
        for from in [0, case.seq] {
            let read = lab.read(&case.session, Seq(from)).await;
            assert_eq!(
                read.entries,
                case.before()[place(from)..],
                "{:?}, read from {from}: what is before the damage can be read, and nothing behind it is",
                case.harm
            );
            assert_eq!(read.torn, None, "{:?} is no crash", case.harm);
            case.check(read.error.as_ref());
        }
    }
    Ok(())
}

pub(in crate::store) async fn s3_damage_is_not_acquired_and_not_repaired(lab: Lab) -> Outcome {
    let (lab, cases) = damaged(lab).await?;
    for case in &cases {
        let stored = lab.stored(&case.session).await;
        // Twice: one who is refused is in nobody's way.
        for _ in 0..2 {
            let refused = lab.store.acquire(&case.session, Seq::ZERO).await;
            case.check(refused.err().as_ref());
        }
        case.check(lab.read(&case.session, Seq::ZERO).await.error.as_ref());
        let held = lab.store.is_held(&case.session).await;
        assert!(!held.expect("it can be asked"), "{:?}", case.harm);
        assert_eq!(
            lab.stored(&case.session).await,
            stored,
            "{:?}: nothing is repaired",
            case.harm
        );
    }
    Ok(())
}

pub(in crate::store) async fn s3_salvage_gives_what_is_readable_with_gaps_marked(
    lab: Lab,
) -> Outcome {
    let (lab, cases) = damaged(lab).await?;
    for case in &cases {
        let stored = lab.stored(&case.session).await;
        let pieces = lab.salvage(&case.session).await;
        let harm = case.harm;
        let (mut found, mut gaps) = (BTreeSet::new(), Vec::new());
        for (n, piece) in pieces.iter().enumerate() {
            match piece {
                Salvaged::Entry(entry) => {
                    assert!(script().contains(entry), "{harm:?}: nobody's {entry:?}");
                    found.insert(entry.seq().0);
                }
                Salvaged::Gap { .. } => gaps.push(n),
            }
        }
        let first = case.before().len();
        assert_eq!(
            gaps.first(),
            Some(&first),
            "{harm:?}: a gap right where the damage is, and none before"
        );
        let mut expected: BTreeSet<u64> = (0..script().len() as u64).collect();
        match harm {
            Harm::RepeatEntry { .. } => {}
            // Where the next entry begins within the bad piece, nobody has to find out.
            Harm::CutEntry { .. } => {
                found.remove(&(case.seq + 1));
                expected.retain(|seq| *seq != case.seq && *seq != case.seq + 1);
            }
            _ => assert!(expected.remove(&case.seq)),
        }
        assert_eq!(found, expected, "{harm:?}: every entry that is whole");
        assert_eq!(
            lab.stored(&case.session).await,
            stored,
            "{:?}: salvaging changes nothing",
            case.harm
        );
    }
    Ok(())
}

pub(in crate::store) async fn s6_c21_a_damaged_session_is_listed_with_its_error(
    lab: Lab,
) -> Outcome {
    let sound = lab.session_of("sound", script()).await;
    let (lab, cases) = damaged(lab).await?;
    let list = lab.list(3).await;
    assert_eq!(list.len(), cases.len() + 1, "a damaged one hides no other");
    for case in &cases {
        case.check(lab.summary(&case.session).await.error.as_ref());
    }
    let summary = lab.summary(&sound).await;
    assert_eq!((summary.turns, summary.error.is_none()), (4, true));
    Ok(())
}

pub(in crate::store) async fn j2_c30_a_newer_format_is_refused_and_left_untouched(
    lab: Lab,
) -> Outcome {
    let sessions = [0, 4, 8].map(|seq| (seq, session_id(&format!("j2-{seq}"))));
    for (seq, session) in &sessions {
        lab.session_of(session.as_str(), script()).await;
        let newer = Harm::NewerFormat { seq: Seq(*seq) };
        lab.harm(session, newer).await?;
    }
    let lab = lab.reopened().await?;
    for (seq, session) in &sessions {
        let stored = lab.stored(session).await;
        let read = lab.read(session, Seq::ZERO).await;
        let check = |what: &str, error: Option<StoreError>| {
            let Some(StoreError::NewerFormat {
                what: named, found, ..
            }) = &error
            else {
                panic!("{what}: entry {seq} is of a newer format, and not {error:?}");
            };
            assert!(*found > chat_core::FORMAT, "{what}: format {found}");
            assert!(
                named.contains(session.as_str()),
                "{what}: the error names no session: {named}"
            );
        };
        assert!(
            script().starts_with(&read.entries),
            "nothing but what is before it"
        );
        check("read", read.error);
        let refused = lab.store.acquire(session, Seq::ZERO).await;
        check("acquire", refused.err());
        check("list", lab.summary(session).await.error);
        // Whatever salvage makes of it, it changes nothing either.
        drop(lab.store.salvage(session).await);
        let taken = lab.store.create(session, script()).await;
        assert!(matches!(taken, Err(StoreError::Taken { .. })), "{taken:?}");
        assert_eq!(lab.stored(session).await, stored, "left untouched");
    }
    assert_eq!(lab.list(2).await.len(), sessions.len(), "hides no other");
    Ok(())
}

fn place(seq: u64) -> usize {
    usize::try_from(seq).expect("the laws' places are small")
}
