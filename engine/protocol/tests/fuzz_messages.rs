//! Requests of real clients, whole and damaged: whole ones decode, damaged ones do no harm.
//!
//! The corpus holds requests that eight clients sent, one after the other, each behind its length
//! (`corpus/messages/requests.bin`). `HIGHWATER_FUZZ_ROUNDS` sets how many damaged requests are tried and
//! `HIGHWATER_FUZZ_SEED` where the numbers start; a failure prints the seed of its round.

use bytes::Bytes;
use highwater_protocol::message::decode_request;

const CORPUS: &[u8] = include_bytes!("corpus/messages/requests.bin");

/// Rounds of an ordinary test run; CI sets more.
const ROUNDS: u64 = 20_000;

/// A SplitMix64 sequence.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test that a person replays with a seed"
)]
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn requests() -> Vec<Bytes> {
    let mut rest = CORPUS;
    let mut requests = Vec::new();
    while let Some((len, behind)) = rest.split_first_chunk::<4>() {
        let (request, behind) = behind.split_at(u32::from_be_bytes(*len) as usize);
        requests.push(Bytes::from_static(request));
        rest = behind;
    }
    requests
}

/// Damages `frame` in a few places.
fn damage(frame: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..=draw.below(5) {
        if frame.len() < 5 {
            return;
        }
        // The API key and version mostly stay: other ones are refused at once.
        let first = if draw.below(20) == 0 { 0 } else { 4 };
        let at = first + draw.below(frame.len() - first);
        match draw.below(7) {
            0 => frame[at] ^= 1 << draw.below(8),
            1 => frame[at] = [0, 1, 0x7f, 0x80, 0xff][draw.below(5)],
            2 => frame.truncate(at),
            3 => frame.insert(at, draw.next() as u8),
            4 => {
                frame.remove(at);
            }
            5 => {
                let end = (at + 1 + draw.below(8)).min(frame.len());
                frame[at..end].fill(0xff);
            }
            _ => {
                let end = (at + draw.below(64)).min(frame.len());
                let copied = frame[at..end].to_vec();
                frame.splice(at..at, copied);
            }
        }
    }
}

#[test]
fn every_request_of_a_real_client_decodes() {
    let requests = requests();
    assert!(
        requests.len() > 50,
        "the corpus has {} requests",
        requests.len()
    );
    for (index, frame) in requests.iter().enumerate() {
        let got = decode_request(frame);
        assert!(got.is_ok(), "request {index}: {got:?}");
    }
}

#[test]
fn damaged_requests_do_no_harm() {
    let requests = requests();
    let seed = number("HIGHWATER_FUZZ_SEED", 0);
    for round in seed..seed + number("HIGHWATER_FUZZ_ROUNDS", ROUNDS) {
        let mut draw = Draw(round);
        let mut frame = requests[draw.below(requests.len())].to_vec();
        damage(&mut frame, &mut draw);
        let frame = Bytes::from(frame);
        let outcome = std::panic::catch_unwind(|| decode_request(&frame).is_ok());
        assert!(
            outcome.is_ok(),
            "HIGHWATER_FUZZ_SEED={round} HIGHWATER_FUZZ_ROUNDS=1 panics"
        );
    }
}
