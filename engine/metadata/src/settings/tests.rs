//! Settings from outside: parsing, layers, descriptions and the generated page.
