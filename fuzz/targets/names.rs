//! A name server's answer to the resolver: an answer, or not ours, and never cached longer than a day.
#![no_main]

use std::str::FromStr;
use std::time::Duration;

use hickory_proto::rr::Name;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/dyno-client/src/resolve/message.rs"]
mod message;

use message::{Answer, Family, Reading};

const DAY: Duration = Duration::from_secs(86_400);
const ID: u16 = 0x1234;

fuzz_target!(|input: (bool, bool, &[u8])| {
    let (is_v6, is_ours, bytes) = input;
    let family = Family::BOTH[usize::from(!is_v6)];
    assert_eq!(family.index() == 1, is_v6);
    let name = Name::from_str("a.test.").expect("a name");
    let asked = message::query(ID, &name, family).expect("a name that can be asked for");
    assert_eq!(message::read(&asked, ID, &name, family), Reading::NotOurs);

    let mut bytes = bytes.to_vec();
    // Without this, nearly nothing would pass the check of the first two bytes.
    if let (true, Some(id)) = (is_ours, bytes.first_chunk_mut()) {
        *id = ID.to_be_bytes();
    }
    if let Reading::Answer(answer) = message::read(&bytes, ID, &name, family) {
        assert_eq!(bytes[..2], ID.to_be_bytes());
        match answer {
            Answer::Addresses(addresses, kept) => {
                assert!(kept <= DAY);
                // No address record is shorter than this.
                assert!(addresses.len() * 12 <= bytes.len());
                assert!(addresses.iter().all(|address| address.is_ipv6() == is_v6));
            }
            Answer::NoSuchName(kept) => assert!(kept <= DAY),
            Answer::Failed => {}
        }
    }
});
