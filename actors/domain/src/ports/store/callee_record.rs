//! The other person of a call as the call knew them.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::attempts::ClaimedAttempt;
use crate::agent::OVERRIDE_PREFIX;

/// Most bytes of the fields that are kept with a call, as JSON.
const VARIABLES_BYTES: usize = 64 * 1024;

/// Name and fields of the other person as they were when the call was dialed or came in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalleeRecord {
    /// Name of the other person as it was at the start of the call. Null if there was none, and after erasure.
    #[schema(required)]
    pub contact_name: Option<String>,
    /// Fields of the other person as they were at the start of the call, at most 64 KiB. Null after erasure, and for
    /// calls of older versions whose row in the campaign is gone.
    #[schema(required, value_type = Option<BTreeMap<String, Value>>)]
    pub variables: Option<Map<String, Value>>,
}

impl CalleeRecord {
    /// Creates the record of a call. `email` wins over `fields`, and earlier fields win over later ones. The agent's
    /// overrides and fields beyond the size limit are left out.
    pub fn new<'a>(
        contact_name: Option<String>,
        email: Option<&str>,
        fields: impl IntoIterator<Item = &'a Map<String, Value>>,
    ) -> Self {
        let mut variables: Map<String, Value> = email
            .map(|email| ("email".to_owned(), email.into()))
            .into_iter()
            .collect();
        let mut bytes = 2;
        for (name, value) in fields.into_iter().flatten() {
            let size = name.len() + value.to_string().len() + 4;
            if !name.starts_with(OVERRIDE_PREFIX) && !variables.contains_key(name) && bytes + size <= VARIABLES_BYTES {
                bytes += size;
                variables.insert(name.clone(), value.clone());
            }
        }
        Self {
            contact_name,
            variables: Some(variables),
        }
    }

    /// Returns the person of an attempt that is dialed or comes in now.
    pub fn of(attempt: &ClaimedAttempt) -> Self {
        let contact = &attempt.contact;
        let fields = [&contact.extra, &attempt.variables, &attempt.saved_extra];
        Self::new(contact.name.clone(), contact.email.as_deref(), fields)
    }

    /// Returns the name and the values of the fields as text for searches, each on its own line.
    pub fn text(&self) -> String {
        let values = self
            .variables
            .iter()
            .flat_map(Map::values)
            .filter_map(|value| match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            });
        let lines: Vec<String> = self.contact_name.iter().cloned().chain(values).collect();
        lines.join("\n")
    }
}
