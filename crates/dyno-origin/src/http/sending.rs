//! Sends prepared bytes over a connection.

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::End;
use crate::message::answer_bytes::AnswerBytes;
use crate::wire::Outlet;

/// Sends bytes.
pub(super) async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), End> {
    stream.write_all(bytes).await.map_err(|_| End::Gone)?;
    stream.flush().await.map_err(|_| End::Gone)
}

impl AnswerBytes {
    /// Sends the whole message.
    pub(super) async fn send(&self, stream: &mut impl Outlet) -> Result<(), End> {
        if let Some(file) = &self.file
            && let Some(wire) = stream.wire()
        {
            let sent = wire.send_file(file, self.bytes().len()).await;
            return sent.map_err(|_| End::Gone);
        }
        write(stream, self.bytes()).await
    }
}
