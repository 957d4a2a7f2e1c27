//! Deviations from the grammar that the tolerant profile reads, by name.

use std::collections::BTreeMap;

/// A deviation that no two readers understand differently, or one reader's framing safely excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deviation {
    /// Empty lines before the status line, of four bytes at most.
    EmptyLineBeforeStatus,
    /// `http/1.1` in another case.
    VersionCase,
    /// A version other than HTTP/1.x: later ones are read as HTTP/1.1, earlier ones as HTTP/1.0.
    VersionNumber,
    /// Several spaces, or tabs, around the status code.
    StatusLineSpace,
    /// LF without CR at the end of a line of a head, of a plain chunk size, after chunk data or in trailers.
    LineFeedAlone,
    /// A field value that continues on the next line, which starts with white space (RFC 9112, 5.2).
    FoldedField,
    /// White space between field name and colon.
    SpaceBeforeColon,
    /// A line that is no field: without a colon, without a valid name, or after white space at the start of the section.
    SkippedLine,
    /// A control character other than NUL, CR and LF in a reason phrase or a field value; read as a space.
    ControlCharacter,
    /// `Content-Length: 2, 2`.
    RepeatedLength,
    /// `Transfer-Encoding` and `Content-Length`: the first decides, and the connection closes after the answer.
    LengthAndTransferEncoding,
    /// `Transfer-Encoding: identity`, or an empty member: as if it were absent.
    IdentityCoding,
    /// `Transfer-Encoding: chunked` more than once: the content is chunked once.
    RepeatedChunked,
    /// A chunk extension outside the grammar.
    ChunkExtension,
}

impl Deviation {
    /// Every deviation, in the order of [`Deviations::iter`].
    pub const ALL: [Self; 14] = [
        Self::EmptyLineBeforeStatus,
        Self::VersionCase,
        Self::VersionNumber,
        Self::StatusLineSpace,
        Self::LineFeedAlone,
        Self::FoldedField,
        Self::SpaceBeforeColon,
        Self::SkippedLine,
        Self::ControlCharacter,
        Self::RepeatedLength,
        Self::LengthAndTransferEncoding,
        Self::IdentityCoding,
        Self::RepeatedChunked,
        Self::ChunkExtension,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EmptyLineBeforeStatus => "empty_line_before_status",
            Self::VersionCase => "version_case",
            Self::VersionNumber => "version_number",
            Self::StatusLineSpace => "status_line_space",
            Self::LineFeedAlone => "line_feed_alone",
            Self::FoldedField => "folded_field",
            Self::SpaceBeforeColon => "space_before_colon",
            Self::SkippedLine => "skipped_line",
            Self::ControlCharacter => "control_character",
            Self::RepeatedLength => "repeated_length",
            Self::LengthAndTransferEncoding => "length_and_transfer_encoding",
            Self::IdentityCoding => "identity_coding",
            Self::RepeatedChunked => "repeated_chunked",
            Self::ChunkExtension => "chunk_extension",
        }
    }

    /// What answers had, after the verb: `3 answers had LF line ends`.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::EmptyLineBeforeStatus => "an empty line before the status line",
            Self::VersionCase => "a version in lower case",
            Self::VersionNumber => "a version other than HTTP/1.x",
            Self::StatusLineSpace => "tabs or several spaces in the status line",
            Self::LineFeedAlone => "LF line ends",
            Self::FoldedField => "folded fields",
            Self::SpaceBeforeColon => "a space before a colon",
            Self::SkippedLine => "lines that are no fields",
            Self::ControlCharacter => "control characters in fields",
            Self::RepeatedLength => "a list in Content-Length",
            Self::LengthAndTransferEncoding => "Transfer-Encoding and Content-Length",
            Self::IdentityCoding => "Transfer-Encoding: identity",
            Self::RepeatedChunked => "Transfer-Encoding: chunked twice",
            Self::ChunkExtension => "malformed chunk extensions",
        }
    }
}

/// A set of deviations: those of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deviations(u16);

impl Deviations {
    /// No deviations.
    pub const NONE: Self = Self(0);

    /// Return whether there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Return whether it has this one.
    #[must_use]
    pub const fn contains(self, deviation: Deviation) -> bool {
        self.0 >> deviation as u16 & 1 == 1
    }

    /// Return the deviations of both sets.
    #[must_use]
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Return its deviations, in the order of [`Deviation::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Deviation> {
        let has = move |deviation: &Deviation| self.contains(*deviation);
        Deviation::ALL.into_iter().filter(has)
    }

    pub(crate) const fn add(&mut self, deviation: Deviation) {
        self.0 |= 1 << deviation as u16;
    }
}

/// Number of answers with each deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviationCounts([u64; Deviation::ALL.len()]);

impl DeviationCounts {
    /// Count one answer with these deviations.
    #[cold]
    pub fn add(&mut self, deviations: Deviations) {
        for deviation in deviations.iter() {
            self.0[deviation as usize] += 1;
        }
    }

    /// Add the counts of other answers.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }

    /// Return the deviations that occurred, by [`Deviation::name`].
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        self.iter()
            .map(|(found, count)| (found.name(), count))
            .collect()
    }

    /// Return the deviations that occurred, with their numbers of answers.
    pub fn iter(&self) -> impl Iterator<Item = (Deviation, u64)> {
        let counted = Deviation::ALL.into_iter().zip(self.0);
        counted.filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deviation_is_counted_under_its_own_name() {
        let mut counts = DeviationCounts::default();
        for deviation in Deviation::ALL {
            let mut one = Deviations::NONE;
            one.add(deviation);
            assert!(one.iter().eq([deviation]));
            counts.add(one);
        }
        let mut names: Vec<_> = counts
            .iter()
            .map(|(found, count)| (found.name(), count))
            .collect();
        assert!(names.iter().all(|(_, count)| *count == 1));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Deviation::ALL.len());
    }
}
