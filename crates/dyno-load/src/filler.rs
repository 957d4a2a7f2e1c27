//! The memory in which a request loop writes requests with placeholders. No I/O.

use bytes::Bytes;

use crate::prepared::{Message, Prepared};
use crate::template::Filling;

/// Memory in which a request loop writes its requests with placeholders.
#[derive(Debug, Default)]
pub(crate) struct Filler {
    message: Option<(usize, Message)>,
    content: Vec<u8>,
    text: Vec<u8>,
}

impl Filler {
    /// The message of a request, with its values.
    pub(crate) fn fill<'f>(
        &'f mut self,
        prepared: &'f Prepared,
        place: usize,
        mut filling: Filling<'_>,
    ) -> &'f Message {
        let Some(template) = &prepared.template else {
            return &prepared.message;
        };
        let upload = match template.upload {
            None => {
                filling.write_content(template, &mut self.content);
                None
            }
            Some(expects) => {
                self.content.clear();
                Some(filling.write_upload(template, expects))
            }
        };
        // Messages of HTTP/1.1 differ in bytes only, so that the memory is used again.
        let is_http1 = matches!(prepared.message, Message::Http1(_));
        let known = self.message.as_ref().map(|(known, _)| *known);
        if known.is_none_or(|known| known != place && !is_http1) {
            self.message = Some((place, prepared.message.clone()));
        }
        let (_, message) = self.message.as_mut().expect("it was made above");
        match message {
            Message::Http1(request) => {
                let bytes = request.rewrite(template.is_head, upload);
                filling.write(&template.head, bytes);
                bytes.extend_from_slice(&self.content);
            }
            Message::Http2(request) => {
                filling.write_http2(template, request, &mut self.text);
                request.content = Bytes::copy_from_slice(&self.content);
                request.upload = upload;
            }
        }
        message
    }
}
