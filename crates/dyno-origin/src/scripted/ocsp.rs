//! Responses of OCSP (RFC 6960) to staple: what the issuer of a certificate says of it.

use rcgen::{KeyPair, SigningKey};
use rsa::sha2::Digest;
use sha1::Sha1;
use time::{Duration, OffsetDateTime};
use yasna::models::{GeneralizedTime, ObjectIdentifier};
use yasna::{ASN1Result, DERWriter, Tag};

use crate::scripts::Staple;

const BASIC: [u64; 10] = [1, 3, 6, 1, 5, 5, 7, 48, 1, 1];
const SHA1: [u64; 6] = [1, 3, 14, 3, 2, 26];
const ECDSA_WITH_SHA256: [u64; 7] = [1, 2, 840, 10_045, 4, 3, 2];

/// The response about a certificate (DER), signed by its issuer, whose key is ECDSA P-256.
pub(super) fn response(
    certificate: &[u8],
    issuer: &KeyPair,
    staple: Staple,
) -> Result<Vec<u8>, rcgen::Error> {
    let (issuer_name, serial) =
        issuer_and_serial(certificate).map_err(|_| rcgen::Error::CouldNotParseCertificate)?;
    let key_hash = Sha1::digest(issuer.public_key_raw());
    let now = OffsetDateTime::now_utc();
    let (from, to) = match staple {
        Staple::Outdated => (now - Duration::days(14), now - Duration::days(7)),
        Staple::Good | Staple::Revoked => (now - Duration::days(1), now + Duration::days(6)),
    };
    let data = yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            // ResponderID byKey
            writer.next().write_tagged(Tag::context(2), |writer| {
                writer.write_bytes(&key_hash);
            });
            write_time(writer.next(), from);
            writer.next().write_sequence(|writer| {
                writer.next().write_sequence(|writer| {
                    writer.next().write_sequence(|writer| {
                        writer.next().write_sequence(|writer| {
                            writer
                                .next()
                                .write_oid(&ObjectIdentifier::from_slice(&SHA1));
                            writer.next().write_null();
                        });
                        writer.next().write_bytes(&Sha1::digest(&issuer_name));
                        writer.next().write_bytes(&key_hash);
                        writer.next().write_der(&serial);
                    });
                    write_status(writer.next(), staple, from);
                    write_time(writer.next(), from);
                    writer
                        .next()
                        .write_tagged(Tag::context(0), |writer| write_time(writer, to));
                });
            });
        });
    });
    let signature = issuer.sign(&data)?;
    let basic = yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            writer.next().write_der(&data);
            writer.next().write_sequence(|writer| {
                let algorithm = ObjectIdentifier::from_slice(&ECDSA_WITH_SHA256);
                writer.next().write_oid(&algorithm);
            });
            let bits = signature.len() * 8;
            writer.next().write_bitvec_bytes(&signature, bits);
        });
    });
    Ok(yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            // OCSPResponseStatus successful
            writer.next().write_enum(0);
            writer.next().write_tagged(Tag::context(0), |writer| {
                writer.write_sequence(|writer| {
                    writer
                        .next()
                        .write_oid(&ObjectIdentifier::from_slice(&BASIC));
                    writer.next().write_bytes(&basic);
                });
            });
        });
    }))
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the name of a method is not general over lifetimes"
)]
fn write_status(writer: DERWriter<'_>, staple: Staple, moment: OffsetDateTime) {
    match staple {
        Staple::Good | Staple::Outdated => {
            writer.write_tagged_implicit(Tag::context(0), |writer| writer.write_null());
        }
        Staple::Revoked => writer.write_tagged_implicit(Tag::context(1), |writer| {
            writer.write_sequence(|writer| write_time(writer.next(), moment));
        }),
    }
}

/// Writes a moment in whole seconds, as RFC 6960 wants it.
fn write_time(writer: DERWriter<'_>, moment: OffsetDateTime) {
    let moment = moment.replace_nanosecond(0).unwrap_or(moment);
    writer.write_generalized_time(&GeneralizedTime::from_datetime(moment));
}

/// The issuer's name and the serial number of a certificate, both in DER.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the name of a method is not general over lifetimes"
)]
fn issuer_and_serial(certificate: &[u8]) -> ASN1Result<(Vec<u8>, Vec<u8>)> {
    yasna::parse_der(certificate, |reader| {
        reader.read_sequence(|reader| {
            let found = reader.next().read_sequence(|reader| {
                let _version = reader.next().read_der()?;
                let serial = reader.next().read_der()?;
                let _algorithm = reader.next().read_der()?;
                let issuer = reader.next().read_der()?;
                while reader.read_optional(|reader| reader.read_der())?.is_some() {}
                Ok((issuer, serial))
            })?;
            let _algorithm = reader.next().read_der()?;
            let _signature = reader.next().read_der()?;
            Ok(found)
        })
    })
}
