//! Messages and the descriptors that come with them survive the socket.

use super::*;

#[test]
fn requests_survive_the_wire() {
    let at = Boottime::from_boot(Duration::from_millis(7));
    for request in [
        Request::Start { token: Token::new(u64::MAX), marks: u8::MAX },
        Request::Order(Order::Renewed(Deadlines {
            soft: at,
            hard: at + at.since_boot(),
            dead_man: at,
            last: at + at.since_boot(),
        })),
        Request::Order(Order::Stop { kill_at: at }),
        Request::Order(Order::Signal { signal: 15, resume: true, kill_at: Some(at) }),
        Request::Order(Order::pass_on(28)),
        Request::Order(Order::Kill),
        Request::Part(u16::MAX),
        Request::Ticket(b"7587869"),
        Request::Ticket(&[]),
        Request::Ticket(&[b'x'; Ticket::MAX_LEN]),
    ] {
        assert_eq!(Request::decode(&request.encode()), Some(request));
    }
    let nonsense = |byte, length| Message { bytes: [byte; MAX], length };
    assert_eq!(Request::decode(&nonsense(9, SIZE)), None);
    assert_eq!(Request::decode(&nonsense(1, 3)), None);
    assert_eq!(Request::decode(&Message::EMPTY), None);
}

#[test]
fn reports_survive_the_wire() {
    for report in [
        Report::Started { group: 4_194_304 },
        Report::NotStarted(2),
        Report::SoftPassed,
        Report::Stopped(20),
        Report::Ended(Ended::Exited(255)),
        Report::Ended(Ended::Signaled(64)),
        Report::Empty,
        Report::MayNotSignal(7),
    ] {
        assert_eq!(Report::decode(&report.encode()), Some(report));
    }
}

#[test]
fn messages_carry_descriptors_and_the_end_is_seen() {
    let (ours, theirs) = pair().expect("a socket");
    let (mut message, mut holds) = (Message::EMPTY, [const { None }; MOST_HOLDS]);
    assert!(matches!(receive(&theirs, &mut message, &mut holds), Received::Nothing));
    send(&ours, &Report::Empty.encode(), &[0, 1]).expect("sent");
    assert!(matches!(
        receive(&theirs, &mut message, &mut holds),
        Received::Message { complete: true }
    ));
    assert_eq!(Report::decode(&message), Some(Report::Empty));
    assert_eq!(holds.iter().flatten().count(), 2);
    drop(ours);
    assert!(matches!(receive(&theirs, &mut message, &mut holds), Received::End));
    assert!(send(&theirs, &message, &[]).is_err());
}
