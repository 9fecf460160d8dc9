"""How servers word their refusals: the table of phrases that the chat adapter understands."""

from __future__ import annotations

import re


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{phrase})" for phrase in phrases), re.IGNORECASE)


OVERFLOW = _any_of(
    "context_length_exceeded",  # OpenAI, OpenRouter
    "maximum context length",  # OpenAI, vLLM, OpenRouter, DeepSeek, Mistral, Ollama
    "maximum (model|prompt|input|sequence) (length|size)",  # vLLM, xAI
    "exceed_context_size|exceeds? the available context|context size has been exceeded",  # llama.cpp
    "exceeds? context (window|length|limit)",  # llama-cpp-python, Anthropic, Ollama
    "exceeded max context length",  # Ollama
    "context the overflows|overflows? the context|greater than the context length",  # LM Studio
    "exceeds? (the )?maximum number of tokens",  # Google
    "prompt is too long|input is too long",  # Anthropic, Bedrock
    r"prompt contains \d+ tokens",  # Mistral
    "reduce the length of the (messages|prompt|input)",  # OpenAI, Groq
    r"inputs` tokens \+ `max_new_tokens`",  # text-generation-inference
    "request too large for model",  # Groq
    "greater than max_seq_len|exceeds? max_seq_len",  # TabbyAPI
    "too many (input )?tokens",  # Cohere
)

LIMITS = tuple(
    re.compile(phrase, re.IGNORECASE)
    for phrase in (
        r"(?:context|model|prompt|sequence|input) length (?:is|of)(?: only)? (\d{3,})",
        r"(?:context|model|prompt|sequence|input) length \((\d{3,})\)",
        r"context size \((\d{3,})",
        r"context window of (\d{3,})",
        r"with (\d{3,}) maximum context",
        r"number of tokens allowed \((\d{3,})\)",
        r"> (\d{3,})",
        r"must be <= (\d{3,})",
        r"max_seq_len (\d{3,})",
    )
)

FILTERED = _any_of(
    r"content[ _-]?(filter|management|policy)", "flagged", "moderation", "prohibited_content", "safety system"
)
WRONG_KEY = _any_of(
    "(api|auth)[ _-]?key (is )?(not valid|invalid)", "(invalid|incorrect|wrong) (x-)?api[ _-]?key"
)
NO_MONEY = _any_of("insufficient[_ ](quota|credits?|balance|funds)", "billing", "exceeded your current quota")
NO_MODEL = _any_of(
    r"model.{0,80}(not found|not exist|not available|no such|is not a valid)",
    "(unknown|invalid|no such|not a valid) model",
    "model_not_found|try pulling it",
    "unexpected endpoint",  # LM Studio, with status 200
    r"no models? (is |are )?(currently )?loaded|model is not loaded",  # LM Studio
)

MODEL = _any_of(r"\bmodel")

ROLES_ALTERNATE = _any_of(
    "roles? must alternate",  # chat templates behind llama.cpp, vLLM, LM Studio, Ollama; Anthropic
    "alternate between .{0,12}(user|assistant)",  # Google, Perplexity
    "turn requests alternate",  # Google
    "(multiple|consecutive|successive) .{0,12}(user|assistant|messages|turns)",
    "(roles?|messages|turns) in a row|same role",
    "first .{0,20}message .{0,24}user",  # Anthropic
    "(must|should) (start|begin) with .{0,10}user",
    "expected last role|unexpected role .{0,3}(user|assistant).{0,3} after",  # Mistral
)
ENDS_WITH_USER = _any_of(
    r"expected last role",  # Mistral
    "last (message|role|turn) .{0,24}user",
    "(must|should) end with .{0,10}user|requests? end with .{0,10}user",  # Anthropic, Google
    "assistant (message )?prefill|response prefill",
)
ONE_SYSTEM = _any_of(
    "system (message|prompt|role).{0,30}(at the (beginning|start)|be (the )?first|come first|only be first)",
    "(only one|only a single|at most one|multiple|more than one|second) system",
)
NO_SYSTEM = _any_of(
    "system (role|message|prompt|instruction)s? .{0,20}(not|n't|un)",  # Gemma and others
    "(not|n't|un)\\W?(support|allow|accept|recogni[sz]|expect|know|permitt).{0,40}system",
    "(unexpected|unknown|invalid|unsupported) .{0,12}role.{0,5}system|invalid role: system",  # Anthropic
    "only .{0,40}roles? (are|is) (supported|allowed).{0,20}(system|$)",  # Mistral templates
    "developer instruction is not enabled",  # Google, for Gemma
    "should be .{0,3}user.{0,3} or .{0,3}assistant",  # pydantic's words for a role that is neither
)
USE_COMPLETION_TOKENS = _any_of("max_completion_tokens")

REFUSED = _any_of(
    r"not (yet )?(support|permit|allow|implement|recogni[sz]ed|accept|enabled|available)",
    r"n't (support|allow|accept|recogni[sz]e)",
    "unsupported|unknown|unrecogni[sz]ed|unexpected|invalid|forbidden|deprecated|disabled|refused|removed?",
    "must (be|contain|have)|should be|cannot|can't|incompatible|literal_error|extra inputs|at most|too many",
    r"only the default|failed to parse|no endpoints found",
)
# Optional parameters, in the order in which they are given up, and the words servers use for them.
PARAMETERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "response_format",
        _any_of(
            "response_?format|response_mime|json_?schema|json_?object|json mode|structured|grammar|guided"
        ),
    ),
    ("stream_options", _any_of("stream_?options|include_usage")),
    ("stop", _any_of(r"\bstop\b|stop_?sequences?|stop (words?|strings?|tokens?)")),
    ("seed", _any_of(r"\bseed\b")),
    ("min_p", _any_of("min_p")),
    ("presence_penalty", _any_of("presence_?penalty|penalt(y|ies)")),
    ("frequency_penalty", _any_of("frequency_?penalty|penalt(y|ies)")),
    ("top_p", _any_of("top_?p")),
    ("temperature", _any_of("temperature")),
    ("stream", _any_of(r"\bstream(ing|ed)?\b")),
)
