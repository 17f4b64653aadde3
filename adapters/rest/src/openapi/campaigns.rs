//! Campaigns.

use domain::ports::store::{CalledAgain, ContactsAdded};
use serde_json::{Value, json};

use crate::{
    described::{common::NoFields, operation::Operation, samples},
    resources::{
        campaign_csv::{
            self,
            dry_run::CheckedCsv,
            form::{CsvToCheck, MoreCsvContacts, NewCsvCampaign},
        },
        campaigns::{
            self, StopOptions,
            call_again::CallAgainOptions,
            contacts::MoreContacts,
            create::NewCampaign,
            duplicate::CampaignCopy,
            update::{CampaignPatch, NewSchedule},
            view::{Campaign, ShownResult},
        },
    },
};

const RUNNING: &str = "the campaign is running; pause or stop it first";
const NOTHING: &str = "every contact of this campaign has been dialed";
const LACKS: &str = "language model `openai/gpt` is not configured; `interviewer` needs nothing";

/// Returns the operations of campaigns.
pub fn operations() -> Vec<Operation> {
    let mut operations = vec![list(), create(), create_csv(), check_csv()];
    operations.extend(one());
    operations.extend(commands());
    operations.extend(more_to_dial());
    operations.extend(results());
    operations
}

fn list() -> Operation {
    let status = json!({ "$ref": "#/components/schemas/CampaignStatus" });
    Operation::get(
        "/public/v1/campaigns",
        "listCampaigns",
        "List campaigns, newest first, without their contacts",
    )
    .by(campaigns::list)
    .in_service_document()
    .query(
        "name",
        "Text contained in the name, in any case",
        json!({ "type": "string" }),
    )
    .query("status", "Only campaigns with this status", status)
    .query(
        "active",
        "Only active campaigns, or only inactive ones",
        json!({ "type": "boolean" }),
    )
    .query(
        "cursor",
        "`createdAt` of the last campaign on the previous page",
        json!({ "type": "string", "format": "date-time" }),
    )
    .query(
        "pageSize",
        "Items per page",
        json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 30 }),
    )
    .page::<Campaign>(samples::campaign())
}

fn linked(operation: Operation) -> Operation {
    let names = [
        ("read", "getCampaign"),
        ("change", "updateCampaign"),
        ("schedule", "scheduleCampaign"),
        ("launch", "launchCampaign"),
        ("pause", "pauseCampaign"),
        ("stop", "stopCampaign"),
        ("contacts", "listCampaignContacts"),
        ("results", "campaignResults"),
        ("delete", "deleteCampaign"),
    ];
    names.into_iter().fold(operation, |operation, (name, id)| {
        operation.link(name, id, "campaignId", "/data/campaignId")
    })
}

fn create() -> Operation {
    let operation = Operation::post("/public/v1/campaigns", "createCampaign", "Create a campaign")
        .by(campaigns::create::create)
        .idempotent()
        .body::<NewCampaign>(json!({
            "launched": {
                "name": "Check-ups",
                "agentId": samples::AGENT,
                "contacts": [{ "phoneNumber": samples::PHONE, "name": "Maria", "persona": "cooperative" }],
                "launch": true,
            },
            "scheduled": {
                "name": "Check-ups",
                "agentId": samples::AGENT,
                "contacts": [{ "phoneNumber": samples::PHONE }],
                "scheduled": true,
                "startTime": "09:00",
                "endTime": "17:30",
                "timezone": "Europe/Berlin",
                "followUpCall": true,
                "followUpAttempts": 1,
                "followUpIntervals": [60],
            },
        }))
        .warns()
        .versioned()
        .created::<Campaign>(samples::campaign_detail())
        .invalid(
            "contacts[1].phoneNumber",
            "duplicate_number",
            "`+15550100010` repeats contacts[0]",
        )
        .missing("agent")
        .conflict("not_configured", LACKS);
    linked(operation)
}

fn create_csv() -> Operation {
    let operation = Operation::post(
        "/public/v1/campaigns/csv",
        "createCampaignFromCsv",
        "Create a campaign from a file",
    )
    .by(campaign_csv::create)
    .in_service_document()
    .note(
        "Nothing is saved or dialed unless every row is valid. `phoneNumber phone mobile mobileNumber \
             number contactNumber telephone` are headers of the phone column, `name` and `email` of their columns; \
             `override.language` chooses the language in which the call begins, `override.greetingMessage` and so on override fields of the agent; every other column is stored and available as a variable.",
    )
    .idempotent()
    .form::<NewCsvCampaign>(json!({
        "launched": {
            "file": "phone,name,persona\n+15550100010,Maria,cooperative\n",
            "name": "Check-ups",
            "agentId": samples::AGENT,
            "launch": true,
        },
    }))
    .warns()
    .versioned()
    .created::<Campaign>(samples::campaign_detail())
    .invalid_rows()
    .missing("agent")
    .conflict("not_configured", LACKS);
    linked(operation)
}

fn check_csv() -> Operation {
    let file = "phone,name,persona\n+15550100010,Maria,cooperative\n12ab,Tom,\n+15550100012,Ada,\n";
    Operation::post(
        "/public/v1/campaigns/csv/check",
        "checkCampaignCsv",
        "Check a file of contacts without saving anything",
    )
    .by(campaign_csv::dry_run::check)
    .note("A file without usable rows or columns is refused as in an upload.")
    .form::<CsvToCheck>(json!({ "file": { "file": file, "agentId": samples::AGENT } }))
    .warns_of(
        "1 number begins with a prefix that the account's safeguard `allowedPrefixes` does not list; it only warns",
    )
    .ok::<CheckedCsv>(json!({
        "phoneColumn": "phone", "nameColumn": "name", "overrides": [], "fields": ["persona"],
        "report": samples::row_report(),
        "headers": ["phone", "name", "persona"],
        "firstRows": [[samples::PHONE, "Maria", "cooperative"], ["12ab", "Tom", ""], ["+15550100012", "Ada", ""]],
        "problems": [], "duplicates": 0, "doNotCall": 1,
        "doNotCallRows": [{ "line": 4, "phoneNumber": "+15550100012" }],
        "timeZones": [{ "zones": ["America/New_York"], "numbers": 2 }],
        "firstContacts": [{ "phoneNumber": samples::PHONE, "name": "Maria", "persona": "cooperative" }],
    }))
    .invalid("file", "missing_phone_column", "no phone column")
    .missing("agent")
}

fn one() -> Vec<Operation> {
    vec![
        Operation::get("/public/v1/campaigns/{campaignId}", "getCampaign", "Read a campaign")
            .by(campaigns::show)
            .warns()
            .versioned()
            .ok::<Campaign>(samples::campaign_detail()),
        Operation::patch(
            "/public/v1/campaigns/{campaignId}",
            "updateCampaign",
            "Change a campaign that is not running",
        )
        .by(campaigns::update::patch)
        .in_service_document()
        .note("Changing contacts, agent or schedule replaces a waiting job.")
        .body::<CampaignPatch>(json!({
            "nothing": {},
            "name": { "name": "Check-ups, autumn" },
            "unscheduled": { "scheduled": false, "endTime": null },
            "contacts": { "contacts": [{ "phoneNumber": samples::PHONE, "name": "Maria" }] },
        }))
        .warns()
        .versioned()
        .ok::<Campaign>(samples::campaign_detail())
        .invalid("contacts", "required", "must hold at least one contact")
        .missing("agent")
        .conflict("campaign_running", RUNNING)
        .conflict(
            "invalid_transition",
            "a delayed campaign cannot be changed in this way; allowed now: pause, stop",
        )
        .conflict("nothing_to_dial", NOTHING)
        .conflict("not_configured", LACKS)
        .conflict(
            "conflict",
            "it was changed by another request at the same time; read it again",
        ),
        Operation::delete(
            "/public/v1/campaigns/{campaignId}",
            "deleteCampaign",
            "Delete a campaign",
        )
        .by(campaigns::update::delete)
        .deletes("CampaignDeleted", "campaignId", &json!(samples::CAMPAIGN))
        .conflict("campaign_running", RUNNING)
        .conflict(
            "conflict",
            "it was changed by another request at the same time; read it again",
        ),
        Operation::post(
            "/public/v1/campaigns/{campaignId}/schedule",
            "scheduleCampaign",
            "Dial on a schedule",
        )
        .by(campaigns::update::schedule)
        .in_service_document()
        .note(
            "Dialing starts at `startTime` in the time zone, pauses after `endTime` and resumes at the next \
                 day's `startTime`. A paused or stopped campaign resumes at its `startIndex`.",
        )
        .body::<NewSchedule>(json!({
            "daily": { "startTime": "09:00", "endTime": "17:30", "timezone": "Europe/Berlin" },
            "once": { "startTime": "2026-06-01T09:00", "timezone": "Europe/Berlin" },
        }))
        .warns()
        .versioned()
        .ok::<Campaign>(samples::campaign_detail())
        .invalid(
            "timezone",
            "invalid_value",
            "`Mars/X` is not an IANA time zone such as Europe/Berlin",
        )
        .conflict("campaign_running", RUNNING)
        .conflict(
            "invalid_transition",
            "a running campaign cannot be scheduled; allowed now: pause, stop",
        )
        .conflict("nothing_to_dial", NOTHING)
        .conflict("not_configured", LACKS),
    ]
}

fn commands() -> Vec<Operation> {
    let nothing = || json!({ "nothing": {} });
    vec![
        Operation::post("/public/v1/campaigns/{campaignId}/launch", "launchCampaign", "Dial now")
            .by(campaigns::launch)
            .optional_body::<NoFields>(nothing())
            .warns()
            .versioned()
            .ok::<Campaign>(samples::campaign_detail())
            .conflict(
                "invalid_transition",
                "a running campaign cannot be launched; allowed now: pause, stop",
            )
            .conflict("nothing_to_dial", NOTHING)
            .conflict("not_configured", LACKS),
        Operation::post(
            "/public/v1/campaigns/{campaignId}/pause",
            "pauseCampaign",
            "Pause dialing",
        )
        .by(campaigns::pause)
        .note("Calls in progress continue to their end; no dial starts later than five seconds after the response.")
        .optional_body::<NoFields>(nothing())
        .warns()
        .versioned()
        .ok::<Campaign>(samples::campaign_detail())
        .conflict(
            "invalid_transition",
            "a draft campaign cannot be paused; allowed now: launch, schedule",
        ),
        Operation::post("/public/v1/campaigns/{campaignId}/stop", "stopCampaign", "End dialing")
            .by(campaigns::stop)
            .optional_body::<StopOptions>(json!({ "nothing": {}, "now": { "hangUp": true } }))
            .warns()
            .versioned()
            .ok::<Campaign>(samples::campaign_detail())
            .conflict(
                "invalid_transition",
                "a draft campaign cannot be stopped; allowed now: launch, schedule",
            ),
    ]
}

fn more_to_dial() -> Vec<Operation> {
    let added = || {
        json!({
            "campaignId": samples::CAMPAIGN,
            "status": "running",
            "contactCount": 3,
            "added": 2,
            "alreadyPresent": 1,
            "alreadyPresentRows": [2],
        })
    };
    let note = "Nothing is added unless all of it is valid. A number that the campaign has already is reported \
                and not added. A completed campaign is paused afterwards; launch it to dial.";
    vec![
        Operation::post(
            "/public/v1/campaigns/{campaignId}/contacts",
            "addCampaignContacts",
            "Add contacts to a campaign",
        )
        .by(campaigns::add::add)
        .note(note)
        .idempotent()
        .body::<MoreContacts>(json!({
            "contacts": { "contacts": [{ "phoneNumber": samples::PHONE, "name": "Maria" }] },
        }))
        .warns()
        .ok::<ContactsAdded>(added())
        .invalid("contacts", "required", "must hold at least one contact"),
        Operation::post(
            "/public/v1/campaigns/{campaignId}/contacts/csv",
            "addCampaignContactsFromCsv",
            "Add the contacts of a file to a campaign",
        )
        .by(campaign_csv::add)
        .note(note)
        .idempotent()
        .form::<MoreCsvContacts>(json!({ "file": { "file": "phone,name\n+15550100010,Maria\n" } }))
        .warns()
        .ok::<ContactsAdded>(added())
        .invalid_rows(),
        Operation::post(
            "/public/v1/campaigns/{campaignId}/call-again",
            "callCampaignContactsAgain",
            "Call contacts again that were not reached",
        )
        .by(campaigns::call_again::call_again)
        .note(
            "Each contact whose last outcome is named gets one more attempt, due at once. A call of unknown outcome \
             is not repeated. A completed campaign is paused afterwards; launch it to dial.",
        )
        .idempotent()
        .optional_body::<CallAgainOptions>(json!({
            "nothing": {},
            "machines": { "outcomes": ["no-answer", "voicemail"] },
        }))
        .warns()
        .ok::<CalledAgain>(json!({ "campaignId": samples::CAMPAIGN, "status": "running", "contacts": 12 }))
        .invalid(
            "outcomes[0]",
            "invalid_value",
            "`lost` is not one of failed, no-answer, busy, rejected, voicemail, cancelled",
        )
        .conflict(
            "invalid_transition",
            "a stopped campaign calls nobody again; launch it first, or duplicate it",
        ),
        linked(
            Operation::post(
                "/public/v1/campaigns/{campaignId}/duplicate",
                "duplicateCampaign",
                "Create a draft with the settings and contacts of a campaign",
            )
            .by(campaigns::duplicate::duplicate)
            .idempotent()
            .optional_body::<CampaignCopy>(json!({
                "nothing": {},
                "empty": { "name": "Check-ups, autumn", "contacts": "none" },
            }))
            .warns()
            .versioned()
            .created::<Campaign>(samples::campaign_detail())
            .missing("agent")
            .conflict(
                "conflict",
                "its contacts were replaced at the same time; send the request again",
            ),
        ),
    ]
}

fn results() -> Vec<Operation> {
    let row = json!({
        "phoneNumber": samples::PHONE,
        "name": "Maria",
        "contactId": null,
        "status": "completed",
        "attempts": 1,
        "lastConversationId": samples::CONVERSATION,
        "voiceMailDetected": false,
        "dataCollected": {
            "entity": "preferredDay",
            "value": "Tuesday",
            "items": [{ "entity": "preferredDay", "value": "Tuesday", "type": "string", "confirmed": true,
                         "evidence": { "turn": 1, "quote": "Tuesday, please." } }],
        },
    });
    let events = "event: campaign\ndata: {\"campaignId\":\"…\",\"status\":\"running\",\"progress\":{…}}\n\n";
    vec![
        Operation::get(
            "/public/v1/campaigns/{campaignId}/events",
            "campaignEvents",
            "Get the events of a campaign",
        )
        .by(campaigns::events::stream)
        .note(
            "Server-sent events: `campaign` (status, progress, and the `reason` of `delayed` or `failed`) \
                 and `conversation` (conversationId, contact, contactName, variables, status), each with the complete current value; a new reader \
                 first gets the current state.",
        )
        .raw(
            "200",
            "text/event-stream",
            "Endless stream of events",
            json!({ "type": "string" }),
            json!(events),
        ),
        Operation::get(
            "/public/v1/campaigns/{campaignId}/contacts",
            "listCampaignContacts",
            "List the results of each contact",
        )
        .by(campaigns::results::list)
        .query(
            "status",
            "Only contacts with this status",
            json!({ "$ref": "#/components/schemas/ContactStatus" }),
        )
        .query(
            "search",
            "Text contained in the name, in any case, or digits contained in the number",
            json!({ "type": "string" }),
        )
        .paged()
        .page::<ShownResult>(row),
        Operation::get(
            "/public/v1/campaigns/{campaignId}/results.csv",
            "campaignResults",
            "Get the results as a file",
        )
        .by(campaigns::results::file)
        .note(
            "Cells that a spreadsheet would interpret as formulas are escaped, phone numbers and other numbers aside. A \
             column `collected.NAME` for each collected value, and the contacts' own columns, follow those of the result. \
             The file can be uploaded as a new campaign.",
        )
        .bom()
        .raw(
            "200",
            "text/csv",
            "One line per contact",
            json!({ "type": "string" }),
            Value::Null,
        ),
    ]
}
