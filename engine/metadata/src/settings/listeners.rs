//! Addresses in settings: Kafka's `PLAINTEXT://HOST:PORT` and the short `HOST:PORT`.

use super::error::BadValue;

/// One address to bind or to tell clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// A name or an address; an IPv6 address has no brackets here. Empty: every interface.
    pub host: String,
    /// The port; 0 lets the system pick one.
    pub port: u16,
}

impl Listener {
    /// The address as `host:port`, with brackets around an IPv6 address.
    #[must_use]
    pub fn addr(&self) -> String {
        let Self { host, port } = self;
        match host {
            host if host.is_empty() => format!("0.0.0.0:{port}"),
            host if host.contains(':') => format!("[{host}]:{port}"),
            host => format!("{host}:{port}"),
        }
    }
}

/// Reads addresses with commas between them; at least one.
///
/// # Errors
/// [`BadValue`] when a part is no address or its protocol is not served.
pub fn parse(text: &str) -> Result<Vec<Listener>, BadValue> {
    let parts: Vec<&str> = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        return Err(BadValue::Empty);
    }
    parts.into_iter().map(parse_one).collect()
}

fn parse_one(part: &str) -> Result<Listener, BadValue> {
    let bad = || BadValue::Listener {
        part: part.to_owned(),
    };
    let addr = match part.split_once("://") {
        Some((protocol, addr)) if protocol.eq_ignore_ascii_case("PLAINTEXT") => addr,
        Some((protocol, _)) => {
            return Err(BadValue::Protocol {
                protocol: protocol.to_owned(),
            });
        }
        None => part,
    };
    let (host, port) = addr.rsplit_once(':').ok_or_else(bad)?;
    let port = port.parse().map_err(|_| bad())?;
    let bracketed = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = match bracketed {
        Some(inner) => inner,
        None if host.contains([':', '[', ']', '/']) => return Err(bad()),
        None => host,
    };
    Ok(Listener {
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_address_are_read() {
        for (text, host, port, addr) in [
            (
                "PLAINTEXT://127.0.0.1:9092",
                "127.0.0.1",
                9092,
                "127.0.0.1:9092",
            ),
            ("plaintext://:0", "", 0, "0.0.0.0:0"),
            ("localhost:1", "localhost", 1, "localhost:1"),
            ("[::1]:9092", "::1", 9092, "[::1]:9092"),
        ] {
            let read = parse(text).expect(text);
            assert_eq!(
                read,
                [Listener {
                    host: host.to_owned(),
                    port
                }],
                "{text}"
            );
            assert_eq!(read[0].addr(), addr, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        for text in [
            "",
            ",",
            "localhost",
            "localhost:x",
            "a:70000",
            "::1:9092",
            "a/b:1",
            "SSL://a:1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
