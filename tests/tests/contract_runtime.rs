//! The contract of `Runtime` itself on both worlds.

use highwater_runtime::Runtime;
use highwater_tests::contract::{Real, Sim, World, runtime};

#[test]
fn clocks_tasks_and_draws_of_the_simulated_world() {
    runtime::clocks_tasks_and_draws::<Sim>(1);
}

#[test]
fn clocks_tasks_and_draws_of_the_real_world() {
    runtime::clocks_tasks_and_draws::<Real>(1);
    assert!(
        !Real::start(1)
            .runtime()
            .buggify("production takes no unlikely turns")
    );
}

#[test]
fn incarnations_of_the_simulated_world() {
    runtime::incarnations::<Sim>(1);
}

#[test]
fn incarnations_of_the_real_world() {
    runtime::incarnations::<Real>(1);
}

#[test]
fn a_draw_of_one_stream_moves_no_other() {
    let (one, two) = (Sim::start(9), Sim::start(9));
    one.runtime().draw("other");
    assert_eq!(one.runtime().draw("asked"), two.runtime().draw("asked"));
}
