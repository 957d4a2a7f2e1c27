//! The answers of a host's name server: their JSON form.

use hickory_proto::rr::Name;
use serde::Deserialize;
use serde_json::Value;

/// Answers to queries: the k-th of a type gets the k-th answer, and the last answer repeats.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Dns {
    #[serde(rename = "A")]
    pub(crate) a: Vec<NameAnswer>,
    /// If empty, the host has no address of this family.
    #[serde(rename = "AAAA")]
    pub(crate) aaaa: Vec<NameAnswer>,
}

impl Default for Dns {
    fn default() -> Self {
        Self {
            a: vec![NameAnswer::default()],
            aaaa: Vec::new(),
        }
    }
}

/// An answer to a query.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NameAnswer {
    pub(crate) rcode: Rcode,
    /// Used if the code is `NOERROR`.
    pub(crate) addresses: Vec<String>,
    pub(crate) cname: Chain,
    pub(crate) ttl: u32,
    pub(crate) after_ms: u64,
    pub(crate) silent: bool,
    pub(crate) truncate: bool,
    pub(crate) change_case: bool,
    pub(crate) tcp: OverTcp,
    /// Over UDP, an answer that a client must not take comes just before the right one.
    pub(crate) forged: Option<Forgery>,
}

impl Default for NameAnswer {
    fn default() -> Self {
        Self {
            rcode: Rcode::NoError,
            addresses: vec!["own".to_owned()],
            cname: Chain::default(),
            ttl: 60,
            after_ms: 0,
            silent: false,
            truncate: false,
            change_case: false,
            tcp: OverTcp::Answer,
            forged: None,
        }
    }
}

/// What happens to a query over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OverTcp {
    Answer,
    /// No answer comes.
    Silent,
    /// The connection is closed.
    Close,
}

/// What shows that an answer is forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Forgery {
    /// Its ID is not that of the query.
    Id,
    /// It answers the question for another name.
    Question,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Rcode {
    NoError,
    NxDomain,
    ServFail,
    Refused,
    FormErr,
}

/// Aliases, each leading to the next; written as one name or a list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Chain(pub(crate) Vec<Name>);

impl TryFrom<Value> for Chain {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let names = match &value {
            Value::Array(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        let read = |name: &Value| {
            let read = Name::from_ascii(name.as_str()?).ok()?;
            Some(fully_qualified(read))
        };
        let names: Option<Vec<Name>> = names.iter().map(read).collect();
        let wrong = || format!("{value} is no cname; write a name or a list of names");
        names.map(Self).ok_or_else(wrong)
    }
}

/// The name as absolute, which answers must have.
fn fully_qualified(mut name: Name) -> Name {
    name.set_fqdn(true);
    name
}
