//! Options of verbs that connect to servers: addresses, sockets and trust.

use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use dyno_client::{ConnectTo, Identity, Proxies, Reroute, Resolve, Sockets, UnixSocket, tls};
use rustix::fs::{Access, access};

use crate::messages::system_message;
use crate::room::Switch;

#[derive(Debug, Args)]
pub struct Servers {
    /// Accept any certificate
    #[arg(long, short = 'k')]
    pub insecure: bool,
    /// Trust these certificates, too (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Certificate of this client for servers that ask for one, with its chain (PEM)
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Private key of --cert (PEM) [default: in the same file]
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// File with the password of an encrypted --key in its first line
    #[arg(long, value_name = "FILE", requires = "cert")]
    key_password_file: Option<PathBuf>,
    /// Oldest version of TLS: 1.2 or 1.3
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "1.2",
        hide_possible_values = true
    )]
    tls_min: TlsVersion,
    /// Newest version of TLS: 1.2 or 1.3
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "1.3",
        hide_possible_values = true
    )]
    tls_max: TlsVersion,
    /// Share of the TLS handshakes that may resume a session: on, off or N%
    #[arg(long, value_name = "SHARE", default_value = "on", value_parser = resumed_percent)]
    tls_resumption: u8,
    /// Addresses of a host, instead of DNS; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS[,ADDRESS...]")]
    resolve: Vec<Resolve>,
    /// Connect to another host than the URL names; may be repeated
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2")]
    connect_to: Vec<ConnectTo>,
    /// Connect to this Unix socket, whatever host the URL names; @NAME is an abstract one
    #[arg(long, value_name = "PATH", conflicts_with_all = ["resolve", "connect_to", "local_address", "proxy"])]
    unix_socket: Option<String>,
    #[arg(
        help = "Proxy: http://, socks5:// or socks5h:// (which looks up names), with user:password@ before its host if needed; '' is none [environment: http_proxy, https_proxy, all_proxy]",
        long,
        value_name = "URL"
    )]
    proxy: Option<String>,
    #[arg(
        help = "Hosts without a proxy, separated by commas: names, which include their subdomains, addresses, networks such as 10.0.0.0/8; * is all [environment: no_proxy]",
        long,
        value_name = "LIST",
        alias = "noproxy"
    )]
    no_proxy: Option<String>,
    /// Source address of connections; several, separated by commas, are used in turn
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', value_parser = address)]
    local_address: Vec<IpAddr>,
    /// Send small pieces at once; off: they wait for acknowledgements (Nagle's algorithm)
    #[arg(
        long,
        value_name = "on|off",
        default_value = "on",
        hide_possible_values = true
    )]
    no_delay: Switch,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TlsVersion {
    /// TLS 1.2
    #[value(name = "1.2")]
    Two,
    /// TLS 1.3
    #[value(name = "1.3")]
    Three,
}

impl From<TlsVersion> for tls::Version {
    fn from(version: TlsVersion) -> Self {
        match version {
            TlsVersion::Two => Self::Tls12,
            TlsVersion::Three => Self::Tls13,
        }
    }
}

impl Servers {
    /// Whether all connections go to a Unix socket.
    pub const fn is_unix(&self) -> bool {
        self.unix_socket.is_some()
    }

    /// What handshakes offer; the error is the line to print.
    pub fn tls(&self) -> Result<tls::Settings, String> {
        let versions = self.tls_min.into()..=self.tls_max.into();
        if versions.is_empty() {
            return Err(
                "--tls-min 1.3: newer than --tls-max 1.2; lower it, or raise --tls-max".to_owned(),
            );
        }
        Ok(tls::Settings {
            identity: self.identity()?,
            versions,
            resumed_percent: self.tls_resumption,
        })
    }

    fn identity(&self) -> Result<Option<Identity>, String> {
        let Some(cert) = &self.cert else {
            return Ok(None);
        };
        let certificates = read("--cert", cert)?;
        let key = self
            .key
            .as_deref()
            .map(|path| read("--key", path))
            .transpose()?;
        let file = self.key_password_file.as_deref();
        let password = file
            .map(|path| read("--key-password-file", path))
            .transpose()?;
        let password = password.as_deref().map(|text| {
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            line.strip_suffix(b"\r").unwrap_or(line)
        });
        let identity = Identity::from_pem(
            &certificates,
            key.as_ref().unwrap_or(&certificates),
            password,
        );
        identity.map(Some).map_err(|error| match &self.key {
            Some(key) if error.is_of_key() => format!("--key {}: {error}", key.display()),
            _ => format!("--cert {}: {error}", cert.display()),
        })
    }

    /// The overrides of addresses.
    pub fn reroute(&self) -> Reroute {
        let mut connect_to = self.connect_to.clone();
        if self.unix_socket.is_some() {
            // No name is looked up for a Unix socket: all of them stand for this machine.
            connect_to.extend("::127.0.0.1:".parse::<ConnectTo>());
        }
        Reroute {
            connect_to,
            resolve: self.resolve.clone(),
        }
    }

    /// The proxies on the way to servers; the error is the line to print.
    pub fn proxies(&self) -> Result<Proxies, String> {
        if self.unix_socket.is_some() {
            // The socket is on this machine: variables of the environment are about others.
            return Ok(Proxies::default());
        }
        let (option, without) = (self.proxy.as_deref(), self.no_proxy.as_deref());
        Proxies::choose(option, without, self.reroute(), |name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// The line about the proxies in use, and about a `--proxy` that no host uses.
    pub fn proxy_line(&self, used: Option<String>) -> Option<String> {
        let is_typed = self.proxy.as_ref().is_some_and(|text| !text.is_empty());
        match used {
            Some(names) => Some(format!("proxy: {names}")),
            None if is_typed => Some(
                "proxy: not used, because no_proxy or --no-proxy has all hosts; --no-proxy '' has none"
                    .to_owned(),
            ),
            None => None,
        }
    }

    /// How sockets are made; the error is the line to print.
    pub fn sockets(&self) -> Result<Sockets, String> {
        for address in &self.local_address {
            UdpSocket::bind((*address, 0)).map_err(|error| {
                let reason = system_message(&error);
                format!("--local-address {address}: {reason}; name an address of this machine (ip address)")
            })?;
        }
        let unix = self.unix_socket.as_deref().map(unix_socket).transpose()?;
        let collects = self.no_delay == Switch::Off;
        Ok(Sockets::new(unix, self.local_address.clone(), collects))
    }
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| {
        let reason = system_message(&error);
        format!(
            "{option} {}: cannot be read: {reason}; name another file",
            path.display()
        )
    })
}

fn resumed_percent(text: &str) -> Result<u8, String> {
    let percent = match text {
        "on" => Some(100),
        "off" => Some(0),
        share => share
            .strip_suffix('%')
            .and_then(|number| number.parse().ok()),
    };
    let percent = percent.filter(|percent| *percent <= 100);
    percent
        .ok_or_else(|| format!("{text:?} is not a share of the handshakes: write on, off or 50%"))
}

fn address(text: &str) -> Result<IpAddr, String> {
    let address = text.parse();
    address
        .map_err(|_| format!("{text:?} is not an address: write 192.0.2.1 or 192.0.2.1,192.0.2.2"))
}

fn unix_socket(path: &str) -> Result<UnixSocket, String> {
    let socket = path.parse();
    let socket = socket.map_err(|error: String| format!("--unix-socket: {error}"))?;
    if path.starts_with('@') {
        return Ok(socket);
    }
    let wrong = |what: &str| format!("--unix-socket {path}: {what}");
    let found = std::fs::metadata(path).map_err(|error| {
        let reason = system_message(&error);
        wrong(&format!("{reason}; start the server, or name its socket"))
    })?;
    if !found.file_type().is_socket() {
        return Err(wrong("not a socket; name the one that the server made"));
    }
    access(path, Access::WRITE_OK).map_err(|error| {
        let reason = system_message(&error.into());
        wrong(&format!("{reason}; let this user write to it"))
    })?;
    Ok(socket)
}
