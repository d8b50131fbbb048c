//! What a client sees of one broker, and what is left after its machine lost power.

mod support;

use std::time::Duration;

use bytes::Bytes;
use highwater_runtime::Runtime;
use highwater_sim_disk::{Tear, TestRuntime};
use support::{Client, batch_of, start, values};

const SYNC: Duration = Duration::from_millis(5);

#[test]
fn what_is_acknowledged_is_read_back_in_order() {
    let world = TestRuntime::with_sync_time(1, SYNC);
    world.block_on(async {
        let (_broker, report, address) = start(&world).await;
        assert!(report.is_new);
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let first = client.produce("t", &batch_of(&["a", "b"])).await;
        let second = client.produce("t", &batch_of(&["c"])).await;
        assert_eq!((first.error_code, first.base_offset), (0, 0));
        assert_eq!((second.error_code, second.base_offset), (0, 2));
        let read = client.read("t", 0).await;
        assert_eq!(read, [(0, "a".into()), (1, "b".into()), (2, "c".into())]);
    });
}

#[test]
fn what_is_acknowledged_survives_a_power_loss() {
    let world = TestRuntime::with_sync_time(2, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        assert_eq!(
            client.produce("t", &batch_of(&["a", "b"])).await.error_code,
            0
        );
        client
            .send_batch("t", &batch_of(&["never acknowledged"]), -1)
            .await;
    });
    let world = world.power_loss(Tear {
        unit: 7,
        keep_percent: 0,
    });
    world.block_on(async {
        let (_broker, report, address) = start(&world).await;
        assert!(!report.was_clean);
        let mut client = Client::connect(&world, &address).await;
        let read = client.read("t", 0).await;
        assert_eq!(read[..2], [(0, "a".to_owned()), (1, "b".to_owned())]);
    });
}

#[test]
fn batches_in_flight_on_one_connection_share_a_sync() {
    let world = TestRuntime::with_sync_time(3, Duration::from_millis(100));
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let before = world.mono();
        for value in ["a", "b", "c", "d", "e"] {
            client.send_batch("t", &batch_of(&[value]), -1).await;
        }
        for offset in 0..5 {
            let answer = client.produced().await;
            assert_eq!((answer.error_code, answer.base_offset), (0, offset));
        }
        let took = world.mono() - before;
        assert!(
            took < Duration::from_millis(250),
            "five batches took {took:?}"
        );
    });
}

#[test]
fn a_parked_fetch_wakes_when_a_batch_is_durable() {
    let world = TestRuntime::with_sync_time(4, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut reader = Client::connect(&world, &address).await;
        reader.make("t").await;
        let before = world.mono();
        reader.send_fetch("t", 0, 10_000).await;
        let mut writer = Client::connect(&world, &address).await;
        world.sleep(Duration::from_millis(300)).await;
        assert_eq!(writer.produce("t", &batch_of(&["a"])).await.error_code, 0);
        let data = reader.fetched().await;
        assert_eq!(values(&data), [(0, "a".into())]);
        let took = world.mono() - before;
        assert!(
            took < Duration::from_millis(400),
            "the fetch was woken after {took:?}"
        );
    });
}

#[test]
fn a_fetch_with_nothing_to_read_answers_when_its_wait_is_over() {
    let world = TestRuntime::new(5);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let before = world.mono();
        client.send_fetch("t", 0, 500).await;
        assert!(values(&client.fetched().await).is_empty());
        let took = world.mono() - before;
        assert!(
            took >= Duration::from_millis(500),
            "it answered after {took:?}"
        );
    });
}

#[test]
fn a_failed_sync_refuses_the_batch_and_the_partition_comes_back() {
    let world = TestRuntime::with_sync_time(6, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        assert_eq!(client.produce("t", &batch_of(&["a"])).await.error_code, 0);
        world.disk().fail_syncs(1);
        assert_eq!(client.produce("t", &batch_of(&["b"])).await.error_code, 56);
        world.sleep(Duration::from_secs(2)).await;
        assert_eq!(client.produce("t", &batch_of(&["c"])).await.error_code, 0);
        let read: Vec<String> = client
            .read("t", 0)
            .await
            .into_iter()
            .map(|(_, v)| v)
            .collect();
        assert_eq!(read.first().map(String::as_str), Some("a"));
        assert_eq!(read.last().map(String::as_str), Some("c"));
    });
    assert_eq!(world.marked("partition.recovered"), 1);
}

#[test]
fn a_clean_stop_leaves_nothing_to_scan() {
    let world = TestRuntime::with_sync_time(7, SYNC);
    world.block_on(async {
        let (broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        assert_eq!(client.produce("t", &batch_of(&["a"])).await.error_code, 0);
        broker.stop().await.expect("the disk is well");
    });
    let world = world.kill();
    world.block_on(async {
        let (_broker, report, address) = start(&world).await;
        assert!(report.was_clean);
        assert_eq!(report.scanned_bytes, 0);
        let mut client = Client::connect(&world, &address).await;
        assert_eq!(client.read("t", 0).await, [(0, "a".into())]);
    });
}

#[test]
fn a_metadata_request_that_claims_a_huge_array_closes_its_connection() {
    let world = TestRuntime::new(8);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        let header = [0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff];
        let mut frame = vec![0, 0, 0, 14];
        frame.extend_from_slice(&header);
        frame.extend_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
        client.write(Bytes::from(frame)).await;
        assert_eq!(client.frame().await, None);
    });
}
