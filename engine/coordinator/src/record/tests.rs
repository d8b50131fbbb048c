//! Golden bytes of group records, and what cuts of them become.

use super::*;

fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn group_value() -> GroupValue {
    GroupValue {
        since_ms: 0x0102,
        generation: 3,
        protocol_type: Some(text("consumer")),
        protocol_name: None,
        leader: Some(text("m")),
        members: vec![MemberValue {
            id: text("m"),
            instance_id: None,
            client_id: text("c"),
            client_host: text("/h"),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 60_000,
            protocols: vec![Protocol {
                name: text("range"),
                metadata: Bytes::from_static(&[9]),
            }],
            assignment: Bytes::from_static(&[7, 8]),
        }],
    }
}

fn committed() -> Committed {
    Committed {
        offset: 258,
        leader_epoch: -1,
        topic_id: TopicId([0xaa; 16]),
        committed_ms: 5,
        expires_ms: None,
        metadata: text("x"),
    }
}

#[test]
fn keys_have_these_bytes() {
    let group = Key::Group(text("g"));
    assert_eq!(&group.encode()[..], b"\x01\x01\x00\x01g");
    let offset = Key::Offset {
        group: text("g"),
        topic: text("tt"),
        partition: 7,
    };
    assert_eq!(
        &offset.encode()[..],
        b"\x01\x02\x00\x01g\x00\x02tt\x00\x00\x00\x07"
    );
    for key in [group, offset] {
        assert_eq!(Key::decode(&key.encode()), Ok(key));
    }
}

#[test]
fn a_group_has_these_bytes() {
    let record = group_value().record(&text("g"));
    let value = record.value.unwrap();
    let expected: &[u8] = b"\x01\
        \x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x03\
        \x00\x08consumer\xff\xff\x00\x01m\x00\x00\x00\x01\
        \x00\x01m\xff\xff\x00\x01c\x00\x02/h\x00\x00\x27\x10\x00\x00\xea\x60\
        \x00\x01\x00\x05range\x00\x00\x00\x01\x09\x00\x00\x00\x02\x07\x08";
    assert_eq!(&value[..], expected);
    assert_eq!(GroupValue::decode(&value), Ok(group_value()));
}

#[test]
fn a_committed_offset_has_these_bytes() {
    let record = committed().record(&text("g"), &text("t"), 0);
    let value = record.value.unwrap();
    let mut expected = b"\x01\x00\x00\x00\x00\x00\x00\x01\x02\xff\xff\xff\xff".to_vec();
    expected.extend_from_slice(&[0xaa; 16]);
    expected.extend_from_slice(b"\x00\x00\x00\x00\x00\x00\x00\x05");
    expected.extend_from_slice(b"\xff\xff\xff\xff\xff\xff\xff\xff\x00\x01x");
    assert_eq!(&value[..], &expected[..]);
    assert_eq!(Committed::decode(&value), Ok(committed()));
}

#[test]
fn every_cut_and_every_longer_value_is_damaged() {
    let group = group_value().record(&text("g"));
    let offset = committed().record(&text("g"), &text("t"), 0);
    for (record, is_group) in [(group, true), (offset, false)] {
        let value = record.value.unwrap();
        let decode = |bytes: Bytes| match is_group {
            true => GroupValue::decode(&bytes).map(|_| ()),
            false => Committed::decode(&bytes).map(|_| ()),
        };
        for cut in 0..value.len() {
            assert_eq!(
                decode(value.slice(..cut)),
                Err(RecordError::Damaged),
                "cut at {cut}"
            );
        }
        for cut in 0..record.key.len() {
            let got = Key::decode(&record.key.slice(..cut));
            assert_eq!(got, Err(RecordError::Damaged), "key cut at {cut}");
        }
        let mut longer = value.to_vec();
        longer.push(0);
        assert_eq!(decode(Bytes::from(longer)), Err(RecordError::Damaged));
    }
}

#[test]
fn a_newer_version_is_named() {
    assert_eq!(
        Key::decode(&Bytes::from_static(&[2, 1])),
        Err(RecordError::Newer(2))
    );
}

#[test]
fn damaged_records_never_panic() {
    let group = group_value().record(&text("g"));
    let offset = committed().record(&text("g"), &text("t"), 0);
    for record in [group, offset] {
        let value = record.value.unwrap();
        for (bytes, at) in [&record.key, &value]
            .into_iter()
            .flat_map(|part| (0..part.len()).map(move |at| (part.to_vec(), at)))
        {
            for damage in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = damage;
                let damaged = Bytes::from(damaged);
                let _ = Key::decode(&damaged);
                let _ = GroupValue::decode(&damaged);
                let _ = Committed::decode(&damaged);
            }
        }
    }
}
