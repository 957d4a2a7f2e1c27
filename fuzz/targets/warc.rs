//! Files of WARC: whole records are found at the start of any file, and written ones are read back.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/dyno-fetch/src/warc_record.rs"]
mod warc_record;

use warc_record::{Head, Records, read, whole};

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (is_compressed, split, bytes) = input;
    for compressed in [false, true] {
        let (length, records) = whole(bytes, compressed).expect("memory can be read");
        let start = &bytes[..usize::try_from(length).expect("it is a part")];
        assert_eq!(
            whole(start, compressed).expect("memory can be read"),
            (length, records)
        );
    }
    let mut written = Records::new(Vec::new(), is_compressed);
    let (first, second) = bytes.split_at(bytes.len().min(usize::from(split)));
    let mut ends = Vec::new();
    for block in [first, second] {
        let mut head = Head::new("response");
        head.field("X-Split", split);
        written
            .write(head, block.len() as u64, block)
            .expect("a vector takes all bytes");
        ends.push(written.out.len());
    }
    let file = written.out;
    assert_eq!(
        whole(&file[..], is_compressed).expect("memory can be read"),
        (file.len() as u64, 2)
    );
    for cut in [file.len() - 1, ends[0] + usize::from(split)] {
        let found =
            whole(&file[..cut.min(file.len() - 1)], is_compressed).expect("memory can be read");
        assert_eq!(found, (ends[0] as u64, 1));
    }
    if !is_compressed {
        let mut block = Vec::new();
        let head = read(&mut &file[..], |piece| block.extend_from_slice(piece));
        assert!(
            head.expect("memory can be read")
                .is_some_and(|head| head.contains("X-Split"))
        );
        assert_eq!(block, first);
    }
});
