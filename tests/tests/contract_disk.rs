//! The contract of `Disk` and `File` on both worlds.

use highwater_tests::contract::{Real, Sim, disk, power};

#[test]
fn random_steps_on_the_simulated_disk() {
    (0..60).for_each(|seed| disk::random_steps::<Sim>(seed, 400));
}

#[test]
fn random_steps_on_a_real_disk() {
    (0..6).for_each(|seed| disk::random_steps::<Real>(seed, 400));
}

#[test]
fn power_losses_take_nothing_durable() {
    (0..200).for_each(|seed| power::random_losses(seed, 400));
}
