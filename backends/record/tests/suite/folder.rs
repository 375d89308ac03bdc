//! Documents in memory, for simulated stores.

use elect_record::{Ask, Data, Document, Folder, Name, Record, Removed, Reply, Stored, Swapped};

fn record(token: u64) -> Document {
    Document::Record(Record { token, ..Record::default() })
}

fn swap(folder: &mut Folder, name: Name, expected: u64, document: Document) -> Option<u64> {
    match folder.answer(&Ask::Swap(name, expected, Box::new(document))) {
        Some(Reply::Swapped(Swapped::Yes(version))) => Some(version),
        Some(Reply::Swapped(Swapped::No)) => None,
        other => panic!("a swap is {other:?}"),
    }
}

fn remove(folder: &mut Folder, name: Name, version: u64) -> Removed {
    match folder.answer(&Ask::Remove(name, version)) {
        Some(Reply::Removed(removed)) => removed,
        other => panic!("a removal is {other:?}"),
    }
}

#[test]
fn a_document_changes_only_for_its_current_version() {
    let mut folder = Folder::default();
    assert_eq!(swap(&mut folder, Name::Record, 1, record(1)), None, "there is none");
    let first = swap(&mut folder, Name::Record, 0, record(1)).expect("there is none");
    assert_eq!(swap(&mut folder, Name::Record, 0, record(2)), None);
    let second = swap(&mut folder, Name::Record, first, record(2)).expect("its version");
    assert_eq!(folder.read(Name::Record), Some(&Stored { version: second, document: record(2) }));
    assert_eq!(remove(&mut folder, Name::Record, first), Removed::No);
    assert_eq!(folder.record().map(|record| record.token), Some(2));
    assert_eq!(remove(&mut folder, Name::Record, second), Removed::Yes);
    assert_eq!(remove(&mut folder, Name::Record, second), Removed::Yes, "it is gone");
    assert_eq!(folder.read(Name::Record), None);
}

#[test]
fn versions_rise_through_removals_and_in_later_folders() {
    let mut folder = Folder::default();
    let first = folder.write(Name::Record, record(1));
    folder.remove(Name::Record);
    let removed = folder.revision();
    let second = swap(&mut folder, Name::Record, 0, record(1)).expect("there is none");
    assert!(first < removed && removed < second);
    let mut next = Folder::after(folder.revision());
    assert_eq!(next.read(Name::Record), None);
    assert!(next.write(Name::Record, record(1)) > second);
}

#[test]
fn a_wait_ends_with_its_event() {
    let mut folder = Folder::after(7);
    let seen = folder.list().revision;
    let (one, any) = (Ask::Await(Name::Record, 0), Ask::AwaitAny(seen));
    assert_eq!((folder.answer(&one), folder.answer(&any)), (None, None));
    let data = Document::Data(Data::default());
    let written = folder.write(Name::Data, data.clone());
    assert_eq!(folder.answer(&one), None, "another one was written");
    assert_eq!(
        folder.answer(&any),
        Some(Reply::Changed(vec![(written, Name::Data, Some(data.clone()))]))
    );
    let version = folder.write(Name::Record, record(1));
    let stored = Stored { version, document: record(1) };
    assert_eq!(folder.answer(&one), Some(Reply::Found(Some(Box::new(stored)))));
    folder.remove(Name::Record);
    let rewritten = folder.write(Name::Data, data.clone());
    assert_eq!(
        folder.answer(&Ask::AwaitAny(written)),
        Some(Reply::Changed(vec![
            (version + 1, Name::Record, None),
            (rewritten, Name::Data, Some(data))
        ])),
        "each once, in the order of its last change"
    );
    assert_eq!(folder.answer(&Ask::AwaitAny(rewritten)), None);
    folder.remove(Name::Record);
    assert_eq!(folder.answer(&Ask::AwaitAny(rewritten)), None, "nothing was there");
}
