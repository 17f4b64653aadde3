//! HTTP tools that agents use in calls.

use domain::{
    id::{AccountId, ToolId},
    ports::store::{HttpTool, KeyTicket, Removal, StoreError, StoreResult, ToolRow},
    prompt::is_built_in,
    time::Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use url::Url;
use utoipa::ToSchema;

use crate::{
    described::{operation::Operation, samples},
    request::checked::{Checked, Reason},
    resources::resource::{self, ChangeTimes, Examples, Names, Resource},
    response::error::{ApiError, ApiResult, Conflict},
    state::RestState,
};
use integrations::{
    calendars::{BOOK_APPOINTMENT, FIND_SLOTS},
    http_tools::problem_of,
};
use net::address_policy::{ALLOW_PRIVATE, AddressPolicy};

/// Maximum length of a name in characters, as language models accept it.
const NAME_CHARACTERS: usize = 64;

/// An HTTP tool.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpTool)]
#[serde(rename_all = "camelCase")]
pub struct ShownTool {
    /// Id of the tool.
    #[schema(value_type = String, format = "uuid")]
    tool_id: ToolId,
    #[serde(flatten)]
    tool: HttpTool,
    /// When the tool was created and last changed.
    metadata: ChangeTimes,
}

impl Resource for ToolRow {
    const NAMES: Names = Names {
        list: "/public/v1/tools",
        one: "/public/v1/tools/{toolId}",
        id: "toolId",
        thing: "tool",
        things: "tools",
        type_name: "Tool",
        creation: "create tool",
        nested: &[],
    };
    type Id = ToolId;
    type Body = HttpTool;
    type Shown = ShownTool;

    fn place(&self) -> (Timestamp, String) {
        (self.created_at, self.id.to_string())
    }

    fn version(&self) -> i64 {
        self.version
    }

    fn body(&self) -> Value {
        json!(self.tool)
    }

    fn shown(&self) -> ShownTool {
        ShownTool {
            tool_id: self.id,
            tool: self.tool.clone(),
            metadata: ChangeTimes::of(self.created_at, self.updated_at),
        }
    }

    fn read(state: &RestState, body: &Map<String, Value>) -> ApiResult<HttpTool> {
        let mut body = Checked::<HttpTool>::of(body);
        body.parse("name", name);
        body.parse("description", |text| Ok(text.trim().to_owned()));
        body.parse("url", |text| web_address(text, &state.address_policy));
        if let Some(reason) = body.sound("parameters").and_then(problem_of) {
            body.problem("parameters", reason);
        }
        body.end()
    }

    fn taken(new: &HttpTool, error: StoreError) -> ApiError {
        match error {
            StoreError::Exists(_) => ApiError::Conflict(Conflict::Changed, is_taken(&new.name)),
            other => other.into(),
        }
    }

    async fn create(
        state: &RestState,
        account: AccountId,
        new: HttpTool,
        ticket: Option<&KeyTicket>,
    ) -> ApiResult<Self> {
        let made = state.store.create_tool(account, new.clone(), ticket).await;
        made.map_err(|error| Self::taken(&new, error))
    }

    async fn find(state: &RestState, account: AccountId, id: ToolId) -> StoreResult<Self> {
        state.store.tool(account, id).await
    }

    async fn page(
        state: &RestState,
        account: AccountId,
        after: Option<(Timestamp, ToolId)>,
        limit: i64,
    ) -> StoreResult<Vec<Self>> {
        state.store.tools(account, after, limit).await
    }

    async fn change(self, state: &RestState, account: AccountId, id: ToolId, new: HttpTool) -> StoreResult<Self> {
        state.store.update_tool(account, id, self.version, new).await
    }

    async fn remove(state: &RestState, account: AccountId, id: ToolId) -> StoreResult<Removal> {
        state.store.delete_tool(account, id).await
    }
}

fn is_taken(name: &str) -> String {
    format!("another tool of this account is called `{name}`: models tell tools by their names; choose another")
}

fn name(text: &str) -> Result<String, Reason> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let message = if !(1..=NAME_CHARACTERS).contains(&text.len()) || !text.chars().all(allowed) {
        format!("must have 1 to {NAME_CHARACTERS} of the characters a-z, A-Z, 0-9, `_` and `-`")
    } else if is_built_in(text) || is_calendars(text) {
        format!("`{text}` is a built-in tool; choose another name")
    } else {
        return Ok(text.to_owned());
    };
    Err(("not_allowed", message))
}

/// Calendar tools are offered beside an agent's own tools, so those cannot have the same names.
fn is_calendars(name: &str) -> bool {
    [FIND_SLOTS, BOOK_APPOINTMENT]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name))
}

/// Checks an address that the service may connect to.
pub fn web_address(text: &str, policy: &AddressPolicy) -> Result<String, Reason> {
    let parsed = Url::parse(text).ok().filter(|url| {
        let http = matches!(url.scheme(), "http" | "https");
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        http && plain && text.contains("://") && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    });
    let parsed = parsed.ok_or_else(|| {
        let message = format!(
            "{text:?} is not a valid HTTP URL: give one such as `https://example.com/hours`, without a password, `#` or \
             spaces"
        );
        ("invalid_url", message)
    })?;
    let allowed = policy.check_literal(&parsed);
    allowed.map_err(|refused| ("address_not_allowed", format!("{refused}; {ALLOW_PRIVATE}")))?;
    Ok(text.to_owned())
}

/// Returns the operations of tools.
pub fn operations() -> Vec<Operation> {
    let day = json!({
        "type": "object",
        "properties": { "day": { "type": "string", "description": "The day of the week." } },
        "required": ["day"],
    });
    let least = json!({ "name": "openingHours", "description": "Tells the opening hours.",
                        "url": "https://example.com/hours" });
    let more = json!({ "name": "openingHoursOf", "description": "Tells the opening hours of a day.", "parameters": day,
                       "url": "https://example.com/hours", "method": "GET", "timeoutMs": 5000 });
    let examples = Examples {
        shown: samples::tool(),
        created: samples::tool(),
        new: json!({ "least": least, "more": more }),
        change: json!({ "timeoutMs": 3000 }),
    };
    let [list, create, show, change, delete] = resource::operations::<ToolRow, HttpTool>(&examples);
    let loopback = "127.0.0.1 is a loopback address; only public addresses are taken";
    let taken = is_taken("openingHours");
    vec![
        list,
        create
            .invalid("url", "address_not_allowed", loopback)
            .conflict("conflict", &taken),
        show,
        change
            .invalid("timeoutMs", "out_of_range", "must be from 100 to 30000, not 50")
            .conflict("conflict", &taken),
        delete.conflict("in_use", "the agent `Ava` holds this tool"),
    ]
}
