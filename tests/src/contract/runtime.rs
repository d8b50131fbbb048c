//! Clocks, randomness, tasks.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use highwater_runtime::Runtime;
use highwater_runtime::task::{Either, first, within};

use super::World;

/// Time, tasks and draws.
///
/// # Panics
/// When the world breaks its contract.
pub fn clocks_tasks_and_draws<W: World>(seed: u64) {
    let world = W::start(seed);
    let runtime = world.runtime().clone();
    world.run(async move {
        let (before, wall) = (runtime.mono(), runtime.wall_ms());
        let pause = Duration::from_millis(15);
        runtime.sleep(pause).await;
        assert!(runtime.mono() >= before + pause, "a sleep ended early");
        assert!(
            runtime.wall_ms() >= wall + 10,
            "the wall clock stands still"
        );
        assert!(
            wall > 1_600_000_000_000,
            "the wall clock says {wall} ms after 1970"
        );

        let late = runtime.sleep(Duration::from_secs(60));
        assert_eq!(within(&runtime, Duration::from_millis(5), late).await, None);
        let ready = std::future::ready(7);
        assert_eq!(first(ready, runtime.sleep(pause)).await, Either::First(7));

        let order = Rc::new(Cell::new(0));
        let seen = Rc::clone(&order);
        runtime.spawn("contract", async move { seen.set(seen.get() + 1) });
        assert_eq!(order.get(), 0, "a spawned task ran inside the call");
        runtime.sleep(Duration::from_millis(1)).await;
        assert_eq!(order.get(), 1, "a spawned task did not run");

        assert_ne!(
            runtime.draw("contract"),
            runtime.draw("contract"),
            "a stream repeats"
        );
        runtime.mark("contract");
        let _ = runtime.buggify("contract");
        runtime.log(format_args!("a line for the operator"));
    });
}

/// Every start of a process on one data folder has its own number.
///
/// # Panics
/// When the world breaks its contract.
pub fn incarnations<W: World>(seed: u64) {
    let mut world = W::start(seed);
    let mut seen = Vec::new();
    for _ in 0..8 {
        let incarnation = world.runtime().incarnation();
        assert_eq!(incarnation, world.runtime().clone().incarnation());
        assert!(
            !seen.contains(&incarnation),
            "incarnation {incarnation} came twice"
        );
        seen.push(incarnation);
        world = world.crash();
    }
}
