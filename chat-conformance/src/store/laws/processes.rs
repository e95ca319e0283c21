//! S5 to S7 between processes that have one store open.

use std::sync::{Arc, Mutex, PoisonError};

use chat_core::{Seq, SessionId, Store, StoreError};
use futures_util::future::{join, join_all};

use super::holds::read_while_writing;
use crate::store::{
    Outcome,
    entries::{accepted, completed, created, script, session_id, waits, write},
    lab::Lab,
};

pub(in crate::store) async fn s5_a_holder_of_another_process_is_waited_for(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let other = lab.another_process().await?;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    assert!(
        other
            .store
            .is_held(&session)
            .await
            .expect("it can be asked"),
        "another process sees the holder"
    );
    let mut waiting = other.store.acquire(&session, Seq(1));
    assert!(waits(&mut waiting).await, "two holders at once");
    write(&mut writer, accepted(1, 1)).await;
    assert_eq!(
        other.entries(&session).await,
        [created(), accepted(1, 1)],
        "what is written is seen by all"
    );
    let answer = writer.append_last(completed(2, 1)).await;
    assert!(matches!(answer, chat_core::Appended::Written), "{answer:?}");
    drop(writer);
    let mut acquired = waiting.await.expect("the session is free");
    assert_eq!(
        acquired.entries,
        [accepted(1, 1), completed(2, 1)],
        "with the hold comes what others wrote"
    );
    // Another process's entry, sent again, is written once too.
    write(&mut acquired.writer, completed(2, 1)).await;
    drop(acquired);
    assert!(!lab.store.is_held(&session).await.expect("it can be asked"));
    assert_eq!(lab.entries(&session).await.len(), 3);
    Ok(())
}

pub(in crate::store) async fn s5_a_waiter_of_another_process_gives_up_its_place(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s5").await;
    let other = lab.another_process().await?;
    for _ in 0..4 {
        let (writer, _) = lab.hold(&session, Seq(1)).await;
        let mut waiting = other.store.acquire(&session, Seq(1));
        assert!(waits(&mut waiting).await, "two holders at once");
        drop(waiting);
        drop(writer);
    }
    drop(lab.hold(&session, Seq(1)).await);
    lab.store.delete(&session).await.expect("nobody is there");
    Ok(())
}

pub(in crate::store) async fn s5_holders_of_two_processes_take_turns(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let other = lab.another_process().await?;
    let order = Order::default();
    let turns = |lab: &Lab, name| {
        let wanting = want(lab.store.clone(), session.clone(), name, order.clone());
        tokio::spawn(wanting)
    };
    let (one, two) = (turns(&lab, 1), turns(&other, 2));
    one.await.expect("the first process's turns");
    two.await.expect("the second process's turns");
    for lab in [&lab, &other] {
        let read = lab.entries(&session).await;
        let places: Vec<_> = read.iter().map(|entry| entry.seq().0).collect();
        assert_eq!(places, (0..=2 * TURNS).collect::<Vec<_>>());
    }
    Ok(())
}

pub(in crate::store) async fn s5_neither_of_two_processes_starves(lab: Lab) -> Outcome {
    let session = lab.session("s5").await;
    let other = lab.another_process().await?;
    // Two who want it in each process: a hold that is handed on at home first never leaves it.
    let order = Order::default();
    let wanting = [(&lab, 1), (&other, 2), (&lab, 1), (&other, 2)]
        .map(|(lab, name)| want(lab.store.clone(), session.clone(), name, order.clone()));
    join_all(wanting).await;
    let order = order.lock().unwrap_or_else(PoisonError::into_inner);
    // Both wanted it until one of them had all its turns.
    let both = order.iter().scan([0, 0], |taken, name| {
        taken[*name as usize - 1] += 1;
        Some(*taken)
    });
    let [one, two] = both
        .into_iter()
        .find(|taken| taken.contains(&(2 * TURNS)))
        .expect("both had all their turns in the end");
    let slower = one.min(two);
    assert!(
        4 * slower >= one + two,
        "while both wanted the session, one had {} turns and the other {slower}",
        one.max(two)
    );
    Ok(())
}

/// How many turns each takes.
const TURNS: u64 = 12;

/// Who had each turn, in order.
type Order = Arc<Mutex<Vec<u64>>>;

/// Takes turns of one entry each, one after the other.
async fn want(store: Arc<dyn Store>, session: SessionId, name: u64, order: Order) {
    let mut next = Seq::ZERO;
    for turn in 0..TURNS {
        let mut acquired = store
            .acquire(&session, next)
            .await
            .expect("the session becomes free");
        next = acquired
            .entries
            .last()
            .map_or(next, |entry| entry.seq().next());
        write(&mut acquired.writer, accepted(next.0, name * 1000 + turn)).await;
        next = next.next();
        order
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(name);
    }
}

pub(in crate::store) async fn s5_a_reader_of_another_process_is_not_disturbed(lab: Lab) -> Outcome {
    let other = lab.another_process().await?;
    read_while_writing(&lab, &other).await
}

pub(in crate::store) async fn s6_another_process_lists_what_is_there(lab: Lab) -> Outcome {
    let other = lab.another_process().await?;
    assert!(other.ids(10).await.is_empty());
    let session = lab.session_of("one", script()).await;
    other.session("two").await;
    for lab in [&lab, &other] {
        assert_eq!(lab.ids(10).await, ["one", "two"]);
    }
    let (mut writer, _) = other.hold(&session, Seq(9)).await;
    write(&mut writer, accepted(9, 5)).await;
    drop(writer);
    assert_eq!(lab.summary(&session).await.turns, 5);
    other.store.delete(&session).await.expect("nobody holds it");
    for lab in [&lab, &other] {
        assert_eq!(lab.ids(10).await, ["two"]);
    }
    Ok(())
}

pub(in crate::store) async fn s7_of_two_who_create_one_id_one_is_refused(lab: Lab) -> Outcome {
    let other = lab.another_process().await?;
    for n in 0..8 {
        let session = session_id(&format!("s7-{n}"));
        let (one, two) = join(
            lab.store.create(&session, script()),
            other.store.create(&session, vec![created()]),
        )
        .await;
        let expected = match (&one, &two) {
            (Ok(()), Err(StoreError::Taken { .. })) => script(),
            (Err(StoreError::Taken { .. }), Ok(())) => vec![created()],
            _ => panic!("one is to be refused, of {one:?} and {two:?}"),
        };
        assert_eq!(lab.entries(&session).await, expected);
        assert_eq!(other.entries(&session).await, expected);
    }
    Ok(())
}

pub(in crate::store) async fn s7_a_delete_waits_for_another_process_and_may_be_given_up(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s7").await;
    let other = lab.another_process().await?;
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    let mut delete = other.store.delete(&session);
    assert!(waits(&mut delete).await, "deleted under its holder");
    drop(delete);
    write(&mut writer, accepted(1, 1)).await;
    drop(writer);
    assert_eq!(lab.hold(&session, Seq::ZERO).await.1.len(), 2);
    let (writer, _) = lab.hold(&session, Seq(2)).await;
    let mut delete = other.store.delete(&session);
    assert!(waits(&mut delete).await, "deleted under its holder");
    drop(writer);
    delete.await.expect("the holder let go");
    assert!(lab.ids(10).await.is_empty());
    Ok(())
}

pub(in crate::store) async fn s7_who_waited_for_a_deleted_session_is_told(lab: Lab) -> Outcome {
    let session = lab.session("s7").await;
    let other = lab.another_process().await?;
    let third = lab.another_process().await?;
    let (writer, _) = lab.hold(&session, Seq(1)).await;
    let mut delete = other.store.delete(&session);
    assert!(waits(&mut delete).await, "deleted under its holder");
    let mut waiting = third.store.acquire(&session, Seq(1));
    assert!(waits(&mut waiting).await, "two holders at once");
    drop(writer);
    // Either may come first. A holder lets go, and then the delete goes on.
    let waited = async {
        match waiting.await {
            Ok(acquired) => drop(acquired),
            Err(StoreError::Missing { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    };
    let (deleted, ()) = join(delete, waited).await;
    deleted.expect("the holder let go");
    for lab in [&lab, &other, &third] {
        let gone = lab.store.acquire(&session, Seq(1)).await;
        assert!(matches!(gone, Err(StoreError::Missing { .. })), "{gone:?}");
    }
    lab.session("s7").await;
    assert_eq!(
        third.entries(&session).await,
        [created()],
        "made anew, it is seen by all"
    );
    drop(third.hold(&session, Seq::ZERO).await);
    Ok(())
}

pub(in crate::store) async fn s7_a_session_made_anew_by_another_process_is_the_new_one(
    lab: Lab,
) -> Outcome {
    let session = lab.session("s7").await;
    let other = lab.another_process().await?;
    // Looked at in every way, so that whatever may be remembered of it is.
    let (mut writer, _) = lab.hold(&session, Seq(1)).await;
    write(&mut writer, accepted(1, 1)).await;
    write(&mut writer, completed(2, 1)).await;
    drop(writer);
    assert_eq!(lab.entries(&session).await.len(), 3);
    assert_eq!(lab.summary(&session).await.turns, 1);

    other.store.delete(&session).await.expect("nobody holds it");
    let anew = vec![created(), accepted(1, 7), accepted(2, 8)];
    other.session_of("s7", anew.clone()).await;
    for lab in [&lab, &other] {
        assert_eq!(lab.entries_from(&session, Seq(2)).await, anew[2..]);
        assert_eq!(lab.entries(&session).await, anew);
        assert_eq!(lab.summary(&session).await.turns, 2);
    }
    let (mut writer, since) = lab.hold(&session, Seq(1)).await;
    assert_eq!(since, anew[1..]);
    write(&mut writer, completed(3, 7)).await;
    drop(writer);
    assert_eq!(
        other.entries_from(&session, Seq(3)).await,
        [completed(3, 7)]
    );
    Ok(())
}

pub(in crate::store) async fn s7_c29_many_at_work_in_two_processes_meet_no_busy_store(
    lab: Lab,
) -> Outcome {
    let other = lab.another_process().await?;
    let work = (0..16_u64).map(|n| {
        let lab = if n % 2 == 0 { &lab } else { &other };
        let name = format!("s7-{n}");
        async move {
            let session = lab.session(&name).await;
            for seq in 1..=6 {
                let (mut writer, _) = lab.hold(&session, Seq(seq)).await;
                write(&mut writer, accepted(seq, seq)).await;
            }
            lab.list(10).await;
            assert_eq!(lab.entries(&session).await.len(), 7);
            if n % 4 == 3 {
                lab.store.delete(&session).await.expect("nobody holds it");
            }
        }
    });
    join_all(work).await;
    assert_eq!(lab.list(10).await.len(), 12);
    Ok(())
}
