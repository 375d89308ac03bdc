//! Messages and the descriptors that come with them survive the socket.

use super::*;

#[test]
fn requests_survive_the_wire() {
    let at = Boottime::from_boot(Duration::from_millis(7));
    for request in [
        ToGuardian::Start { token: Token::new(u64::MAX), locks: u8::MAX },
        ToGuardian::Order(Order::Renewed(Deadlines {
            soft: at,
            hard: at + at.since_boot(),
            dead_man: at,
            last: at + at.since_boot(),
        })),
        ToGuardian::Order(Order::Stop { kill_at: at }),
        ToGuardian::Order(Order::Ask { signal: 15, kill_at: Some(at) }),
        ToGuardian::Order(Order::Ask { signal: 15, kill_at: None }),
        ToGuardian::Order(Order::Signal { signal: 15, resume: true }),
        ToGuardian::Order(Order::pass_on(28)),
        ToGuardian::Order(Order::Kill),
        ToGuardian::Part(u16::MAX),
        ToGuardian::Ticket(b"7587869"),
        ToGuardian::Ticket(&[]),
        ToGuardian::Ticket(&[b'x'; Ticket::MAX_LEN]),
    ] {
        assert_eq!(ToGuardian::decode(&request.encode()), Some(request));
    }
    let nonsense = |byte, length| Message { bytes: [byte; MAX], length };
    assert_eq!(ToGuardian::decode(&nonsense(9, SIZE)), None);
    assert_eq!(ToGuardian::decode(&nonsense(1, 3)), None);
    assert_eq!(ToGuardian::decode(&Message::EMPTY), None);
}

#[test]
fn reports_survive_the_wire() {
    for report in [
        FromGuardian::Started { group: 4_194_304 },
        FromGuardian::NotStarted(2),
        FromGuardian::SoftPassed,
        FromGuardian::Stopped(20),
        FromGuardian::Ended(Ended::Exited(255)),
        FromGuardian::Ended(Ended::Signaled(64)),
        FromGuardian::Empty,
        FromGuardian::MayNotSignal(7),
    ] {
        assert_eq!(FromGuardian::decode(&report.encode()), Some(report));
    }
}

#[test]
fn messages_carry_descriptors_and_the_end_is_seen() {
    let (ours, theirs) = pair().expect("a socket");
    let (mut message, mut holds) = (Message::EMPTY, [const { None }; MOST_HOLDS]);
    assert!(matches!(receive(&theirs, &mut message, &mut holds), Received::Nothing));
    send(&ours, &FromGuardian::Empty.encode(), &[0, 1]).expect("sent");
    assert!(matches!(
        receive(&theirs, &mut message, &mut holds),
        Received::Message { complete: true }
    ));
    assert_eq!(FromGuardian::decode(&message), Some(FromGuardian::Empty));
    assert_eq!(holds.iter().flatten().count(), 2);
    drop(ours);
    assert!(matches!(receive(&theirs, &mut message, &mut holds), Received::End));
    assert!(send(&theirs, &message, &[]).is_err());
}

/// The kernel releases the descriptors of a dead guardian by their numbers.
#[test]
fn numbers_rise_in_the_order_of_the_message_even_if_all_low_ones_are_taken() {
    let (ours, theirs) = pair().expect("a socket");
    let _low: Vec<OwnedFd> = (0..120).map(|_| ours.try_clone().expect("a copy")).collect();
    let (mut message, mut holds) = (Message::EMPTY, [const { None }; MOST_HOLDS]);
    send(&ours, &FromGuardian::Empty.encode(), &[0, 1, 2]).expect("sent");
    receive(&theirs, &mut message, &mut holds);
    let numbers: Vec<RawFd> = holds.iter().flatten().map(AsRawFd::as_raw_fd).collect();
    assert!(numbers.len() == 3 && numbers.is_sorted(), "{numbers:?}");
}
