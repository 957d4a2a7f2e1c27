//! The contents of a web, in memory in every coding that it serves.

mod coder;
mod document;
mod pages;
mod source;
mod stream;

pub(crate) use pages::Pages;
pub(crate) use source::Source;
