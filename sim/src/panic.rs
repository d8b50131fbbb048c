//! Panics of a run, kept for its report instead of printed among other runs' output.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, Once};

/// Where a thread's panic message goes.
type Slot = Arc<Mutex<Option<String>>>;

thread_local! {
    static SLOT: RefCell<Option<Slot>> = const { RefCell::new(None) };
}

/// Keeps the first panic of this thread in `slot`.
pub fn catch_into(slot: Slot) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let slot = SLOT.with(|slot| slot.borrow().clone());
            let Some(slot) = slot else {
                return default(info);
            };
            let mut kept = slot.lock().expect("keeping a message never panics");
            if kept.is_none() {
                *kept = Some(info.to_string().replace('\n', " "));
            }
        }));
    });
    SLOT.with(|own| *own.borrow_mut() = Some(slot));
}
