//! The body of the requests: text, a file, or one of the two forms of HTML.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use dyno_client::ContentFile;
use dyno_load::{Body, Field, Section};

use super::arguments::Arguments;
use crate::messages::system_message;

/// Longest file that is kept in memory, in bytes.
const LONGEST_IN_MEMORY: u64 = 1 << 20;

/// Longest input of a pipe, and longest file that is searched for placeholders, in bytes.
const LONGEST_READ: u64 = 64 << 20;

/// Media types by the end of a file's name, the same as curl's.
const MEDIA_TYPES: [(&str, &str); 9] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
    (".xml", "application/xml"),
];

/// A field of `--multipart` as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedField {
    name: String,
    value: TypedValue,
    content_type: Option<String>,
    filename: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TypedValue {
    Text(String),
    File(PathBuf),
}

impl TypedField {
    /// Parses `name=value` or `name=@file`, each with `;type=` and `;filename=` behind it, as curl's `-F` does.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, mut value) = text.split_once('=').ok_or_else(|| {
            format!("{text:?} is not a field: write it like name=value or name=@file")
        })?;
        let (mut content_type, mut filename) = (None, None);
        while let Some((before, option)) = value.rsplit_once(';') {
            let option = option.trim_start();
            let quoted = |text: &str| text.trim_matches('"').to_owned();
            if let Some(given) = option.strip_prefix("type=") {
                content_type.get_or_insert_with(|| quoted(given));
            } else if let Some(given) = option.strip_prefix("filename=") {
                filename.get_or_insert_with(|| quoted(given));
            } else {
                break;
            }
            value = before;
        }
        if let Some(wrong) = content_type
            .iter()
            .find(|one: &&String| !one.contains('/') || one.contains(char::is_control))
        {
            return Err(format!(
                "{text:?}: {wrong:?} is not a media type; write it like type=image/png"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            value: match value.strip_prefix('@') {
                Some("") => {
                    return Err(format!(
                        "{text:?} names no file: write it like {name}=@file"
                    ));
                }
                Some(path) => TypedValue::File(path.into()),
                None => TypedValue::Text(value.to_owned()),
            },
            content_type,
            filename,
        })
    }

    fn open(&self) -> Result<Field> {
        let (content, filename) = match &self.value {
            TypedValue::Text(text) => (Section::Text(text.clone()), None),
            TypedValue::File(path) => {
                let name = path.file_name().map(|name| name.to_string_lossy());
                let content = open("--multipart", path)?;
                (content, name.map(std::borrow::Cow::into_owned))
            }
        };
        let filename = self.filename.clone().or(filename);
        let content_type = self.content_type.clone().or_else(|| match self.value {
            TypedValue::Text(_) => None,
            TypedValue::File(_) => {
                Some(media_type(filename.as_deref().unwrap_or_default()).to_owned())
            }
        });
        Ok(Field {
            name: self.name.clone(),
            content,
            filename,
            content_type,
        })
    }
}

/// Parses `name=value` of `--form`.
pub fn form_field(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("{text:?} is not a field: write it like name=value")),
    }
}

fn media_type(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let known = MEDIA_TYPES.iter().find(|(end, _)| name.ends_with(end));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// The body of requests without one of their own.
pub fn body(arguments: &Arguments) -> Result<Option<Body>> {
    if let Some(text) = &arguments.body {
        return Ok(Some(Body::new(vec![Section::Text(text.clone())])));
    }
    if !arguments.form.is_empty() {
        return Ok(Some(Body::form(&arguments.form)));
    }
    if !arguments.multipart.is_empty() {
        let fields = arguments.multipart.iter().map(TypedField::open);
        return Ok(Some(Body::multipart(fields.collect::<Result<_>>()?)));
    }
    let path = arguments.body_file.as_deref();
    path.map(|path| of_file("--body-file", path)).transpose()
}

/// The content of a file; `option` names it in messages.
fn of_file(option: &str, path: &Path) -> Result<Body> {
    Ok(match open(option, path)? {
        Section::Bytes(bytes) => bytes.into(),
        Section::File(file) => match text_with_braces(path, &file)? {
            Some(text) => Body::new(vec![Section::Text(text)]),
            None => Body::new(vec![Section::File(file)]),
        },
        text @ Section::Text(_) => Body::new(vec![text]),
    })
}

/// The files that lines of requests name as their bodies, each opened once.
#[derive(Debug, Default)]
pub struct BodyFiles(HashMap<PathBuf, Body>);

impl BodyFiles {
    /// The content of the file that a line names; `None` without one.
    pub fn body(&mut self, path: Option<PathBuf>) -> Result<Option<Body>> {
        let Some(path) = path else {
            return Ok(None);
        };
        if path == Path::new("-") {
            bail!("body_file: \"-\" is no file; name one");
        }
        if let Some(known) = self.0.get(&path) {
            return Ok(Some(known.clone()));
        }
        let body = of_file("body_file", &path)?;
        self.0.insert(path, body.clone());
        Ok(Some(body))
    }
}

/// Opens a file of a body: a long one is read while it is sent. What is no file, such as a pipe, is read now.
fn open(option: &str, path: &Path) -> Result<Section> {
    let failed = |error: &io::Error| {
        let reason = system_message(error);
        anyhow!(
            "{option} {}: cannot be read: {reason}; name another file",
            path.display()
        )
    };
    if path == Path::new("-") {
        return read_all(option, path, io::stdin().lock());
    }
    let file = File::open(path).map_err(|error| failed(&error))?;
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(failed(&rustix::io::Errno::ISDIR.into()));
    }
    if metadata.is_file() && metadata.len() > LONGEST_IN_MEMORY {
        let file = ContentFile::new(file).map_err(|error| failed(&error))?;
        return Ok(Section::File(Arc::new(file)));
    }
    read_all(option, path, file)
}

fn read_all(option: &str, path: &Path, input: impl Read) -> Result<Section> {
    let mut bytes = Vec::new();
    let read = input.take(LONGEST_READ + 1).read_to_end(&mut bytes);
    let name = path.display();
    read.map_err(|error| {
        let reason = system_message(&error);
        anyhow!("{option} {name}: cannot be read: {reason}; name another file")
    })?;
    if bytes.len() as u64 > LONGEST_READ {
        bail!(
            "{option} {name}: more than {} MiB, and not a file; write it to a file, which is read while it is sent",
            LONGEST_READ >> 20
        );
    }
    Ok(Section::Bytes(bytes.into()))
}

/// The text of a file with double braces, which may be placeholders; only files of moderate length are searched.
fn text_with_braces(path: &Path, file: &ContentFile) -> Result<Option<String>> {
    if file.length() > LONGEST_READ {
        return Ok(None);
    }
    let opened = File::open(path)?;
    if !has_braces(opened)? {
        return Ok(None);
    }
    Ok(String::from_utf8(std::fs::read(path)?).ok())
}

/// Whether two braces follow one another.
fn has_braces(mut input: impl Read) -> io::Result<bool> {
    let mut piece = vec![0; 64 << 10];
    let mut last = 0;
    loop {
        let count = match input.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let read = &piece[..count];
        if last == b'{' && read[0] == b'{' || read.windows(2).any(|pair| pair == b"{{") {
            return Ok(true);
        }
        last = read[count - 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_parsed_as_by_curl() {
        let field = |name: &str, value, content_type: Option<&str>, filename: Option<&str>| {
            Ok(TypedField {
                name: name.to_owned(),
                value,
                content_type: content_type.map(ToOwned::to_owned),
                filename: filename.map(ToOwned::to_owned),
            })
        };
        let text = |text: &str| TypedValue::Text(text.to_owned());
        let file = |path: &str| TypedValue::File(path.into());
        for (given, expected) in [
            ("a=b", field("a", text("b"), None, None)),
            ("a=", field("a", text(""), None, None)),
            ("a=b=c;d", field("a", text("b=c;d"), None, None)),
            (
                "a={};type=application/json",
                field("a", text("{}"), Some("application/json"), None),
            ),
            ("f=@x.png", field("f", file("x.png"), None, None)),
            (
                "f=@x;type=image/png;filename=\"y z.png\"",
                field("f", file("x"), Some("image/png"), Some("y z.png")),
            ),
            (
                "f=@a;b; filename=c",
                field("f", file("a;b"), None, Some("c")),
            ),
            (
                "a",
                Err("\"a\" is not a field: write it like name=value or name=@file".to_owned()),
            ),
            (
                "f=@",
                Err("\"f=@\" names no file: write it like f=@file".to_owned()),
            ),
            (
                "a=b;type=png",
                Err(
                    "\"a=b;type=png\": \"png\" is not a media type; write it like type=image/png"
                        .to_owned(),
                ),
            ),
        ] {
            assert_eq!(TypedField::parse(given), expected, "{given}");
        }
    }

    #[test]
    fn braces_are_found_across_reads() {
        for (pieces, expected) in [
            (&[&b"a{"[..], b"{b"][..], true),
            (&[b"a{{b"], true),
            (&[b"a{", b"b{", b"c"], false),
            (&[b""], false),
        ] {
            let input = pieces
                .iter()
                .fold(Box::new(io::empty()) as Box<dyn Read>, |before, piece| {
                    Box::new(before.chain(*piece))
                });
            assert_eq!(has_braces(input).unwrap(), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_media_type_follows_from_the_name() {
        for (name, expected) in [
            ("a.PNG", "image/png"),
            ("a.jpeg", "image/jpeg"),
            ("a.tar.gz", "application/octet-stream"),
            ("png", "application/octet-stream"),
        ] {
            assert_eq!(media_type(name), expected, "{name}");
        }
    }
}
