//! The journal on a disk that loses power, fills up and fails.
