//! HTTP Archive (HAR 1.2), entry by entry: the contents of answers, most of such a file, are never in memory.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::time::At;
use super::{Line, Recorded, Target, is_kept};
use crate::jsonl::{Described, reason};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    request: Request,
    #[serde(rename = "_fromCache")]
    from_cache: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    text: Option<String>,
    #[serde(default)]
    params: Vec<Pair>,
}

/// Reads all entries and gives each to `take`; its error ends the reading.
pub(super) fn read(
    reader: impl Read,
    mut take: impl FnMut(Result<Line, String>) -> Result<(), String>,
) -> Result<(), String> {
    let mut refusal = None;
    let mut json = serde_json::Deserializer::from_reader(reader);
    let log = Log {
        take: &mut take,
        refusal: &mut refusal,
    };
    let read = json
        .deserialize_map(Only("log", log))
        .and_then(|()| json.end());
    match (refusal, read) {
        (Some(refusal), _) => Err(refusal),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(format!(
            "no complete HAR file: line {}: {}; export it again",
            error.line(),
            reason(&error)
        )),
    }
}

/// Reads one value of an object and ignores the others.
struct Only<S>(&'static str, S);

impl<'de, S: DeserializeSeed<'de, Value = ()>> Visitor<'de> for Only<S> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with {:?}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(name, seed) = self;
        let mut seed = Some(seed);
        while let Some(key) = map.next_key::<String>()? {
            match seed.take_if(|_| key == name) {
                Some(seed) => map.next_value_seed(seed)?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match seed {
            None => Ok(()),
            Some(_) => Err(A::Error::missing_field(name)),
        }
    }
}

/// The object `log`, whose entries are read.
struct Log<'t, T> {
    take: &'t mut T,
    refusal: &'t mut Option<String>,
}

impl<'de, T: FnMut(Result<Line, String>) -> Result<(), String>> DeserializeSeed<'de>
    for Log<'_, T>
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(Only("entries", Entries(self)))
    }
}

struct Entries<'t, T>(Log<'t, T>);

impl<'de, T: FnMut(Result<Line, String>) -> Result<(), String>> DeserializeSeed<'de>
    for Entries<'_, T>
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: FnMut(Result<Line, String>) -> Result<(), String>> Visitor<'de> for Entries<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Log { take, refusal } = self.0;
        while let Some(entry) = entries.next_element::<Entry>()? {
            if let Err(reason) = take(line(entry)) {
                *refusal = Some(reason);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

fn line(entry: Entry) -> Result<Line, String> {
    let skipped = |reason: &str| Ok(Line::Skipped(reason.to_owned()));
    let Request {
        method,
        url,
        headers,
        post_data,
    } = entry.request;
    let scheme = url.split(':').next().unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return skipped("not of HTTP (data:, blob:, WebSocket)");
    }
    if entry.from_cache.is_some() {
        return skipped("answered by the browser's cache");
    }
    let started = entry.started_date_time;
    let at = At::from_text(&started)
        .ok_or_else(|| format!("startedDateTime: {started:?} is not a time of ISO 8601"))?;
    let headers = headers
        .into_iter()
        .filter(|pair| is_kept(&pair.name))
        .map(|pair| (pair.name, pair.value));
    Ok(Line::Request(Box::new(Recorded {
        at,
        target: Target::Url(url),
        described: Described {
            method: Some(method),
            headers: headers.collect(),
            body: post_data.and_then(body).map(Into::into),
            ..Described::default()
        },
    })))
}

/// The content of a request: its text, or the fields of a form.
fn body(data: PostData) -> Option<String> {
    if data.text.is_some()
        || !data
            .mime_type
            .starts_with("application/x-www-form-urlencoded")
    {
        return data.text;
    }
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(data.params.iter().map(|pair| (&pair.name, &pair.value)));
    Some(form.finish())
}
