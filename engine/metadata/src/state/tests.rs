//! Commands and records of the state machine.
