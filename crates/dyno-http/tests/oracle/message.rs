//! What a reading of a byte stream comes to, in terms that both sides have.

/// A message as it was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Method, authority and path of a request; status code of a response.
    pub start: String,
    pub fields: FieldList,
    pub content: Vec<u8>,
    pub trailers: FieldList,
}

/// All messages of a connection that were understood to their end, and whether one after them was refused or cut short.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    pub messages: Vec<Message>,
    pub refused: bool,
}

/// Name and value of each field.
pub type FieldList = Vec<(String, Vec<u8>)>;

/// Names in lower case, sorted; values of one name in their order: all that hyper keeps. Lengths that agree count once, as hyper's
/// server shows them.
pub fn sorted<'f>(fields: impl Iterator<Item = (&'f str, &'f [u8])>) -> FieldList {
    let mut fields: Vec<_> = fields
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    fields.dedup_by(|later, earlier| later == earlier && later.0 == "content-length");
    fields
}
