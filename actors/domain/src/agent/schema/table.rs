//! The agent object of the API as a table: type, range and allowed values of every path.

use super::{
    rules::{self, SIP_CHARS},
    shape::{Field, Rule, Shape, optional, required},
};
use crate::{
    agent::{calendars::CALENDARS, tools::MOST_TOOLS},
    template::{DISCLOSURE_CHARS, INSTRUCTION_CHARS, SPOKEN_CHARS, VALUE_BYTES},
};

/// Names of carriers for an agent's numbers, as the API has them. `plain` is the endpoint for calls over the caller's own
/// WebSocket; no calls are placed there. The registry of carriers has the same, and a test there compares them.
pub const PROVIDERS: &[&str] = &[
    "twilio",
    "signalwire",
    "telnyx",
    "vonage",
    "asterisk",
    "simulated",
    "plain",
];

/// Longest name, label or identifier, in characters.
const NAME_CHARS: usize = 200;
/// Longest announcement that somebody may listen, in characters.
const ANNOUNCEMENT_CHARS: usize = 200;
/// Longest URL, in characters.
const URL_CHARS: usize = 2048;
/// Most items of a list.
const LIST_ITEMS: usize = 1000;

const FORMATS: Shape = Shape::OneOf(&[
    "pcm_8000",
    "pcm_16000",
    "pcm_22050",
    "pcm_24000",
    "pcm_44100",
    "pcm_48000",
    "ulaw_8000",
]);
const UNIT: Shape = number(0.0, 1.0);
const DURATION: Shape = integer(1, 14_400);
const SPEED: Shape = number(0.5, 2.0);
const NAME: Shape = text(NAME_CHARS, rules::not_blank);
const LABEL: Shape = text(NAME_CHARS, rules::any);
const SENTENCE: Shape = text(SPOKEN_CHARS, rules::any);
const DISCLOSURE: Shape = text(DISCLOSURE_CHARS, rules::not_blank);
const PHONE: Shape = Shape::Phone;
const NAMES: Shape = list(&NAME);
const TOOL_IDS: Shape = Shape::List {
    max: MOST_TOOLS,
    item: &NAME,
};
const EMAILS: Shape = list(&text(crate::email::MAX_CHARS, rules::email_address));

/// Fields of an agent that clients write.
pub(crate) const AGENT: Shape = Shape::Section(&[
    required("name", text(NAME_CHARS, rules::any)),
    optional("direction", Shape::OneOf(&["outbound", "inbound", "both"])),
    optional("tags", NAMES),
    required("conversationConfig", Shape::Section(CONVERSATION_CONFIG)),
    optional("platformSettings", Shape::Section(PLATFORM_SETTINGS)),
    optional("phoneNumbers", list(&Shape::Section(PHONE_NUMBER))),
    optional("workflow", Shape::Section(WORKFLOW)),
]);

const PHONE_NUMBER: &[Field] = &[
    optional("provider", Shape::OneOf(PROVIDERS)),
    required("number", PHONE),
    optional("label", LABEL),
];

const WORKFLOW: &[Field] = &[
    optional("edges", Shape::Map(&Shape::Open(EDGE))),
    optional("nodes", Shape::Map(&Shape::Any)),
    optional("preventSubagentLoops", Shape::Flag),
    optional("router", NAME),
];

const EDGE: &[Field] = &[required("source", LABEL), required("target", LABEL)];

const CONVERSATION_CONFIG: &[Field] = &[
    required("agent", Shape::Section(AGENT_SECTION)),
    optional("asr", Shape::Section(ASR)),
    optional("turn", Shape::Section(TURN)),
    optional("tts", Shape::Section(TTS)),
    optional(
        "conversation",
        Shape::Section(&[
            optional("maxDurationSeconds", DURATION),
            optional("listeningAnnouncement", text(ANNOUNCEMENT_CHARS, rules::any)),
        ]),
    ),
    optional(
        "languagePresets",
        Shape::Languages(&Shape::Open(&[optional("overrides", Shape::Open(OVERRIDES))])),
    ),
];

/// Fields that a language preset may change, with the rules of the fields they change. Other fields are
/// stored as they are sent, also in the items of lists.
const OVERRIDES: &[Field] = &[
    optional(
        "agent",
        Shape::Open(&[
            optional("prompt", Shape::Open(PROMPT_OVERRIDES)),
            optional("greetingMessage", SENTENCE),
            optional("hinglishMode", Shape::Flag),
            optional("dynamicVariables", Shape::Map(&Shape::Scalar { max: VALUE_BYTES })),
            optional("disableFirstMessageInterruptions", Shape::Flag),
        ]),
    ),
    optional("asr", Shape::Open(ASR)),
    optional("turn", Shape::Open(TURN)),
    optional("disclosure", Shape::Open(&[optional("text", DISCLOSURE)])),
    optional(
        "tts",
        Shape::Open(&tts(
            &Shape::Open(VOICE),
            &Shape::Open(AUDIO_TAG),
            &Shape::Open(DICTIONARY),
        )),
    ),
];

const PROMPT_OVERRIDES: &[Field] = &[
    optional("prompt", text(INSTRUCTION_CHARS, rules::any)),
    optional("llm", NAME),
    optional("temperature", number(0.0, 2.0)),
    optional("ignoreDefaultPersonality", Shape::Flag),
    optional("timezone", text(64, rules::timezone)),
];

/// Fields that one call may override, with the rules of the agent's own.
pub(crate) const CALL_OVERRIDES: Shape = Shape::Section(&[
    optional("prompt", text(INSTRUCTION_CHARS, rules::not_blank)),
    optional("greetingMessage", SENTENCE),
    optional("voiceId", NAME),
    optional("llm", NAME),
    optional("firstSpeaker", Shape::OneOf(&["agent", "user"])),
    optional("maxDurationSeconds", DURATION),
]);

const AGENT_SECTION: &[Field] = &[
    required("prompt", Shape::Section(PROMPT)),
    optional("greetingMessage", SENTENCE),
    optional("primaryLanguage", text(35, rules::language)),
    optional("hinglishMode", Shape::Flag),
    optional("dynamicVariables", Shape::Map(&Shape::Scalar { max: VALUE_BYTES })),
    optional("disableFirstMessageInterruptions", Shape::Flag),
];

const PROMPT: &[Field] = &[
    required("prompt", text(INSTRUCTION_CHARS, rules::any)),
    optional("llm", NAME),
    optional("temperature", number(0.0, 2.0)),
    optional("toolIds", TOOL_IDS),
    optional("builtInTools", Shape::Section(BUILT_IN_TOOLS)),
    optional("knowledgeBase", NAMES),
    optional("ignoreDefaultPersonality", Shape::Flag),
    optional("timezone", text(64, rules::timezone)),
];

const BUILT_IN_TOOLS: &[Field] = &[
    optional("endCall", Shape::Section(&[ENABLED, DESCRIPTION, PROTECTED])),
    optional("languageDetection", Shape::Section(&[ENABLED, DESCRIPTION, PROTECTED])),
    optional("skipTurn", Shape::Section(&[ENABLED, DESCRIPTION, PROTECTED])),
    optional(
        "transferToAgent",
        Shape::Section(&[
            ENABLED,
            DESCRIPTION,
            PROTECTED,
            optional("transfers", list(&Shape::Section(AGENT_TRANSFER))),
        ]),
    ),
    optional(
        "transferToNumber",
        Shape::Section(&[
            ENABLED,
            DESCRIPTION,
            PROTECTED,
            optional("transferRuleIds", NAMES),
            optional("transfers", list(&Shape::Section(NUMBER_TRANSFER))),
        ]),
    ),
    optional(
        "voicemailDetection",
        Shape::Section(&[ENABLED, DESCRIPTION, PROTECTED, optional("voicemailMessage", SENTENCE)]),
    ),
];

const ENABLED: Field = optional("enabled", Shape::Flag);
const DESCRIPTION: Field = optional("description", SENTENCE);
const PROTECTED: Field = optional("disableInterruption", Shape::Flag);

const AGENT_TRANSFER: &[Field] = &[
    required("agentId", NAME),
    optional("condition", SENTENCE),
    optional("delayMs", integer(0, 600_000)),
    optional("transferMessage", SENTENCE),
    optional("enableTransferredAgentFirstMessage", Shape::Flag),
];

const NUMBER_TRANSFER: &[Field] = &[TRANSFER_TYPE, CONDITION, DESTINATION];

/// A transfer rule as clients write it.
pub(crate) const TRANSFER_RULE: Shape =
    Shape::Section(&[required("name", NAME), TRANSFER_TYPE, CONDITION, DESTINATION]);

const TRANSFER_TYPE: Field = optional("transferType", Shape::OneOf(&["blind", "conference", "sip_refer"]));
const CONDITION: Field = optional("condition", SENTENCE);
const DESTINATION: Field = optional(
    "transferDestination",
    Shape::Section(&[
        optional("type", Shape::OneOf(&["phone", "sip_uri"])),
        optional("phoneNumber", PHONE),
        optional("sipUri", text(SIP_CHARS, rules::sip_uri)),
    ]),
);

const ASR: &[Field] = &[optional("userInputAudioFormat", FORMATS), optional("keywords", NAMES)];

const TURN: &[Field] = &[
    optional("turnTimeout", number_or_never(1.0, 30.0)),
    optional("silenceEndCallTimeout", number_or_never(1.0, 3600.0)),
    optional("turnEagerness", Shape::OneOf(&["patient", "normal", "eager"])),
    optional("spellingPatience", Shape::OneOf(&["auto", "off"])),
];

const TTS: &[Field] = &tts(
    &Shape::Section(VOICE),
    &Shape::Section(AUDIO_TAG),
    &Shape::Section(DICTIONARY),
);

/// Returns the fields of `tts` with these shapes as the items of its lists.
const fn tts(voice: &'static Shape, tag: &'static Shape, dictionary: &'static Shape) -> [Field; 10] {
    [
        optional("voiceId", NAME),
        optional("supportedVoices", list(voice)),
        optional("expressiveMode", Shape::Flag),
        optional("suggestedAudioTags", list(tag)),
        optional("agentOutputAudioFormat", FORMATS),
        optional("optimizeStreamingLatency", integer(0, 4)),
        optional("stability", UNIT),
        optional("speed", SPEED),
        optional("similarityBoost", UNIT),
        optional("pronunciationDictionary", list(dictionary)),
    ]
}

const VOICE: &[Field] = &[
    optional("label", text(NAME_CHARS, rules::voice_label)),
    optional("voiceId", NAME),
    optional("language", LABEL),
    optional("stability", UNIT),
    optional("speed", SPEED),
    optional("similarityBoost", UNIT),
];

const AUDIO_TAG: &[Field] = &[optional("tag", LABEL), optional("description", SENTENCE)];

const DICTIONARY: &[Field] = &[
    required("provider", Shape::OneOf(&["elevenlabs", "cartesia"])),
    required("pronunciationDictionaryId", NAME),
    optional("versionId", NAME),
];

const PLATFORM_SETTINGS: &[Field] = &[
    optional("callActions", Shape::Section(CALL_ACTIONS)),
    optional("widget", Shape::Open(&[])),
    optional(
        "dataCollection",
        Shape::Section(&[
            optional("entities", Shape::Map(&Shape::Open(ENTITY))),
            optional("storeData", Shape::Flag),
        ]),
    ),
    optional(
        "callRetry",
        Shape::Section(&[
            optional("retryCount", integer(0, 10)),
            optional("retryDelay", integer(0, 10_080)),
        ]),
    ),
    optional("summaryLanguage", text(NAME_CHARS, rules::any)),
    optional("privacy", Shape::Section(&[optional("recordVoice", Shape::Flag)])),
    optional("telephony", Shape::Section(TELEPHONY)),
    optional("overrides", Shape::Section(ALLOWED_OVERRIDES)),
    optional(
        "disclosure",
        Shape::Section(&[optional("enabled", Shape::Flag), optional("text", DISCLOSURE)]),
    ),
];

const ALLOWED_OVERRIDES: &[Field] = &[
    optional("prompt", Shape::Flag),
    optional("greetingMessage", Shape::Flag),
    optional("voiceId", Shape::Flag),
    optional("llm", Shape::Flag),
    optional("firstSpeaker", Shape::Flag),
    optional("maxDurationSeconds", Shape::Flag),
];

const ENTITY: &[Field] = &[optional(
    "type",
    Shape::OneOf(&["string", "number", "integer", "boolean"]),
)];

const CALL_ACTIONS: &[Field] = &[
    optional("smartOptOut", Shape::Flag),
    optional("issueTracking", Shape::Flag),
    optional("postCallWebhook", text(URL_CHARS, rules::web_address)),
    optional(
        "postCallEmail",
        Shape::Section(&[
            optional("enabled", Shape::Flag),
            optional("emailConfiguration", Shape::Open(EMAIL_CONFIGURATION)),
        ]),
    ),
    optional(
        "scheduleOnCalendar",
        Shape::Section(&[
            optional("enabled", Shape::Flag),
            optional("provider", Shape::OneOf(&CALENDARS)),
            optional("eventsIds", NAMES),
        ]),
    ),
];

const EMAIL_CONFIGURATION: &[Field] = &[
    optional("to", EMAILS),
    optional("cc", EMAILS),
    optional("subject", SENTENCE),
    optional("includeTranscript", Shape::Flag),
];

const TELEPHONY: &[Field] = &[
    optional("numberRotationEnabled", Shape::Flag),
    optional("rotationNumbers", list(&PHONE)),
    optional("callsPerNumber", integer(1, 1_000_000)),
    optional("stateRestrictionEnabled", Shape::Flag),
    optional("stateRestrictedNumbers", list(&text(64, rules::prefix))),
];

const fn text(max: usize, rule: Rule) -> Shape {
    Shape::Text { max, rule }
}

const fn number(min: f64, max: f64) -> Shape {
    Shape::Number { min, max, never: false }
}

const fn number_or_never(min: f64, max: f64) -> Shape {
    Shape::Number { min, max, never: true }
}

const fn integer(min: i64, max: i64) -> Shape {
    Shape::Integer { min, max }
}

const fn list(item: &'static Shape) -> Shape {
    Shape::List { max: LIST_ITEMS, item }
}
