//! Translation of the arrivals of another machine's origin to this machine's clock.

use super::clock::OtherClock;

/// Columns at the beginning of a row that are times.
const TIME_COLUMNS: usize = 2;

/// Rewrites the times of each row; everything else, including the header, stays byte for byte.
pub fn to_local_clock(csv: &[u8], clock: &OtherClock) -> Vec<u8> {
    let mut out = Vec::with_capacity(csv.len());
    for line in csv.split_inclusive(|&byte| byte == b'\n') {
        let mut rest = line;
        for _ in 0..TIME_COLUMNS {
            let Some(comma) = rest.iter().position(|&byte| byte == b',') else {
                break;
            };
            let (field, after) = rest.split_at(comma);
            match std::str::from_utf8(field)
                .ok()
                .and_then(|text| text.parse().ok())
            {
                Some(there_ns) => {
                    out.extend_from_slice(clock.local_ns(there_ns).to_string().as_bytes());
                }
                None => out.extend_from_slice(field),
            }
            out.push(b',');
            rest = &after[1..];
        }
        out.extend_from_slice(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::clock::{Exchange, Reading};
    use super::*;

    #[test]
    fn only_the_times_are_rewritten() {
        let exchange = Exchange {
            asked_ns: 1_000,
            there_ns: 1_500,
            answered_ns: 1_000,
        };
        let reading = Reading::best_of(&[exchange]).expect("an exchange");
        let clock = OtherClock::new(reading, reading);
        let csv = "at_ns,done_ns,connection,url,status\n\
                   10500,10700,7,\"http://other:8080/?q=1,2\",200\n10600,,8,http://other:8080/500,\n";
        let moved = "at_ns,done_ns,connection,url,status\n\
                     10000,10200,7,\"http://other:8080/?q=1,2\",200\n10100,,8,http://other:8080/500,\n";
        assert_eq!(to_local_clock(csv.as_bytes(), &clock), moved.as_bytes());
        assert_eq!(to_local_clock(b"", &clock), b"");
    }
}
