//! Recognises connections of the controller of the origin.

use tokio::io::AsyncRead;

use super::Input;
use crate::control::BEGINNINGS;

/// Whether a connection begins with a request for a reserved path; its first bytes are in `input` afterwards.
pub(crate) async fn is_reserved<S: AsyncRead + Unpin>(stream: &mut S, input: &mut Input) -> bool {
    loop {
        let bytes = input.bytes();
        if BEGINNINGS.iter().any(|whole| bytes.starts_with(whole)) {
            return true;
        }
        // An end or an error is returned again by the next read.
        if !BEGINNINGS.iter().any(|whole| whole.starts_with(bytes))
            || !matches!(input.fill(stream).await, Ok(true))
        {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_reserved_path_is_known_however_it_comes_and_no_byte_is_lost() {
        let cases: [(&[u8], bool); 6] = [
            (b"GET /.well-known/httpdyno/identity HTTP/1.1\r\n", true),
            (b"POST /.well-known/httpdyno/trial HTTP/1.1\r\n", true),
            (b"GET /.well-known/acme HTTP/1.1\r\n\r\n", false),
            (b"GET / HTTP/1.1\r\n\r\n", false),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false),
            (b"", false),
        ];
        for (bytes, expected) in cases {
            for width in [1, 7, 100] {
                let mut stream: Box<dyn AsyncRead + Unpin> = Box::new(&b""[..]);
                for piece in bytes.chunks(width).rev() {
                    stream = Box::new(piece.chain(stream));
                }
                let mut input = Input::new();
                assert_eq!(is_reserved(&mut stream, &mut input).await, expected);
                let mut rest = input.bytes().to_vec();
                stream.read_to_end(&mut rest).await.unwrap();
                assert_eq!(rest, bytes);
            }
        }
    }
}
