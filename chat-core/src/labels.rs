//! Labels: the host's own small JSON object on a session or a turn. Journaled, never sent to a model.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The most a label object may hold as JSON text, in bytes.
pub const MAX_LABELS_BYTES: usize = 4096;

/// A small JSON object of the host's own, at most [`MAX_LABELS_BYTES`] as text.
///
/// ```
/// use chat_core::Labels;
/// let labels = Labels::new([("channel", "web")]).unwrap();
/// assert_eq!(labels.as_map()["channel"], "web");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Labels(Map<String, Value>);

/// A label object larger than [`MAX_LABELS_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "labels hold at most {MAX_LABELS_BYTES} bytes of JSON, these have {bytes}; keep large things elsewhere and label a reference"
)]
pub struct LabelsError {
    /// Their size as JSON text, in bytes.
    pub bytes: usize,
}

impl Labels {
    /// Labels of keys and values.
    ///
    /// # Errors
    /// [`LabelsError`] where they are larger than [`MAX_LABELS_BYTES`].
    pub fn new<K: Into<String>, V: Into<Value>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, LabelsError> {
        Self::from_map(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    /// Labels of a JSON object.
    ///
    /// # Errors
    /// [`LabelsError`] where it is larger than [`MAX_LABELS_BYTES`].
    pub fn from_map(map: Map<String, Value>) -> Result<Self, LabelsError> {
        let bytes = serde_json::to_string(&map).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_LABELS_BYTES {
            Err(LabelsError { bytes })
        } else {
            Ok(Self(map))
        }
    }

    /// The object.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Labels {
    /// Takes any size: a journal that another program wrote is read as it is.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded_by_their_json() {
        // `{"k":"..."}` is eight bytes longer than the text in it.
        let fits = "x".repeat(MAX_LABELS_BYTES - 8);
        assert_eq!(
            Labels::new([("k", fits.as_str())]).unwrap().as_map()["k"],
            fits
        );
        let error = Labels::new([("k", format!("{fits}x"))]).unwrap_err();
        assert_eq!(error.bytes, MAX_LABELS_BYTES + 1);
        assert!(error.to_string().contains("at most 4096 bytes"), "{error}");
    }

    #[test]
    fn j2_labels_of_any_size_are_read() {
        let text = format!(r#"{{"k":"{}"}}"#, "x".repeat(2 * MAX_LABELS_BYTES));
        let labels: Labels = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&labels).unwrap(), text);
        assert!(serde_json::from_str::<Labels>("[]").is_err());
    }
}
