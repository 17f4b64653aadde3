"""Derives from the official packages which fields each request of our adapters may have, and of which types. Writes one
JSON file a package into the folder that is given. `sim/src/schema.rs` says what the files mean and reads them."""

import ast
import datetime
import enum
import importlib
import importlib.metadata
import inspect
import io
import json
import os
import pathlib
import re
import sys
import textwrap
import types
import typing

import pydantic
import typing_extensions

# Types that stand for a file, or for "not given".
FILES = (bytes, bytearray, io.IOBase, typing.IO, os.PathLike)
ABSENT = {"Omit", "NotGiven"}
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null",
         typing.Any: "any", object: "any", dict: "any", list: "any",
         datetime.datetime: "string", datetime.date: "string"}  # fmt: skip


class Schemas:
    """The request kinds of one package, and the types that they share."""

    def __init__(self, package, takes_answers=False):
        self.package = package
        # Whether requests may hold objects of answers, which are the package's only pydantic models.
        self.takes_answers = takes_answers
        self.types, self.sources = {}, {}
        self.requests, self.messages = {}, {}

    def written(self):
        return {
            "package": f"{self.package} {importlib.metadata.version(self.package)}",
            "requests": self.requests,
            "messages": self.messages,
            "types": self.types,
        }

    # From Python's types to ours.

    def of(self, hint):
        if isinstance(hint, str):
            raise TypeError(f"{self.package}: unresolved type {hint}")
        if isinstance(hint, typing.TypeVar):
            return "any"
        if type(hint).__name__ == "TypeAliasType":
            return self.of(hint.__value__)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Annotated, typing.Required, typing.NotRequired, typing_extensions.Required):
            return self.of(arguments[0])
        if origin is typing.Literal:
            return self.either([literal(value) for value in arguments])
        if origin in (typing.Union, types.UnionType):
            of = [one for one in arguments if getattr(one, "__name__", "") not in ABSENT]
            if self.takes_answers:
                of = [one for one in of if not (inspect.isclass(one) and issubclass(one, pydantic.BaseModel))]
            return self.either([self.of(one) for one in of])
        if hint in PLAIN:
            return PLAIN[hint]
        if hint in FILES or origin in FILES or origin is tuple:
            return "file"
        kind = origin or hint
        if not inspect.isclass(kind):
            raise TypeError(f"{self.package}: {hint!r} is not handled")
        if issubclass(kind, enum.Enum):
            return self.either([literal(member.value) for member in kind])
        if constants := [value for name, value in vars(kind).items() if name.isupper()]:
            return self.either([literal(value) for value in constants])
        if typing_extensions.is_typeddict(kind) or issubclass(kind, pydantic.BaseModel):
            return self.named(kind)
        if issubclass(kind, (dict, typing.Mapping)):
            return ["{}", self.of(arguments[1]) if arguments else "any"]
        if issubclass(kind, typing.Iterable) or kind.__name__ == "SequenceNotStr":
            return ["[]", self.of(arguments[0]) if arguments else "any"]
        raise TypeError(f"{self.package}: {hint!r} is not handled")

    def either(self, choices):
        flat = []
        for choice in choices:
            flat += choice[1:] if isinstance(choice, list) and choice[0] == "|" else [choice]
        if "any" in flat:
            # The package knows some values and allows others. What says of which kind an object is stays as it is.
            known = sorted({choice for choice in flat if is_literal(choice)})
            return ["|", *known, OTHERS] if known else "any"
        if OTHERS in flat:
            return ["|", *sorted(set(flat) - {OTHERS}), OTHERS]
        if "string" in flat:
            flat = [choice for choice in flat if not is_literal(choice)]
        unique = sorted({json.dumps(choice): choice for choice in flat}.items())
        return unique[0][1] if len(unique) == 1 else ["|", *(choice for _, choice in unique)]

    def named(self, kind):
        name = kind.__name__
        while self.sources.setdefault(name, kind) is not kind:
            name += "_"
        if name not in self.types:
            self.types[name] = {}
            self.types[name] = self.fields(kind)
        return f"#{name}"

    def fields(self, kind):
        """The fields of a class, by their names on the wire."""
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
        models = getattr(kind, "model_fields", None)
        fields = {}
        for name, hint in hints.items():
            if models is not None and name not in models:
                continue
            alias = models and (models[name].serialization_alias or models[name].alias)
            for one in annotations(hint):
                alias = getattr(one, "alias", None) or alias
            default = models and models[name].default
            fields[alias or name] = literal(default.value) if isinstance(default, enum.Enum) else self.of(hint)
        return fields

    def sent(self, function, keyword):
        """The fields of the dictionary that a function's body passes as `keyword` (or to a function of that name)."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        hints = typing_extensions.get_type_hints(function, include_extras=True)
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == keyword:
                found = node.value
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == keyword and node.args:
                found = node.args[0]
            else:
                continue
            if isinstance(found, ast.Dict) and any(found.keys):
                pairs = zip(found.keys, found.values)
                return {key.value: self.of(parameter(value, hints)) for key, value in pairs if key}
        raise LookupError(f"{self.package}: {function.__qualname__} passes no {keyword}")


def parameter(value, hints):
    """Returns the type of a value in a function's body: that of the first parameter in it."""
    names = [part.id for part in ast.walk(value) if isinstance(part, ast.Name) and part.id in hints]
    if not names:
        return type(value.value)
    # twilio's `object` stands for "not given".
    of = [one for one in typing.get_args(hints[names[0]]) if one is not object]
    return typing.Union[tuple(of)] if typing.get_origin(hints[names[0]]) is typing.Union else hints[names[0]]


# Stands for values that a package does not know, until the name of the field is known.
OTHERS = "others"


def settled(kind, name=""):
    """Replaces `OTHERS`: a `type` has the known values, and any other field has any text."""
    if isinstance(kind, dict):
        return {field: settled(inner, field) for field, inner in kind.items()}
    if not isinstance(kind, list):
        return kind
    if OTHERS in kind:
        return [choice for choice in kind if choice != OTHERS] if name == "type" else "string"
    return [settled(inner) for inner in kind]


def literal(value):
    return f"={value}" if isinstance(value, str) else f"={json.dumps(value)}"


def is_literal(choice):
    return isinstance(choice, str) and choice.startswith("=")


def annotations(hint):
    while typing.get_origin(hint) in (typing.Required, typing_extensions.Required, typing.NotRequired):
        hint = typing.get_args(hint)[0]
    return getattr(hint, "__metadata__", ())


def load(name):
    """Returns the thing with this full name."""
    module, _, thing = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), thing)
    except ModuleNotFoundError:
        return getattr(load(module), thing)


def twilio():
    schemas = Schemas("twilio")
    rest = "twilio.rest.api.v2010.account"
    calls = "/2010-04-01/Accounts/{}/Calls"
    sent = lambda name: schemas.sent(load(f"{rest}.{name}"), "values.of")
    schemas.requests = {
        "GET /2010-04-01/Accounts/{}": {},
        "GET /2010-04-01/Accounts/{}/IncomingPhoneNumbers.json": {
            "query": sent("incoming_phone_number.IncomingPhoneNumberList.page")
        },
        f"POST {calls}.json": {"body": sent("call.CallList._create")},
        f"GET {calls}.json": {"query": sent("call.CallList.page")},
        f"GET {calls}/{{}}": {},
        f"POST {calls}/{{}}": {"body": sent("call.CallContext._update")},
    }
    schemas.messages["TwiML"] = "#Response"
    twiml(schemas, "Response", load("twilio.twiml.voice_response.VoiceResponse"))
    return schemas


# Verbs that our documents could use; the package has many more, of which each allows others.
VERBS = {"Response", "Connect", "Stream", "Parameter", "Dial", "Number", "Sip", "Conference", "Redirect", "Pause",
         "Reject", "Hangup", "Play", "Refer", "ReferSip", "Say", "Gather"}  # fmt: skip


def twiml(schemas, name, verb):
    """Adds the elements that an element may hold, with their attributes. Its own are those that its parent gives it."""
    known = schemas.types.setdefault(name, {})
    for method in vars(verb).values():
        found = inspect.isfunction(method) and re.search(r"self\.nest\(\s*(\w+\(.*\))\s*\)", inspect.getsource(method), re.S)
        call = found and ast.parse(found[1]).body[0].value
        if not call or call.func.id not in VERBS:
            continue
        inner = getattr(sys.modules[verb.__module__], call.func.id)
        known[element_name(inner)] = f"#{call.func.id}"
        if call.func.id not in schemas.types:
            twiml(schemas, call.func.id, inner)
        words = [keyword.arg.strip("_").split("_") for keyword in call.keywords if keyword.arg]
        attributes = [first + "".join(word.title() for word in others) for first, *others in words]
        schemas.types[call.func.id] |= dict.fromkeys(attributes, "string")


def element_name(verb):
    return re.search(r'self\.name = "(\w+)"', inspect.getsource(verb.__init__))[1]


def telnyx():
    schemas = Schemas("telnyx")
    of = lambda name: {"body": schemas.of(load(f"telnyx.types.{name}"))}
    listed = lambda name: {"query": schemas.fields(load(f"telnyx.types.{name}"))}
    schemas.requests = {
        "GET /v2/balance": {},
        "GET /v2/phone_numbers": listed("phone_number_list_params.PhoneNumberListParams"),
        "GET /v2/connections/{}/active_calls": listed(
            "connection_list_active_calls_params.ConnectionListActiveCallsParams"
        ),
        "POST /v2/calls": of("call_dial_params.CallDialParams"),
    }
    for action, params in {
        "answer": "answer", "bridge": "bridge", "hangup": "hangup", "refer": "refer", "reject": "reject",
        "send_dtmf": "send_dtmf", "streaming_start": "start_streaming", "streaming_stop": "stop_streaming",
        "transfer": "transfer",
    }.items():  # fmt: skip
        name = "Action" + params.title().replace("_", "") + "Params"
        schemas.requests[f"POST /v2/calls/{{}}/actions/{action}"] = of(f"calls.action_{params}_params.{name}")
    return schemas


def vonage():
    schemas = Schemas("vonage-voice")
    models = "vonage_voice.models"
    load(f"{models}.requests.CreateCallRequest")
    actions = load(f"{models}.ncco.NccoAction").__subclasses__()
    ncco = ["[]", schemas.of(typing.Union[tuple(actions)])]
    # Calls are changed with dictionaries in the body of `Voice`.
    change = {}
    voice = load("vonage_voice.Voice")
    for method in ("transfer_call_ncco", "transfer_call_answer_url", "hangup", "mute", "unmute", "earmuff"):
        source = ast.parse(textwrap.dedent(inspect.getsource(getattr(voice, method))))
        put = next(node for node in ast.walk(source) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".put"))
        for key, value in zip(put.args[2].keys, put.args[2].values):
            if isinstance(value, ast.Dict):
                inner = change.setdefault(key.value, {})
                for name, part in zip(value.keys, value.values):
                    kind = {"ncco": ncco, "url": ["[]", "string"]}.get(name.value)
                    inner[name.value] = kind or literal(part.value)
            else:
                change[key.value] = schemas.either([change.get(key.value, literal(value.value)), literal(value.value)])
    schemas.requests = {
        "POST /v1/calls": {"body": schemas.of(load(f"{models}.requests.CreateCallRequest"))},
        "GET /v1/calls": {"query": schemas.fields(load(f"{models}.requests.ListCallsFilter"))},
        "GET /v1/calls/{}": {},
        "PUT /v1/calls/{}": {"body": change},
        "PUT /v1/calls/{}/dtmf": {"body": {"digits": "string"}},
    }
    assert "'digits': dtmf" in inspect.getsource(voice.play_dtmf_into_call)
    schemas.messages["NCCO"] = ncco
    return schemas


def deepgram():
    schemas = Schemas("deepgram-sdk")
    query = lambda name: {"query": schemas.sent(inspect.unwrap(load(f"deepgram.{name}.connect")), "remove_none_from_dict")}
    generate = load("deepgram.speak.v1.audio.raw_client.RawAudioClient.generate")
    schemas.requests = {
        "GET /v1/listen": query("listen.v1.raw_client.RawV1Client"),
        "GET /v2/listen": query("listen.v2.raw_client.RawV2Client"),
        "GET /v1/speak": query("speak.v1.raw_client.RawV1Client"),
        "POST /v1/speak": {
            "query": schemas.sent(inspect.unwrap(generate), "params"),
            "body": schemas.sent(inspect.unwrap(generate), "json"),
        },
    }
    for message, client in {
        "listen": "listen.v1.socket_client.V1SocketClient",
        "flux": "listen.v2.socket_client.V2SocketClient",
        "speak": "speak.v1.socket_client.V1SocketClient",
    }.items():
        schemas.messages[message] = schemas.either(
            [schemas.of(kind) for kind in sorted(sent_by(load(f"deepgram.{client}")), key=lambda kind: kind.__name__)]
        )
    return schemas


def sent_by(client):
    """The messages that the methods `send_…` of a client take."""
    for name, method in inspect.getmembers(client, inspect.isfunction):
        if name.startswith("send_"):
            for hint in typing_extensions.get_type_hints(method).values():
                for one in (hint, *typing.get_args(hint)):
                    if inspect.isclass(one) and issubclass(one, pydantic.BaseModel):
                        yield one


def eleven():
    schemas = Schemas("elevenlabs")
    of = lambda *names: schemas.either([schemas.of(load(f"elevenlabs.types.{name}")) for name in names])
    stream = inspect.unwrap(load("elevenlabs.text_to_speech.raw_client.RawTextToSpeechClient.stream"))
    realtime = load("elevenlabs.realtime_tts.RealtimeTextToSpeechClient.convert_realtime")
    schemas.requests = {
        "GET /v1/text-to-speech/{}/stream-input": {"query": schemas.sent(realtime, "remove_none_from_dict")},
        "GET /v1/text-to-speech/{}/multi-stream-input": {},
        "POST /v1/text-to-speech/{}/stream": {
            "query": schemas.sent(stream, "params"),
            "body": schemas.sent(stream, "json"),
        },
        "GET /v1/speech-to-text/realtime": {
            "query": schemas.fields(load("elevenlabs.realtime.scribe.RealtimeAudioOptions"))
        },
    }
    schemas.messages = {
        "stream-input": of("InitializeConnection", "SendText", "CloseConnection"),
        "multi-stream-input": of(
            "InitializeConnectionMulti", "InitialiseContext", "SendTextMulti", "FlushContext", "CloseContext",
            "CloseSocket", "KeepContextAlive", "WebsocketTtsClientMessageMulti",
        ),
        "scribe": of("InputAudioChunkPayload"),
    }  # fmt: skip
    return schemas


def cartesia():
    schemas = Schemas("cartesia")
    schemas.requests = {"GET /tts/websocket": {}}
    schemas.messages["tts"] = schemas.of(load("cartesia.types.websocket_client_event_param.WebsocketClientEventParam"))
    return schemas


def openai():
    schemas = Schemas("openai", takes_answers=True)
    of = lambda name: {"body": schemas.of(load(f"openai.types.{name}"))}
    chat = of("chat.completion_create_params.CompletionCreateParams")
    schemas.requests = {
        "GET /v1/models": {},
        "POST /v1/chat/completions": chat,
        "POST /openai/deployments/{}/chat/completions": chat,
        "POST /v1/embeddings": of("embedding_create_params.EmbeddingCreateParams"),
        "POST /v1/audio/speech": of("audio.speech_create_params.SpeechCreateParams"),
        "POST /v1/audio/transcriptions": of("audio.transcription_create_params.TranscriptionCreateParams"),
    }
    return schemas


def anthropic():
    schemas = Schemas("anthropic", takes_answers=True)
    schemas.requests = {
        "POST /v1/messages": {"body": schemas.of(load("anthropic.types.message_create_params.MessageCreateParams"))}
    }
    return schemas


def models():
    """The models of hosted providers that their packages know, with the day on which one ends if the package tells."""
    hint = lambda name, field: typing_extensions.get_type_hints(load(name))[field]
    known = {
        "openai": {
            "llm": dated("openai.types.shared.chat_model", "ChatModel"),
            "stt": dated("openai.types.audio_model", "AudioModel"),
            "tts": dated("openai.types.audio.speech_model", "SpeechModel"),
        },
        "groq": {
            "llm": names(hint("groq.types.chat.completion_create_params.CompletionCreateParams", "model")),
            "stt": names(hint("groq.types.audio.transcription_create_params.TranscriptionCreateParams", "model")),
        },
        "anthropic": {
            "llm": names(load("anthropic.types.model_param.ModelParam")) | load("anthropic._data.DEPRECATED_MODELS")
        },
        "gemini": {"llm": names(load("google.genai._gaos.types.interactions.model.Model"))},
        "deepgram": {
            "stt": names(load("deepgram.types.listen_v1model.ListenV1Model")),
            "voice": names(load("deepgram.types.speak_v1model.SpeakV1Model")),
        },
        "elevenlabs": {
            "stt": names(load("elevenlabs.v_1_speech_to_text_realtime.types.text_to_dialogue_model_id.TextToDialogueModelId")),
            "tts": names(load("elevenlabs.types.tts_conversational_model.TtsConversationalModel")),
        },
        "cartesia": {"tts": names(load("cartesia.types.tts_model.TTSModel"))},
    }
    rows = [f"{json.dumps(provider)}: {json.dumps(kinds, indent=1)}" for provider, kinds in known.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def names(hint):
    """The literals within a type."""
    if typing.get_origin(hint) in (typing.Literal, typing_extensions.Literal):
        return dict.fromkeys(typing.get_args(hint))
    return {name: None for inner in typing.get_args(hint) for name in names(inner)}


def dated(module, name):
    """The models of one of openai's types, with the days that the text below it names."""
    text = " ".join(inspect.getsource(importlib.import_module(module)).split())
    known = names(getattr(importlib.import_module(module), name))
    for listed, day in re.findall(r'- ((?:"[^"]+",? ?)+): Announced shutdown date: ([\d-]+)', text):
        known |= dict.fromkeys(re.findall(r'"([^"]+)"', listed), day)
    return known


def main(folder):
    pathlib.Path(folder, "models.json").write_text(models())
    for derive in (anthropic, cartesia, deepgram, eleven, openai, telnyx, twilio, vonage):
        name = {"eleven": "elevenlabs"}.get(derive.__name__, derive.__name__)
        written = settled(derive().written())
        lines = [f'"package": {json.dumps(written["package"])}']
        for part in ("requests", "messages", "types"):
            rows = [f"  {json.dumps(key)}: {compact(value)}" for key, value in sorted(written[part].items())]
            lines.append(f'"{part}": {{\n' + ",\n".join(rows) + "\n}")
        path = pathlib.Path(folder, f"{name}.json")
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


main(sys.argv[1])
