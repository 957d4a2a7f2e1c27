//! A name server, over UDP and TCP, whose answers are set by the test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread;

use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record, RecordType};

/// Returns the datagrams that answer a query; over TCP only the first is sent.
pub type Reply = dyn Fn(&Message, bool) -> Vec<Vec<u8>> + Send + Sync;

pub struct NameServer {
    pub address: SocketAddr,
}

impl NameServer {
    pub fn start(reply: impl Fn(&Message, bool) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Self {
        // A port that is free for one protocol may be taken for the other.
        let (udp, tcp) = (0..100)
            .find_map(|_| {
                let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                let udp = UdpSocket::bind(tcp.local_addr().unwrap()).ok()?;
                Some((udp, tcp))
            })
            .unwrap();
        let address = udp.local_addr().unwrap();
        let reply: Arc<Reply> = Arc::new(reply);
        let over_tcp = reply.clone();
        thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((count, from)) = udp.recv_from(&mut bytes) {
                for message in reply(&Message::from_vec(&bytes[..count]).unwrap(), false) {
                    udp.send_to(&message, from).unwrap();
                }
            }
        });
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 2];
                stream.read_exact(&mut length).unwrap();
                let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
                stream.read_exact(&mut query).unwrap();
                for message in over_tcp(&Message::from_vec(&query).unwrap(), true)
                    .into_iter()
                    .take(1)
                {
                    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
                    stream.write_all(&[&length[..], &message].concat()).unwrap();
                }
            }
        });
        Self { address }
    }
}

/// An empty answer to a query.
pub fn answer(query: &Message, code: ResponseCode) -> Message {
    let mut answer = Message::response(query.metadata.id, OpCode::Query);
    answer.metadata.response_code = code;
    answer.queries.clone_from(&query.queries);
    answer
}

/// The answer with an IPv4 address to an `A` query.
pub fn found(query: &Message, address: Ipv4Addr) -> Message {
    let mut answer = answer(query, ResponseCode::NoError);
    let question = &query.queries[0];
    if question.query_type() == RecordType::A {
        let record = Record::from_rdata(question.name().clone(), 60, RData::A(A(address)));
        answer.answers.push(record);
    }
    answer
}
