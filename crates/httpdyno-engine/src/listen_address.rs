//! `--listen ADDRESS[:PORT]`: the address of an origin's plain HTTP.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The default port.
pub const PORT: u16 = 8080;

/// Parses an address with or without a port: `0.0.0.0`, `192.0.2.7:80`, `[::]:8080`, `::`.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let bracketed = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .and_then(|inner| inner.parse::<Ipv6Addr>().ok())
        .map(IpAddr::from);
    text.parse::<SocketAddr>()
        .ok()
        .or_else(|| text.parse().ok().or(bracketed).map(|address: IpAddr| SocketAddr::new(address, PORT)))
        .ok_or_else(|| {
            format!(
                "{text:?} is not an address of this machine; write it like 0.0.0.0, 0.0.0.0:{PORT} or [::]:{PORT}"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_gets_the_default() {
        let cases = [
            ("0.0.0.0", "0.0.0.0:8080"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("::", "[::]:8080"),
            ("[::]", "[::]:8080"),
            ("[::1]:81", "[::1]:81"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                listen_address(text).map(|found| found.to_string()),
                Ok(expected.to_owned())
            );
        }
        for wrong in [
            "",
            "other",
            "other:80",
            "0.0.0.0:",
            "0.0.0.0:99999",
            ":8080",
            "8080",
            "[::",
            "http://0.0.0.0",
        ] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }
}
