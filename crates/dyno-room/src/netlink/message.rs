//! Netlink messages as bytes: a header, a fixed body, attributes that may nest.

/// `struct nlmsghdr`: length, kind, flags, sequence, port.
const HEADER_BYTES: usize = 16;
/// `struct nlattr`: length, kind.
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// `NLMSG_ERROR`
const KIND_ERROR: u16 = 2;

/// A request under construction.
#[derive(Debug)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Make a request of this kind with an acknowledgement.
    pub(crate) fn new(kind: u16, flags: i32, body: &[u8]) -> Self {
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK)
            .expect("netlink flags have 16 bits");
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(body);
        Self(bytes)
    }

    /// Add one attribute.
    pub(crate) fn attribute(&mut self, kind: u16, payload: &[u8]) -> &mut Self {
        self.nested(kind, |message| message.0.extend_from_slice(payload))
    }

    /// Add an attribute with the content that `fill` adds.
    pub(crate) fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.0.len();
        self.0.extend_from_slice(&[0; 2]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let length = u16::try_from(self.0.len() - start).expect("attributes are short");
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Add bytes that are no attribute: a fixed body inside a nested attribute.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Return the bytes to send, with this sequence number.
    pub(crate) fn seal(&mut self, sequence: u32) -> &[u8] {
        let length = u32::try_from(self.0.len()).expect("messages are short");
        self.0[0..4].copy_from_slice(&length.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.0
    }
}

/// One message of the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) kind: u16,
    pub(crate) sequence: u32,
    pub(crate) body: &'a [u8],
}

impl Part<'_> {
    /// Return the (negated) error number of an acknowledgement, zero for success; `None` for any other message.
    pub(crate) fn acknowledgement(&self) -> Option<i32> {
        if self.kind != KIND_ERROR {
            return None;
        }
        let code = self.body.first_chunk()?;
        Some(i32::from_ne_bytes(*code))
    }
}

/// Split the result of one read into messages; stop at the first truncated one.
pub(crate) fn split(mut bytes: &[u8]) -> impl Iterator<Item = Part<'_>> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let whole = bytes.get(..length)?;
        let part = Part {
            kind: u16::from_ne_bytes(*whole.get(4..)?.first_chunk()?),
            sequence: u32::from_ne_bytes(*whole.get(8..)?.first_chunk()?),
            body: whole.get(HEADER_BYTES..)?,
        };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(part)
    })
}

/// Return the attributes in these bytes as kind and payload; stop at the first truncated one.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let whole = bytes.get(..length)?;
        let kind = u16::from_ne_bytes(*whole.get(2..)?.first_chunk()?);
        let payload = whole.get(ATTRIBUTE_HEADER_BYTES..)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, payload))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_nest() {
        let mut message = Message::new(16, libc::NLM_F_CREATE, &[7; 4]);
        message.attribute(3, b"lo\0").nested(18, |inner| {
            inner.attribute(1, &[9]);
        });
        let bytes = message.seal(5).to_vec();
        let part = split(&bytes).next().unwrap();
        assert_eq!((part.kind, part.sequence), (16, 5));
        assert_eq!(&part.body[..4], &[7; 4]);
        let found: Vec<_> = attributes(&part.body[4..]).collect();
        assert_eq!(found[0], (3, &b"lo\0"[..]));
        assert_eq!(found[1].0, 18);
        assert_eq!(attributes(found[1].1).next(), Some((1, &[9][..])));
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn an_acknowledgement_holds_the_error() {
        let mut message = Message::new(KIND_ERROR, 0, &(-libc::EEXIST).to_ne_bytes());
        let bytes = message.seal(1).to_vec();
        assert_eq!(
            split(&bytes).next().unwrap().acknowledgement(),
            Some(-libc::EEXIST)
        );
    }

    #[test]
    fn truncated_input_ends_the_iteration() {
        let mut message = Message::new(16, 0, &[1; 8]);
        let bytes = message.seal(1).to_vec();
        for length in 0..bytes.len() {
            assert_eq!(split(&bytes[..length]).count(), 0, "{length}");
        }
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[0, 0, 0, 0]).count(), 0);
    }
}
