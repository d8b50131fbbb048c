//! The contract of `Net` on both worlds.

use highwater_tests::contract::{Real, Sim, net};

#[test]
fn random_streams_on_the_simulated_network() {
    (0..40).for_each(net::random_streams::<Sim>);
}

#[test]
fn random_streams_on_tcp() {
    (0..10).for_each(net::random_streams::<Real>);
}

#[test]
fn refusals_on_the_simulated_network() {
    net::refusals::<Sim>(1);
}

#[test]
fn refusals_on_tcp() {
    net::refusals::<Real>(1);
}

#[test]
fn a_slow_reader_on_the_simulated_network() {
    net::slow_reader::<Sim>(1);
}

#[test]
fn a_slow_reader_on_tcp() {
    net::slow_reader::<Real>(1);
}
