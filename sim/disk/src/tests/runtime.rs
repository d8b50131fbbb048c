//! The test runtime: clock, tasks, network.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use highwater_runtime::task::within;
use highwater_runtime::{Disk, Listener, Net, NetError, Reader, Runtime, Writer};

use crate::TestRuntime;

#[test]
fn the_clock_jumps_to_the_next_timer_and_tasks_wake_in_order() {
    let runtime = TestRuntime::new(1);
    let seen = Rc::new(RefCell::new(Vec::new()));
    for ms in [30_u64, 10, 20] {
        let (sleeper, seen) = (runtime.sleep(Duration::from_millis(ms)), seen.clone());
        runtime.spawn("sleeper", async move {
            sleeper.await;
            seen.borrow_mut().push(ms);
        });
    }
    runtime.advance(Duration::from_millis(40));
    assert_eq!(*seen.borrow(), [10, 20, 30]);
    assert_eq!(runtime.mono(), Duration::from_millis(40));
}

#[test]
fn draws_of_one_stream_do_not_move_another() {
    let (one, two) = (TestRuntime::new(9), TestRuntime::new(9));
    one.draw("a");
    assert_eq!(one.draw("b"), two.draw("b"));
    assert_ne!(one.draw("b"), TestRuntime::new(10).draw("b"));
}

#[test]
fn a_killed_process_loses_its_tasks_and_keeps_its_files() {
    let runtime = TestRuntime::new(1);
    let seen = Rc::new(RefCell::new(0));
    let (inner, count) = (runtime.clone(), seen.clone());
    runtime.spawn("ticker", async move {
        loop {
            inner.sleep(Duration::from_millis(1)).await;
            *count.borrow_mut() += 1;
        }
    });
    runtime.advance(Duration::from_millis(5));
    drop(runtime.disk().create("a").expect("create"));
    let next = runtime.kill();
    let before = *seen.borrow();
    next.advance(Duration::from_millis(5));
    assert_eq!(*seen.borrow(), before);
    assert!(next.disk().open("a").is_ok());
    assert_ne!(next.incarnation(), runtime.incarnation());
    assert_eq!(next.mono(), Duration::from_millis(5));
}

/// Both ends of one connection.
async fn pair(
    runtime: &TestRuntime,
) -> (
    (crate::SimReader, crate::SimWriter),
    (crate::SimReader, crate::SimWriter),
) {
    let mut listener = runtime.net().listen("127.0.0.1:0").await.expect("listen");
    let addr = listener.local_addr().to_string();
    let near = runtime
        .net()
        .connect(&addr, Duration::from_secs(1))
        .await
        .expect("connect");
    let (reader, writer, _) = listener.accept().await.expect("accept");
    (near, (reader, writer))
}

#[test]
fn a_writer_waits_while_nobody_reads_and_the_reader_sees_every_byte_then_the_end() {
    let runtime = TestRuntime::new(4);
    runtime.net().set_faults(|faults| {
        faults.delay_us_min = 100;
        faults.delay_us_max = 900;
        faults.short_read_permille = 300;
    });
    runtime.block_on(async {
        let ((_, mut writer), (mut reader, _far)) = pair(&runtime).await;
        let sent: Vec<u8> = (0..300_000_u32).map(|at| (at / 7) as u8).collect();
        let mut parts = vec![sent.clone().into()];
        let blocked = within(
            &runtime,
            Duration::from_secs(5),
            writer.write_all(&mut parts),
        )
        .await;
        assert!(blocked.is_none(), "300 KB were accepted without a reader");
        let mut got = BytesMut::with_capacity(1 << 20);
        let first = runtime.sleep(Duration::ZERO);
        first.await;
        let late = runtime.clone();
        drop(writer);
        while reader.read(&mut got).await.expect("read") > 0 {}
        assert!(got.len() <= 64 * 1024 && got[..] == sent[..got.len()]);
        assert!(late.mono() >= Duration::from_secs(5));
    });
}

#[test]
fn a_kill_resets_connections_and_frees_the_port() {
    let runtime = TestRuntime::new(4);
    runtime.block_on(async {
        let ((mut reader, mut writer), _far) = pair(&runtime).await;
        runtime.net().kill();
        let mut into = BytesMut::with_capacity(8);
        assert_eq!(reader.read(&mut into).await, Err(NetError::Closed));
        assert_eq!(
            writer.write_all(&mut vec!["x".into()]).await,
            Err(NetError::Closed)
        );
        let refused = runtime
            .net()
            .connect("127.0.0.1:5", Duration::from_secs(1))
            .await;
        assert_eq!(refused.err(), Some(NetError::Refused));
    });
}

#[test]
fn a_dark_machine_is_silent_until_it_is_back() {
    let runtime = TestRuntime::new(4);
    let client = runtime.net().machine(2);
    runtime.block_on(async {
        let mut listener = runtime.net().listen("0.0.0.0:9092").await.expect("listen");
        let limit = Duration::from_secs(1);
        let (mut reader, _writer) = client
            .connect("10.0.0.1:9092", limit)
            .await
            .expect("connect");
        let accepted = listener.accept().await.expect("accept");
        runtime.net().power_off();
        drop((accepted, listener));
        let mut into = BytesMut::with_capacity(8);
        let silence = within(&runtime, Duration::from_secs(60), reader.read(&mut into)).await;
        assert!(
            silence.is_none(),
            "{silence:?} came through from a dark machine"
        );
        let started = runtime.mono();
        let refused = client.connect("10.0.0.1:9092", limit).await;
        assert_eq!(refused.err(), Some(NetError::TimedOut));
        assert_eq!(runtime.mono() - started, limit);
        runtime.net().power_on();
        assert_eq!(reader.read(&mut into).await, Err(NetError::Closed));
    });
}

#[test]
fn a_second_listener_on_a_port_is_refused_until_the_first_is_gone() {
    let runtime = TestRuntime::new(4);
    runtime.block_on(async {
        let first = runtime
            .net()
            .listen("127.0.0.1:9092")
            .await
            .expect("listen");
        assert_eq!(
            runtime.net().listen("127.0.0.1:9092").await.err(),
            Some(NetError::InUse)
        );
        drop(first);
        assert!(runtime.net().listen("127.0.0.1:9092").await.is_ok());
    });
}

#[test]
fn shutdown_ends_one_direction_only() {
    let runtime = TestRuntime::new(4);
    runtime.block_on(async {
        let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = pair(&runtime).await;
        near_out.shutdown().await.expect("shutdown");
        let mut into = BytesMut::with_capacity(8);
        assert_eq!(far_in.read(&mut into).await, Ok(0));
        far_out
            .write_all(&mut vec!["late".into()])
            .await
            .expect("still open");
        assert_eq!(near_in.read(&mut into).await, Ok(4));
    });
}
