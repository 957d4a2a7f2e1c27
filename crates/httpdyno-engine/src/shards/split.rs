//! `split`: writes the lines of a list to one file per shard, with a manifest.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::Args;
use dyno_fetch::{Fingerprint, LinesDigest, ListReader, shard_of};

use super::manifest::{self, Division, SPLIT_FILE, Split, SplitShard};
use super::{MOST_SHARDS, locked, number_of_shards, shard_name, sync_folder};
use crate::messages::{UsageError, print_message};
use crate::stop::{received_signal, stop_at_signals};
use crate::table::thousands;
use crate::usage::HELP;

/// URLs of a shard, if their number is not given.
const URLS_PER_SHARD: u64 = 100_000;
/// Lines that wait in memory, of all shards together.
const MAX_WAITING_BYTES: usize = 32 << 20;
/// First bytes of compressed files.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const ZIP: &[u8] = b"PK\x03\x04";

/// Printed before the options.
const EXAMPLE: &str =
    "Example: httpdyno split urls.txt --shards 16 -o lists   a file for each of 16 machines";
/// Printed after the options.
const MORE: &str = "\
All URLs of a registered domain (example.co.uk) are in one shard, so that one machine limits the requests to its hosts. \
Fetch each shard with fetch --shard 3/16 --from lists --into crawl, then check all with merge crawl. \
The folder has a file per shard and split.json, with the count and the digests of each. It appears when it is complete.

Exit status: 0 the folder is written, 2 an option or the list is wrong, 4 a disk is full, 125 the program failed.

More examples
    httpdyno split urls.txt.zst -o lists     a shard for every 100,000 URLs
    httpdyno split - --shards 16 -o lists < urls.txt     of standard input";

/// The options of `split`.
#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// List of URLs, one a line, also compressed with gzip or zstd; - reads standard input
    #[arg(value_name = "LIST")]
    list: PathBuf,
    /// Number of shards [default: one per 100,000 URLs]
    #[arg(long, value_name = "N", value_parser = number_of_shards)]
    shards: Option<u32>,
    /// Seed of the hash that chooses a shard
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// New folder for the shards [default: the name of the list with .shards]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Splits the list.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let folder = folder(arguments)?;
    if folder.symlink_metadata().is_ok() {
        bail!(UsageError::new(format_args!(
            "--output {}: exists; name a new folder, or remove it",
            folder.display()
        )));
    }
    let of = match arguments.shards {
        Some(of) => of,
        None => number(arguments)?,
    };
    let part = hidden(&folder);
    let named = || format!("--output {}", folder.display());
    fs::create_dir_all(&part).with_context(named)?;
    let Some(_lock) = locked(&part).with_context(named)? else {
        bail!(UsageError::new(format_args!(
            "--output {}: another httpdyno split writes it; wait for its end, or name another folder",
            folder.display()
        )));
    };
    // What a killed command left.
    empty(&part).with_context(named)?;
    let written = write(arguments, &part, of).and_then(|split| {
        if split.is_some() {
            publish(&part, &folder).with_context(named)?;
        }
        Ok(split)
    });
    if !matches!(written, Ok(Some(_))) {
        fs::remove_dir_all(&part).ok();
    }
    let Some(Division { list, .. }) = written? else {
        return Ok(128 + received_signal().unwrap_or_default());
    };
    print_message(format_args!(
        "{} {} in {} {}: {}",
        thousands(list.urls),
        if list.urls == 1 { "URL" } else { "URLs" },
        thousands(of.into()),
        if of == 1 { "shard" } else { "shards" },
        folder.display()
    ));
    Ok(0)
}

/// The folder to write.
fn folder(arguments: &Arguments) -> Result<PathBuf> {
    let is_standard_input = arguments.list.as_os_str() == "-";
    let folder = match &arguments.output {
        Some(folder) => folder.clone(),
        None if is_standard_input => bail!(UsageError::new(
            "--output: is missing, and standard input has no name; add -o FOLDER"
        )),
        None => {
            let mut name = arguments.list.clone().into_os_string();
            name.push(".shards");
            name.into()
        }
    };
    if folder.file_name().is_none() {
        bail!(UsageError::new(format_args!(
            "--output {}: is no name of a folder; write a name such as lists",
            folder.display()
        )));
    }
    Ok(folder)
}

/// The folder until it is complete.
fn hidden(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.part"))
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

fn publish(part: &Path, folder: &Path) -> io::Result<()> {
    rustix::fs::syncfs(File::open(part)?)?;
    fs::rename(part, folder)?;
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// The number of shards for a list of this length.
fn number(arguments: &Arguments) -> Result<u32> {
    if arguments.list.as_os_str() == "-" {
        bail!(UsageError::new(
            "--shards: is missing, and standard input can be read only once; add --shards N"
        ));
    }
    let (mut lines, mut urls) = (open(&arguments.list)?, 0_u64);
    while next(&mut lines, &arguments.list)?.is_some() {
        urls += 1;
    }
    let of = urls.div_ceil(URLS_PER_SHARD).max(1);
    let of = u32::try_from(of).ok().filter(|of| *of <= MOST_SHARDS);
    of.ok_or_else(|| {
        UsageError::new(format_args!(
            "{}: has {} URLs, and so more than {MOST_SHARDS} shards; add --shards N",
            arguments.list.display(),
            thousands(urls)
        ))
        .into()
    })
}

/// Opens the list, whatever its compression.
fn open(list: &Path) -> Result<ListReader<Box<dyn Read>>> {
    let wrong = |error: io::Error| {
        let why = crate::messages::system_message(&error);
        UsageError::new(format_args!(
            "{}: {why}; name a list of URLs",
            list.display()
        ))
    };
    let raw: Box<dyn Read> = if list.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(list).map_err(wrong)?;
        if file.metadata().map_err(wrong)?.is_dir() {
            bail!(UsageError::new(format_args!(
                "{}: is a folder; name a list of URLs",
                list.display()
            )));
        }
        Box::new(file)
    };
    let mut raw = BufReader::with_capacity(256 << 10, raw);
    let first = raw.fill_buf().map_err(wrong)?;
    if first.starts_with(ZIP) {
        bail!(UsageError::new(format_args!(
            "{}: is a zip archive; unpack it, or write: httpdyno urls {} | httpdyno split - --shards N -o FOLDER",
            list.display(),
            list.display()
        )));
    }
    let plain: Box<dyn Read> = if first.starts_with(GZIP) {
        Box::new(flate2::bufread::MultiGzDecoder::new(raw))
    } else if first.starts_with(ZSTD) {
        Box::new(zstd::stream::read::Decoder::with_buffer(raw).map_err(wrong)?)
    } else {
        Box::new(raw)
    };
    Ok(ListReader::new(plain))
}

fn next<R: Read>(lines: &mut ListReader<R>, list: &Path) -> Result<Option<Vec<u8>>> {
    lines.next_line().map_err(|error| {
        let why = crate::messages::system_message(&error);
        UsageError::new(format_args!(
            "{}: {why}; the list cannot be read to its end",
            list.display()
        ))
        .into()
    })
}

/// A shard while the list is read: its lines that are not written yet, and the digest of all.
#[derive(Default)]
struct ShardLines {
    waiting: Vec<u8>,
    digest: LinesDigest,
}

/// Writes the files and the manifest of the list; `None` after a signal.
fn write(arguments: &Arguments, folder: &Path, of: u32) -> Result<Option<Division>> {
    let mut lines = open(&arguments.list)?;
    let next = || next(&mut lines, &arguments.list);
    let Some(division) = write_shards(next, folder, of, arguments.seed)? else {
        return Ok(None);
    };
    if division.list.urls == 0 {
        bail!(UsageError::new(format_args!(
            "{}: has no URLs; write one a line",
            arguments.list.display()
        )));
    }
    Ok(Some(division))
}

/// Writes the lines of the rest of a shard to a new folder; `None` after a signal.
pub fn split_rest(
    lines: impl FnMut() -> Result<Option<Vec<u8>>>,
    folder: &Path,
    of: u32,
    seed: u64,
) -> Result<Option<Division>> {
    let part = hidden(folder);
    let named = || folder.display().to_string();
    fs::create_dir_all(&part).with_context(named)?;
    // What a killed command left.
    empty(&part).with_context(named)?;
    let division = write_shards(lines, &part, of, seed)?;
    if division.is_some() {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(named)?;
        }
        publish(&part, folder).with_context(named)?;
    } else {
        fs::remove_dir_all(&part).ok();
    }
    Ok(division)
}

/// Writes the files and the manifest of the lines that `next` returns; `None` after a signal.
fn write_shards(
    mut next: impl FnMut() -> Result<Option<Vec<u8>>>,
    folder: &Path,
    of: u32,
    seed: u64,
) -> Result<Option<Division>> {
    let stop = stop_at_signals()?;
    let mut parts: Vec<ShardLines> = (0..of).map(|_| ShardLines::default()).collect();
    let (mut list, mut waiting_bytes) = (LinesDigest::default(), 0);
    while let Some(line) = next()? {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        list.add(&line);
        let shard = &mut parts[shard_of(&line, of, seed) as usize - 1];
        shard.digest.add(&line);
        shard.waiting.extend_from_slice(&line);
        shard.waiting.push(b'\n');
        waiting_bytes += line.len() + 1;
        if waiting_bytes > MAX_WAITING_BYTES {
            append(folder, &mut parts)?;
            waiting_bytes = 0;
        }
    }
    append(folder, &mut parts)?;
    let list = list.lines();
    let mut sum = Fingerprint::default();
    let shards = (1..).zip(&parts).map(|(number, shard)| {
        let lines = shard.digest.lines();
        sum = sum.with(lines.fingerprint);
        SplitShard {
            number,
            file: file_name(number, of),
            lines,
        }
    });
    let shards = shards.collect();
    assert_eq!(sum, list.fingerprint, "every line is in one shard");
    let division = Division::new(seed, of, list);
    let split = Split::new(division.clone(), shards);
    manifest::write(&folder.join(SPLIT_FILE), &split)
        .with_context(|| folder.display().to_string())?;
    Ok(Some(division))
}

fn file_name(number: u32, of: u32) -> String {
    format!("{}.txt", shard_name(number, of))
}

/// Appends the waiting lines to their files, of which one is open at a time: there may be more than a process may open.
/// The first call creates all files.
fn append(folder: &Path, parts: &mut [ShardLines]) -> Result<()> {
    let of = u32::try_from(parts.len())?;
    for (number, shard) in (1..).zip(parts) {
        let path = folder.join(file_name(number, of));
        let put = || -> io::Result<()> {
            let mut file = File::options().append(true).create(true).open(&path)?;
            file.write_all(&shard.waiting)
        };
        put().with_context(|| path.display().to_string())?;
        // Its memory is given back: the next lines may belong to other shards.
        shard.waiting = Vec::new();
    }
    Ok(())
}
