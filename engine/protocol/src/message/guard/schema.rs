//! How a request's body is laid out, as constant data.

/// A sequence of fields; in flexible versions tagged fields follow it.
pub(crate) struct Struct {
    /// The fields, in order.
    pub(crate) fields: &'static [Field],
    /// The tagged fields that the decoder knows.
    pub(crate) tags: &'static [Tag],
}

/// One field and the versions that have it.
pub(crate) struct Field {
    /// The first version with it.
    pub(crate) since: i16,
    /// The last version with it.
    pub(crate) until: i16,
    /// What it is.
    pub(crate) kind: Kind,
}

/// A tagged field that the decoder knows.
pub(crate) struct Tag {
    /// The tag.
    pub(crate) number: u32,
    /// The first version that may carry it.
    pub(crate) since: i16,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a field is. Strings, bytes and arrays are compact in flexible versions.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A number, flag or id of so many bytes.
    Fixed(usize),
    /// A string, perhaps null.
    String,
    /// Bytes, perhaps null.
    Bytes,
    /// Produced records: bytes of which every negative length is null.
    Records,
    /// A struct.
    Struct(&'static Struct),
    /// A struct behind one byte: 1 when it is there.
    Optional(&'static Struct),
    /// An array, perhaps null.
    Array {
        /// What an element is.
        of: &'static Kind,
        /// What a decoded element takes in memory.
        element_bytes: usize,
    },
}

/// A struct without known tags.
pub(crate) const fn plain(fields: &'static [Field]) -> Struct {
    Struct { fields, tags: &[] }
}

/// A field of every version.
pub(crate) const fn always(kind: Kind) -> Field {
    Field {
        since: 0,
        until: i16::MAX,
        kind,
    }
}

/// A field of the versions from `since` on.
pub(crate) const fn since(since: i16, kind: Kind) -> Field {
    Field {
        since,
        until: i16::MAX,
        kind,
    }
}

/// A field of the versions up to `until`.
pub(crate) const fn until(until: i16, kind: Kind) -> Field {
    Field {
        since: 0,
        until,
        kind,
    }
}

/// A field of the versions from `since` to `until`.
pub(crate) const fn between(since: i16, until: i16, kind: Kind) -> Field {
    Field { since, until, kind }
}

/// An array of `of`, each a `T` when decoded.
pub(crate) const fn array<T>(of: &'static Kind) -> Kind {
    Kind::Array {
        of,
        element_bytes: size_of::<T>(),
    }
}

/// A flag.
pub(crate) const BOOL: Kind = Kind::Fixed(1);
/// An 8-bit number.
pub(crate) const I8: Kind = Kind::Fixed(1);
/// A 16-bit number.
pub(crate) const I16: Kind = Kind::Fixed(2);
/// A 32-bit number.
pub(crate) const I32: Kind = Kind::Fixed(4);
/// A 64-bit number.
pub(crate) const I64: Kind = Kind::Fixed(8);
/// A 16-byte id.
pub(crate) const ID: Kind = Kind::Fixed(16);
/// An array of 32-bit numbers.
pub(crate) const I32S: Kind = array::<i32>(&I32);
/// An array of strings.
pub(crate) const STRINGS: Kind = array::<crate::message::StrBytes>(&Kind::String);
