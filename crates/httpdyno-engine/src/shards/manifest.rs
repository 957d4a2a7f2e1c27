//! The manifests of a split list and of a fetched shard, as JSON files.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use dyno_fetch::{Lines, RULE, hex};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::number_of_shards;
use crate::messages::system_message;

/// Manifest of a folder that `split` has written.
pub const SPLIT_FILE: &str = "split.json";
/// Manifest of a fetched shard.
pub const SHARD_FILE: &str = "manifest.json";
/// The forms of manifests; another form has another number.
const SPLIT_SCHEMA: &str = "httpdyno-split 1";
const SHARD_SCHEMA: &str = "httpdyno-shard 1";
/// First part of the names of reports.
const REPORT: &str = "report-";
/// Last part of the name of a file that is being written.
const UNFINISHED: &str = ".part";
/// Longest manifest: 100,000 shards of a split list take 25 MB.
const MAX_BYTES: u64 = 256 << 20;

/// A list, and how it is divided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    /// Version of httpdyno that divided it.
    pub httpdyno: String,
    /// Name of the rule, [`RULE`].
    pub rule: String,
    /// Seed of the hash.
    pub seed: u64,
    /// Number of shards.
    pub of: u32,
    /// The whole list.
    pub list: Lines,
}

impl Division {
    /// Creates the division of a list by this version.
    pub fn new(seed: u64, of: u32, list: Lines) -> Self {
        Self {
            httpdyno: env!("CARGO_PKG_VERSION").to_owned(),
            rule: RULE.to_owned(),
            seed,
            of,
            list,
        }
    }

    /// Whether two shards belong together; the version of httpdyno does not matter.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.rule, self.seed, self.of, &self.list)
            == (&other.rule, other.seed, other.of, &other.list)
    }
}

/// A list that was split into files.
#[derive(Debug, Serialize, Deserialize)]
pub struct Split {
    /// [`SPLIT_SCHEMA`].
    pub schema: String,
    /// The list.
    #[serde(flatten)]
    pub division: Division,
    /// A file for each shard, in their order.
    pub shards: Vec<SplitShard>,
}

/// A file of a split list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SplitShard {
    /// Number of the shard, from 1.
    pub number: u32,
    /// Name of the file in the folder.
    pub file: String,
    /// Its lines.
    #[serde(flatten)]
    pub lines: Lines,
}

/// A fetched shard.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fetched {
    /// [`SHARD_SCHEMA`].
    pub schema: String,
    /// The list.
    #[serde(flatten)]
    pub division: Division,
    /// Number of the shard, from 1.
    pub number: u32,
    /// Lines of the shard, in the order of the list.
    pub lines: Lines,
    /// Its rows: one for each line.
    pub rows: Rows,
    /// The other files of the folder.
    pub files: Vec<Stored>,
    /// How the other URLs of a divided shard were split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Division>,
}

/// The file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// The file.
    #[serde(flatten)]
    pub stored: Stored,
    /// Form of the rows, as `--format` names it.
    pub format: Form,
    /// Whether the first line has the names of the columns.
    pub column_names: bool,
}

/// A form of rows that a shard may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Fields separated by commas, quoted.
    Csv,
    /// JSON objects.
    Jsonl,
    /// Fields separated by commas, not quoted.
    Contract,
}

impl Form {
    /// The name of the file of rows.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Csv => "rows.csv",
            Self::Jsonl => "rows.jsonl",
            Self::Contract => "rows.txt",
        }
    }
}

/// A file as it was when the shard was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Path within the folder of the shard.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Its digest; `None`: it was not computed, as for archives.
    pub sha256: Option<String>,
}

impl Split {
    /// Creates the manifest of a list.
    pub fn new(division: Division, shards: Vec<SplitShard>) -> Self {
        Self {
            schema: SPLIT_SCHEMA.to_owned(),
            division,
            shards,
        }
    }

    /// Reads the manifest of a folder; the error says what is wrong with it.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let split: Self = read(&folder.join(SPLIT_FILE), SPLIT_SCHEMA)?;
        let numbers = split.shards.iter().map(|shard| shard.number);
        if !numbers.eq(1..=split.division.of) {
            return Err(damaged(
                "its shards are not numbered from 1 to their number",
            ));
        }
        if split.shards.iter().any(|shard| shard.file.contains('/')) {
            return Err(damaged("a file of it is in another folder"));
        }
        Ok(split)
    }
}

impl Fetched {
    /// Creates the manifest of a shard.
    pub fn new(
        division: Division,
        number: u32,
        lines: Lines,
        rows: Rows,
        files: Vec<Stored>,
        rest: Option<Division>,
    ) -> Self {
        Self {
            schema: SHARD_SCHEMA.to_owned(),
            division,
            number,
            lines,
            rows,
            files,
            rest,
        }
    }

    /// Reads the manifest of a shard; the error says what is wrong with it.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let shard: Self = read(&folder.join(SHARD_FILE), SHARD_SCHEMA)?;
        number_of_shards(&shard.division.of.to_string()).map_err(|why| damaged(&why))?;
        if !(1..=shard.division.of).contains(&shard.number) {
            return Err(damaged("it has no number from 1 to the number of shards"));
        }
        Ok(shard)
    }
}

fn damaged(why: &str) -> String {
    format!("the manifest is damaged: {why}")
}

fn read<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    let mut text = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    opened.map_err(|error| format!("{name}: {}", system_message(&error)))?;
    let header: Header =
        serde_json::from_slice(&text).map_err(|error| damaged(&error.to_string()))?;
    if header.schema != schema {
        return Err(format!(
            "the manifest is of the form {:?}, this version reads {schema:?}",
            header.schema
        ));
    }
    serde_json::from_slice(&text).map_err(|error| damaged(&error.to_string()))
}

/// Name of the report of a start of `fetch`.
pub fn report_name(start: u32) -> String {
    format!("{REPORT}{start:05}.json")
}

/// Whether a file of a shard is the report of a start.
pub fn is_report(file: &str) -> bool {
    let number = file
        .strip_prefix(REPORT)
        .and_then(|rest| rest.strip_suffix(".json"));
    number.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether a file is one that [`write`] has not finished.
pub fn is_unfinished(file: &str) -> bool {
    file.ends_with(UNFINISHED)
}

/// Writes a manifest, or another JSON file, which appears complete or not at all.
pub fn write(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(UNFINISHED);
    let part = path.with_file_name(name);
    let mut text = serde_json::to_vec_pretty(content)?;
    text.push(b'\n');
    let mut file = File::create(&part)?;
    file.write_all(&text)?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

/// Examines a file of a folder; `is_digested`: its digest is computed, too.
pub fn examine(folder: &Path, name: &str, is_digested: bool) -> io::Result<Stored> {
    let mut file = File::open(folder.join(name))?;
    let mut digest = Sha256::new();
    let bytes = if is_digested {
        copy_into(&mut file, &mut digest)?
    } else {
        file.metadata()?.len()
    };
    Ok(Stored {
        file: name.to_owned(),
        bytes,
        sha256: is_digested.then(|| hex(&digest.finalize())),
    })
}

fn copy_into(file: &mut File, digest: &mut Sha256) -> io::Result<u64> {
    let (mut bytes, mut piece) = (0, vec![0; 256 << 10]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => {
                digest.update(&piece[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
