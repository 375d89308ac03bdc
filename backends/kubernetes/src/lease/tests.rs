use super::*;

const TTL: u64 = 14_500;

fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + second)
}

fn holder(id: &str, nonce: u64, beat: u64) -> Holder {
    let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
    Holder { nonce, beat, ttl: TTL, candidate, joined: 1, since: 2, arrival: 3, renewed: None }
}

/// Returns the Lease that the API server has after a record was written in place of another.
fn write(before: Option<&Value>, record: &Record, second: u64) -> Value {
    let document = Document::Record(record.clone());
    let mut lease = written(before, "jobs", "jobs", &document, at(second)).expect("a short record");
    lease["metadata"]["resourceVersion"] = (100 + second).to_string().into();
    lease["metadata"]["uid"] = "u".into();
    lease
}

fn read(lease: &Value) -> Record {
    record(lease).expect("a record")
}

/// The spec, with its times in seconds.
fn shown(lease: &Value) -> (String, u64, u64, u64, u64) {
    let seconds = |field| {
        let time = time(spec(lease, field)).expect("a time");
        time.duration_since(at(0)).map_or(0, |since| since.as_secs())
    };
    let HolderState { holder, transitions } = HolderState::of(lease);
    let ttl = spec(lease, "leaseDurationSeconds").as_u64().unwrap_or_default();
    (holder, ttl, seconds("acquireTime"), seconds("renewTime"), transitions)
}

/// Takes a Lease as client-go does: it writes back the Lease that it found, with another spec.
fn taken(lease: &Value, holder: &str, second: u64) -> Value {
    let mut lease = lease.clone();
    let transitions = HolderState::of(&lease).transitions + 1;
    let now = humantime::format_rfc3339_micros(at(second)).to_string();
    lease["spec"] = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "acquireTime": now,
        "renewTime": now, "leaseTransitions": transitions});
    lease["metadata"]["resourceVersion"] = (100 + second).to_string().into();
    lease
}

#[test]
fn the_spec_is_as_client_go_has_it() {
    let vacant = write(None, &Record::default(), 0);
    assert_eq!(shown(&vacant), (String::new(), 1, 0, 0, 0));
    assert_eq!(vacant["spec"]["renewTime"], "2027-01-15T08:00:00.000000Z");
    let mut record = Record { holder: Some(holder("a", 5, 1)), ..Record::default() };
    let led = write(Some(&vacant), &record, 10);
    assert_eq!(shown(&led), ("a".into(), 15, 10, 10, 0));
    record.entered = true;
    record.holder = Some(holder("a", 5, 2));
    let renewed = write(Some(&led), &record, 12);
    assert_eq!(shown(&renewed), ("a".into(), 15, 10, 12, 0));
    // A write of the control cell is no renewal; client-go would take them for one.
    let control = serde_json::from_str(r#"{"version":3,"bytes":"{}"}"#).expect("a text");
    record.control = Some(control);
    let asked = write(Some(&renewed), &record, 14);
    assert_eq!(asked["spec"], renewed["spec"]);
    record.holder = None;
    let left = write(Some(&asked), &record, 16);
    assert_eq!(shown(&left), (String::new(), 1, 16, 16, 0));
    record.holder = Some(holder("a", 6, 1));
    let again = write(Some(&left), &record, 18);
    assert_eq!(shown(&again), ("a".into(), 15, 18, 18, 1));
    record.holder = Some(Holder { renewed: Some(1_800_000_018_000), ..holder("a", 6, 1) });
    assert_eq!(read(&again), record, "with the time of its renewal, which is the spec's");
    assert_eq!(again["metadata"]["labels"][ELECTION], "jobs");
}

/// Releases share an election, so the annotations must keep their bytes.
#[test]
fn annotations_keep_their_bytes() {
    let record =
        Record { token: 9, holder: Some(holder("a", 5, 1)), entered: true, ..Record::default() };
    let lease = write(None, &record, 0);
    let kept = concat!(
        r#"{"record":{"token":9,"holder":{"nonce":5,"beat":1,"ttl":14500,"candidate":{"id":"a","host":"h","#,
        r#""pid":0,"command":"","containment":""},"joined":1,"since":2,"arrival":3},"entered":true,"#,
        r#""has_data":false,"has_epochs":false,"overwrites":0},"spec":{"holder":"a","transitions":0}}"#,
    );
    assert_eq!(lease["metadata"]["annotations"][RECORD], kept);
}

#[test]
fn no_two_renewals_are_in_one_second() {
    let mut record = Record { holder: Some(holder("a", 5, 1)), ..Record::default() };
    let mut lease = write(None, &record, 7);
    for beat in 2..5 {
        record.holder = Some(holder("a", 5, beat));
        // The clock stands still, or was set back.
        lease = write(Some(&lease), &record, 7 - beat);
        assert_eq!(shown(&lease).3, 6 + beat);
    }
}

/// Numbers written by hand must not stop a holder, nor make a token that later ones fall below.
#[test]
fn numbers_and_times_written_by_hand_do_no_harm() {
    let mut record = Record { holder: Some(holder("a", 5, 1)), ..Record::default() };
    let mut lease = write(None, &record, 7);
    lease["spec"]["renewTime"] = "9999-12-31T23:59:59.000000Z".into();
    record.holder = Some(holder("a", 5, 2));
    assert_eq!(shown(&write(Some(&lease), &record, 9)).3, 9);
    let mut theirs = taken(&lease, "go", 20);
    theirs["spec"]["leaseTransitions"] = MOST_TRANSITIONS.into();
    let found = read(&theirs);
    assert_eq!(found.token, 120, "no more than its version");
    let ours = Record { holder: Some(holder("a", 6, 1)), ..found };
    assert_eq!(shown(&write(Some(&theirs), &ours, 21)).4, MOST_TRANSITIONS);
    for odd in [json!("x"), json!([]), json!(7)] {
        let mut lease = lease.clone();
        lease["metadata"]["labels"] = odd.clone();
        lease["spec"] = odd;
        assert_eq!(write(Some(&lease), &record, 30)["spec"]["holderIdentity"], "a");
    }
}

#[test]
fn another_program_may_hold_it() {
    let record =
        Record { token: 9, holder: Some(holder("a", 5, 1)), entered: true, ..Record::default() };
    let ours = write(None, &record, 0);
    let theirs = taken(&ours, "go", 20);
    let found = read(&theirs);
    let them = found.holder.as_ref().expect("a holder");
    assert_eq!((them.nonce, them.ttl, them.candidate.id.as_str()), (0, 15_000, "go"));
    assert_eq!((found.token, found.last, them.candidate.is_foreign()), (10, Some(5), true));
    // Read twice, it is the same leadership. A renewal has another beat. A write of elect changes neither.
    let mut renewed = theirs.clone();
    renewed["spec"]["renewTime"] = "2027-01-15T08:00:22.000000Z".into();
    let later = read(&renewed);
    let them_later = later.holder.as_ref().expect("a holder");
    assert_eq!(later.token, 10);
    assert_ne!(them_later.beat, them.beat);
    let asked = write(Some(&renewed), &Record { has_data: true, ..later.clone() }, 30);
    assert_eq!(asked["spec"], renewed["spec"]);
    assert_eq!(read(&asked), Record { has_data: true, ..later.clone() });
    // The other program gives the Lease up, and elect takes it.
    let mut released = taken(&asked, "", 40);
    released["spec"]["leaseTransitions"] = renewed["spec"]["leaseTransitions"].clone();
    let vacant = read(&released);
    assert_eq!((vacant.holder.clone(), vacant.token, vacant.last), (None, 10, Some(5)));
    let back = Record { token: 141, holder: Some(holder("a", 6, 1)), ..vacant };
    let back = write(Some(&released), &back, 50);
    assert_eq!(shown(&back).4, 2);
    assert_eq!(read(&back).holder.map(|holder| holder.nonce), Some(6));
}

#[test]
fn a_lease_that_only_other_programs_know_is_read_and_shared() {
    let fresh = json!({"metadata": {"name": "jobs", "resourceVersion": "7"}, "spec": {}});
    assert_eq!(read(&fresh), Record::default());
    let theirs = taken(&fresh, "go", 1);
    let found = read(&theirs);
    assert_eq!((found.token, found.entered), (1, true));
    let mut untold = theirs.clone();
    untold["spec"]["leaseDurationSeconds"] = Value::Null;
    assert_eq!(read(&untold).holder.map(|holder| holder.ttl()), Some(UNTOLD));
    let evicted = write(Some(&theirs), &Record { holder: None, ..found }, 3);
    assert_eq!(shown(&evicted), (String::new(), 1, 3, 3, 1));
}

#[test]
fn a_lease_that_is_damaged_or_that_kubernetes_decides_is_refused() {
    let lease = write(None, &Record::default(), 0);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut lease = lease.clone();
        change(&mut lease);
        document(Name::Record, &lease).map_err(|error| error.to_string()).expect_err("refused")
    };
    let said = refused(&|lease| lease["spec"]["strategy"] = "OldestEmulationVersion".into());
    assert!(said.contains("coordinated leader election"), "{said}");
    let said = refused(&|lease| lease["metadata"]["annotations"][RECORD] = "{".into());
    assert!(
        said.contains("elect/record of the Lease jobs in the namespace default is damaged"),
        "{said}"
    );
    let said = refused(&|lease| lease["metadata"]["resourceVersion"] = "x7".into());
    assert!(said.contains("no number, \"x7\""), "{said}");
    assert!(waiter(&lease).is_none());
    // Missing data is no error here: the document itself says that it is damaged.
    let data = document(Name::Data, &lease).map(|stored| stored.document);
    let Ok(Document::Data(Data { damage: Some(said), .. })) = data else { panic!("{data:?}") };
    assert!(
        said.contains("elect/data of the Lease jobs") && said.ends_with("it is missing"),
        "{said}"
    );
    let text = format!(r#"{{"version":3,"bytes":"{}"}}"#, "x".repeat(LONGEST));
    let long = Record { once: serde_json::from_str(&text).ok(), ..Record::default() };
    let error = written(Some(&lease), "jobs", "jobs", &Document::Record(long), at(1));
    assert!(error.expect_err("too long").to_string().contains("Kubernetes takes 262144"));
}
