//! Files that a subject sees: names, trust, an empty `/run`; the machine's files stay unchanged.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use crate::Test;
use crate::stage::{Stage, holds, machine_mounts, same};

pub const TESTS: &[(&str, Test)] = &[
    (
        "the_rooms_files_replace_the_machines",
        the_rooms_files_replace_the_machines,
    ),
    (
        "only_the_rooms_authority_is_trusted",
        only_the_rooms_authority_is_trusted,
    ),
    (
        "a_missing_trust_file_is_one_line",
        a_missing_trust_file_is_one_line,
    ),
    (
        "openssl_and_java_read_the_trust",
        openssl_and_java_read_the_trust,
    ),
];

/// Tests that require root.
pub const ROOT_TESTS: &[(&str, Test)] = &[(
    "files_that_the_machine_lacks_are_created",
    files_that_the_machine_lacks_are_created,
)];

/// Copy a test certificate as PEM and DER; return the path without extension.
fn authority(stage: &Stage) -> Result<String, Failed> {
    let der = include_bytes!("../data/blanks.der");
    let stem = stage.path("authority");
    fs::write(stem.with_extension("der"), der)?;
    fs::write(stem.with_extension("pem"), pem(der))?;
    Ok(stem.to_string_lossy().into_owned())
}

fn pem(der: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for (index, three) in der.chunks(3).enumerate() {
        if index > 0 && index % 16 == 0 {
            text.push('\n');
        }
        let mut bytes = [0; 4];
        bytes[1..=three.len()].copy_from_slice(three);
        let number = u32::from_be_bytes(bytes);
        for position in 0..4 {
            let digit = number >> (18 - 6 * position) & 63;
            text.push(if position > three.len() {
                '='
            } else {
                char::from(ALPHABET[digit as usize])
            });
        }
    }
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

fn the_rooms_files_replace_the_machines(stage: &Stage) -> Result<(), Failed> {
    let before = fs::read("/etc/hosts")?;
    let mounts = machine_mounts()?;
    let script = "cat /etc/resolv.conf; grep ^hosts: /etc/nsswitch.conf; ls /run /dev/shm; hostname || cat /proc/sys/kernel/hostname";
    let ended = stage.run(&[], &["sh", "-c", script])?;
    same(
        "what the subject sees",
        ended.stdout(),
        "nameserver 198.18.0.1\nhosts: files dns\n/dev/shm:\n\n/run:\nhttpdyno\nlock\nuser\nsubject\n",
    )?;
    same("the machine's hosts file", fs::read("/etc/hosts")?, before)?;
    same("the machine's mounts", machine_mounts()?, mounts)
}

fn only_the_rooms_authority_is_trusted(stage: &Stage) -> Result<(), Failed> {
    let authority = authority(stage)?;
    let certifi = stage.path("cacert.pem");
    let java = stage.path("cacerts");
    for file in [&certifi, &java] {
        fs::write(file, "the machine's")?;
    }
    let (certifi, java) = (certifi.to_string_lossy(), java.to_string_lossy());
    let options = [
        "--authority",
        &authority,
        "--trust-file",
        &certifi,
        "--trust-file",
        &java,
    ];
    let script = "cd /etc/ssl/certs; ls; cmp ca-certificates.crt $1 && cmp java/cacerts $2 && cmp ca-certificates.crt af92666c.0; cat $SSL_CERT_FILE; ls /etc/ssl";
    let ended = stage.run(&options, &["sh", "-c", script, "sh", &certifi, &java])?;
    let text = ended.stdout();
    let expected_start = format!(
        "af92666c.0\nca-certificates.crt\njava\n{}",
        fs::read_to_string(format!("{authority}.pem"))?
    );
    holds(
        &format!("{text}{}", ended.stderr()),
        text.starts_with(&expected_start),
    )?;
    for file in [&*certifi, &*java] {
        same(
            "the file outside",
            fs::read_to_string(file)?,
            "the machine's",
        )?;
    }
    Ok(())
}

fn a_missing_trust_file_is_one_line(stage: &Stage) -> Result<(), Failed> {
    let authority = authority(stage)?;
    let options = [
        "--authority",
        &authority,
        "--trust-file",
        "/no/such/cacert.pem",
    ];
    let ended = stage.run(&options, &["true"])?;
    same("status", ended.output.status.code(), Some(125))?;
    let text = ended.stderr();
    holds(
        &text,
        text.contains("trust file /no/such/cacert.pem is not a file"),
    )?;
    same("one line", text.lines().count(), 1)
}

/// Check the formats with their real readers; those that this machine lacks are skipped with a message.
fn openssl_and_java_read_the_trust(stage: &Stage) -> Result<(), Failed> {
    let authority = authority(stage)?;
    for (program, script, expected) in [
        ("openssl", "openssl verify -CApath /etc/ssl/certs $0", "OK"),
        (
            "openssl",
            "openssl x509 -noout -hash -in /etc/ssl/certs/ca-certificates.crt",
            "af92666c",
        ),
        (
            "keytool",
            "keytool -list -keystore /etc/ssl/certs/java/cacerts -storepass changeit 2>&1",
            "trustedCertEntry",
        ),
    ] {
        if Command::new("which")
            .arg(program)
            .output()
            .is_ok_and(|found| !found.status.success())
        {
            eprintln!("{program} is not installed: its reading of the trust is not tested");
            continue;
        }
        let certificate = format!("{authority}.pem");
        let ended = stage.run(
            &["--authority", &authority],
            &["sh", "-c", script, &certificate],
        )?;
        let text = ended.stdout();
        holds(
            &format!("{program}: {text}{}", ended.stderr()),
            text.contains(expected),
        )?;
    }
    Ok(())
}

/// Empties `/etc` in a mount namespace of the test.
fn files_that_the_machine_lacks_are_created(stage: &Stage) -> Result<(), Failed> {
    let authority = authority(stage)?;
    let program = stage.program();
    let mut command = Command::new(&program);
    command.args(["subject", "bare-etc"]).arg(&program);
    command.args(["engine", "--authority", &authority, "--"]);
    command.args([
        "/bin/sh",
        "-c",
        "ls /etc /etc/ssl/certs; cat /etc/resolv.conf",
    ]);
    let output = command.output()?;
    same(
        "what the subject sees",
        String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?,
        "/etc:\nhosts\nnsswitch.conf\nresolv.conf\nssl\n\n/etc/ssl/certs:\naf92666c.0\nca-certificates.crt\njava\nnameserver 198.18.0.1\n",
    )?;
    holds(
        "the machine's own files are there",
        Path::new("/etc/passwd").exists(),
    )
}
