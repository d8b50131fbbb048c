//! Prints `docs/configuration.md`, which is made from the registry of settings.

#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn main() {
    print!("{}", highwater_metadata::settings::configuration_page());
}
