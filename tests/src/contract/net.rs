//! Connections: bytes arrive whole, in order, and ends are seen.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use highwater_runtime::task::oneshot;
use highwater_runtime::{Listener, Net, NetError, Reader, Runtime, Writer};

use super::{Draws, World};

const LIMIT: Duration = Duration::from_secs(5);

/// Sends random parts both ways over some connections at once.
///
/// # Panics
/// When the network breaks its contract.
pub fn random_streams<W: World>(seed: u64) {
    let world = W::start(seed);
    let runtime = world.runtime().clone();
    world.run(async move {
        let mut draws = Draws::new(seed);
        let mut listener = runtime
            .net()
            .listen("127.0.0.1:0")
            .await
            .expect("a free port");
        let addr = listener.local_addr().to_string();
        let mut answers = Vec::new();
        for _ in 0..4 {
            let parts: Vec<Vec<u8>> = (0..1 + draws.below(80))
                .map(|_| {
                    let len_end = draws.of(&[1, 100, 20_000]);
                    draws.some_bytes(len_end)
                })
                .collect();
            let (answer, answered) = oneshot::channel();
            let (other, addr) = (runtime.clone(), addr.clone());
            runtime.spawn("client", async move {
                let (reader, mut writer) = other
                    .net()
                    .connect(&addr, LIMIT)
                    .await
                    .expect("somebody listens");
                let expected = parts.concat();
                let (all, received) = oneshot::channel();
                // The peer echoes while we still send: read beside writing, or both wait.
                other.spawn("reader", async move {
                    let _ = all.send(read_to_end(reader).await);
                });
                for some in parts.chunks(7) {
                    let mut some: Vec<Bytes> = some.iter().cloned().map(Bytes::from).collect();
                    writer.write_all(&mut some).await.expect("the peer reads");
                    assert!(some.is_empty(), "the parts are taken out");
                }
                writer.shutdown().await.expect("the connection lives");
                let received = received.await.expect("the reader ends");
                let _ = answer.send(received == expected);
            });
            answers.push(answered);
        }
        for _ in 0..answers.len() {
            let (reader, writer, _) = listener.accept().await.expect("the port is bound");
            runtime.spawn("echo", echo(reader, writer));
        }
        for (index, answer) in answers.into_iter().enumerate() {
            assert!(
                answer.await.expect("the client ends"),
                "seed {seed}, connection {index}"
            );
        }
    });
}

async fn echo<R: Reader, W: Writer>(mut reader: R, mut writer: W) {
    loop {
        reader.readable().await.expect("the connection lives");
        let mut into = BytesMut::with_capacity(4096);
        if reader.read(&mut into).await.expect("the connection lives") == 0 {
            writer.shutdown().await.expect("the connection lives");
            return;
        }
        assert!(
            into.len() <= 4096,
            "a read takes no more than there is room"
        );
        writer
            .write_all(&mut vec![into.freeze()])
            .await
            .expect("the peer reads");
    }
}

async fn read_to_end<R: Reader>(mut reader: R) -> Vec<u8> {
    let mut into = BytesMut::new();
    loop {
        into.reserve(1000);
        if reader.read(&mut into).await.expect("the connection lives") == 0 {
            return into.to_vec();
        }
    }
}

/// Ports and connections that are refused, taken, or gone.
///
/// # Panics
/// When the network breaks its contract.
pub fn refusals<W: World>(seed: u64) {
    let world = W::start(seed);
    let net = world.runtime().net().clone();
    world.run(async move {
        let mut listener = net.listen("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().to_string();
        let again = net.listen(&addr).await.map(drop);
        assert_eq!(again, Err(NetError::InUse), "a second listen on {addr}");

        let (mut reader, mut writer) = net.connect(&addr, LIMIT).await.expect("somebody listens");
        drop(listener.accept().await.expect("the port is bound"));
        let mut into = BytesMut::with_capacity(16);
        let end = reader.read(&mut into).await;
        assert!(
            matches!(end, Ok(0) | Err(NetError::Closed)),
            "a closed peer, {end:?}"
        );
        // The first write may go into the void; a broken connection shows itself soon.
        let mut broken = Ok(());
        for _ in 0..100 {
            broken = writer
                .write_all(&mut vec![Bytes::from(vec![0; 100_000])])
                .await;
            if broken.is_err() {
                break;
            }
        }
        assert_eq!(broken, Err(NetError::Closed), "writes to a closed peer");

        drop(listener);
        let refused = net.connect(&addr, LIMIT).await.map(drop);
        assert_eq!(
            refused,
            Err(NetError::Refused),
            "connect where nobody listens"
        );
        let bound = net
            .listen(&addr)
            .await
            .map(|listener| listener.local_addr().to_string());
        assert_eq!(bound, Ok(addr), "a port that was given back");
    });
}

/// A peer that does not read stops its writer, and nothing is lost meanwhile.
///
/// # Panics
/// When the network breaks its contract.
pub fn slow_reader<W: World>(seed: u64) {
    let world = W::start(seed);
    let runtime = world.runtime().clone();
    world.run(async move {
        let mut listener = runtime
            .net()
            .listen("127.0.0.1:0")
            .await
            .expect("a free port");
        let addr = listener.local_addr().to_string();
        let sent = Draws::new(seed).bytes(24 << 20);
        let (tell, mut told) = oneshot::channel();
        let (other, part) = (runtime.clone(), Bytes::from(sent.clone()));
        runtime.spawn("writer", async move {
            let (_reader, mut writer) = other
                .net()
                .connect(&addr, LIMIT)
                .await
                .expect("somebody listens");
            writer
                .write_all(&mut vec![part])
                .await
                .expect("the peer reads in the end");
            writer.shutdown().await.expect("the connection lives");
            let _ = tell.send(());
        });
        let (reader, _writer, _) = listener.accept().await.expect("the port is bound");
        runtime.sleep(Duration::from_millis(50)).await;
        let waits = matches!(told.try_recv(), Ok(None));
        assert!(waits, "24 MiB went into a connection that nobody reads");
        assert!(
            read_to_end(reader).await == sent,
            "seed {seed}: bytes changed on the way"
        );
        told.await.expect("the writer ends");
    });
}
