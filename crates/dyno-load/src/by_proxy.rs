//! Servers behind proxies: the addresses of the proxies, and the tunnels to the servers.

use std::net::SocketAddr;
use std::sync::Arc;

use dyno_client::proxy::names;
use dyno_client::{Failure, Reroute, Route};

use crate::addresses::Sources;
use crate::connector::Through;
use crate::requests::{Requests, Server};

/// The sources of a server's addresses, and the answer of the first lookup.
type Found = (Sources, Result<Vec<SocketAddr>, Failure>);

/// Looks up the servers of the requests; of those behind a proxy, the proxy, and the server itself only if the proxy needs
/// its address. Returns the addresses to connect to, and the ways from there, by the index of the server.
pub(crate) fn resolve_servers(
    requests: &Requests,
    reroute: &Reroute,
    mut lookup: impl FnMut(&[Server], &Reroute) -> Vec<Found>,
) -> (Vec<Found>, Vec<(Server, Option<Through>)>) {
    let ways = || requests.servers().iter().zip(requests.routes());
    let is_looked_up = |route: &Option<Route>| route.as_ref().is_none_or(Route::needs_address);
    let own = ways().filter(|(_, route)| is_looked_up(route));
    let own: Vec<Server> = own.map(|(server, _)| server.clone()).collect();
    let mut own = lookup(&own, reroute).into_iter();
    let mut proxies: Vec<Server> = Vec::new();
    for route in requests.routes().iter().flatten() {
        let proxy = server_of(route);
        if !proxies.contains(&proxy) {
            proxies.push(proxy);
        }
    }
    // As in curl, --connect-to is about servers; --resolve is about proxies, too.
    let only_addresses = Reroute {
        connect_to: Vec::new(),
        resolve: reroute.resolve.clone(),
    };
    let found_proxies = lookup(&proxies, &only_addresses);
    let all = ways().map(|(server, route)| {
        let found = is_looked_up(route).then(|| own.next().expect("each of these was looked up"));
        let Some(route) = route else {
            let found = found.expect("a server without a proxy was looked up");
            return (found, (server.clone(), None));
        };
        let proxy = server_of(route);
        let place = proxies.iter().position(|known| *known == proxy);
        let (sources, addresses) = &found_proxies[place.expect("each proxy was looked up")];
        let addresses = addresses.clone().map_err(Failure::of_proxy);
        let through = through(route, found.map(|(_, addresses)| addresses));
        (
            (sources.clone(), addresses),
            (server.clone(), Some(through)),
        )
    });
    all.unzip()
}

/// The way from a proxy to a server; `addresses` are those of the server, if they were looked up.
fn through(route: &Route, addresses: Option<Result<Vec<SocketAddr>, Failure>>) -> Through {
    let address = addresses.map_or(Ok(None), |addresses| {
        addresses.map(|addresses| addresses.first().copied())
    });
    match address.and_then(|address| route.tunnel(address)) {
        Ok(None) => Through::Forward,
        Ok(Some(tunnel)) => Through::Tunnel(Arc::new(tunnel)),
        Err(failure) => Through::Unusable(failure),
    }
}

fn server_of(route: &Route) -> Server {
    let proxy = &route.by.proxy;
    Server {
        host: proxy.host.clone(),
        port: proxy.port,
        is_tls: false,
    }
}

impl Requests {
    /// The proxies on the way to servers, each once, with the option or variable that names it; `None` without one.
    #[must_use]
    pub fn proxies(&self) -> Option<String> {
        names(self.routes().iter().flatten().map(|route| &route.by))
    }
}
