//! Parsed messages in a form common to both implementations.

/// A parsed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Method, authority and path of a request; status code of a response.
    pub start: String,
    pub fields: FieldList,
    pub content: Vec<u8>,
    pub trailers: FieldList,
}

/// All complete messages of a connection, and whether a later one was refused or cut short.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    pub messages: Vec<Message>,
    pub refused: bool,
}

/// Name and value of each field.
pub type FieldList = Vec<(String, Vec<u8>)>;

/// Sort fields by name in lower case and keep the order of values of one name, as hyper does. Equal lengths count once, as in
/// hyper's server.
pub fn sorted<'f>(fields: impl Iterator<Item = (&'f str, &'f [u8])>) -> FieldList {
    let mut fields: Vec<_> = fields
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    fields.dedup_by(|later, earlier| later == earlier && later.0 == "content-length");
    fields
}
