//! Distinguishes origins on the public internet from those in private networks.

use std::net::IpAddr;

use dyno_client::{Reach, Reroute, is_public};

use crate::listed::Origin;

/// Returns whether the address in a URL is public; `None` for a name, whose address is not known yet.
fn is_public_host(host: &str) -> Option<bool> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(is_public(address));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    // These names belong to the machine itself (RFC 6761, 6.3).
    (name == "localhost" || name.ends_with(".localhost")).then_some(false)
}

/// Whether the host of a redirect is in a private network, as far as its URL shows.
#[must_use]
pub fn is_private_address(origin: &Origin) -> bool {
    is_public_host(&origin.host) == Some(false)
}

/// Whether a connected origin is on the public internet: judged by its URL and, unless it was rerouted or is behind a
/// proxy (`None`), by its address.
#[must_use]
pub fn is_public_origin(origin: &Origin, reach: Option<Reach>, reroute: &Reroute) -> bool {
    is_public_host(&origin.host).unwrap_or_else(|| {
        reroute.place(&origin.host, origin.port).is_rerouted
            || reach.is_none_or(|reach| is_public(reach.address))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use url::Url;

    use super::*;

    #[test]
    fn a_host_is_public_by_its_url_and_then_by_its_address() {
        let mut reroute = Reroute::default();
        reroute
            .connect_to
            .push("far.test::127.0.0.1:".parse().unwrap());
        reroute
            .connect_to
            .push("10.0.0.1::127.0.0.1:".parse().unwrap());
        reroute
            .connect_to
            .push("9.9.9.9::127.0.0.1:".parse().unwrap());
        let cases = [
            ("http://a.test/", "1.1.1.1", true),
            ("http://a.test/", "127.0.0.1", false),
            ("http://a.test/", "::ffff:10.0.0.1", false),
            ("http://far.test/", "127.0.0.1", true),
            ("http://10.0.0.1/", "127.0.0.1", false),
            ("http://0x0a000001/", "127.0.0.1", false),
            ("http://9.9.9.9/", "127.0.0.1", true),
            ("http://[::1]/", "::1", false),
            ("http://[2606:4700::1111]/", "2606:4700::1111", true),
            ("http://localhost/", "1.1.1.1", false),
            ("http://a.localhost./", "1.1.1.1", false),
        ];
        for (url, address, expected) in cases {
            let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
            let reach = Reach {
                address: address.parse().unwrap(),
                round_trip: Duration::ZERO,
            };
            assert_eq!(
                is_public_origin(&origin, Some(reach), &reroute),
                expected,
                "{url} {address}"
            );
            // Behind a proxy, a name is public whatever its address is.
            let is_named = url.contains(".test");
            let by_proxy = is_public_origin(&origin, None, &reroute);
            assert_eq!(by_proxy, expected || is_named, "{url}");
            assert!(!(is_private_address(&origin) && expected), "{url}");
        }
    }
}
