//! (h) From the start of a program to its first request to the store: on the local disk to its first look into
//! the store's folder.

use std::fs;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use elect_testkit::oracle::now;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::Signal;

use crate::contender::{Contender, Store, spawn};
use crate::order::Order;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;
use crate::wait::until_readable;

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in order.stores() {
        let contenders = [Contender::Elect(store), Contender::Peer(store)];
        let mut samples = [Sample::default(), Sample::default()];
        for run in 0..=order.runs {
            for (contender, sample) in contenders.into_iter().zip(&mut samples) {
                let time = match store {
                    Store::File => first_look(stage, contender),
                    _ => first_request(store, contender),
                };
                // The first run finds cold caches, and does not count.
                if run > 0 {
                    sample.push_time(time);
                }
            }
        }
        let [elect, other] = samples;
        let figure = report.figure("cold", store.name(), Unit::Milliseconds);
        figure.of("elect", elect).of(contenders[1].name(), other).ratio(contenders[1].name());
    }
}

fn first_look(stage: &Stage, contender: Contender) -> Duration {
    let folder = stage.path(&stage.fresh("cold"));
    fs::create_dir(&folder).expect("a folder");
    let watch = Inotify::init(InitFlags::IN_CLOEXEC).expect("inotify");
    let looks = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_CREATE;
    watch.add_watch(&folder, looks).expect("inotify");
    let command = contender.command_at(&folder.display().to_string(), "cold", &["true".into()]);
    let from = now();
    let mut child = spawn(command);
    until_readable(&watch);
    let time = now().since(from);
    assert!(child.wait().expect("a child").success(), "{contender:?}");
    time
}

/// Of a server that takes requests, and never answers.
fn first_request(store: Store, contender: Contender) -> Duration {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let place = listener.local_addr().expect("a port").to_string();
    let mut command = contender.command_at(&place, "cold", &["true".into()]);
    // A contender that is ended while it waits for an answer may complain.
    command.stderr(Stdio::null());
    let from = now();
    let mut child = spawn(command);
    until_readable(&listener);
    let (mut stream, _) = listener.accept().expect("a client");
    // The server of MariaDB speaks first, so its clients only connect.
    let speaks = store != Store::MariaDb;
    let length = if speaks { stream.read(&mut [0; 1]).expect("a request") } else { 0 };
    let time = now().since(from);
    assert_eq!(length == 1, speaks, "{contender:?} asks nothing");
    drop((listener, stream));
    process::signal(&child, Signal::SIGTERM);
    child.wait().expect("a child");
    time
}
