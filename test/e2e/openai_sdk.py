"""Drives the official openai package against a gateway; prints one JSON object a case.

Usage: openai_sdk.py BASE_URL < {"token": ..., "narrow": ..., "once": ..., "expired": ...}
"""

import asyncio
import json
import sys
import time

import openai

TOKENS = json.load(sys.stdin)
BASE = sys.argv[1]
ASK = [{"role": "user", "content": "count to 12"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Paris"]}},
        },
    },
}
TOOL_ASK = [{"role": "user", "content": "Please call get_weather for me."}]


def client(token="token", **options):
    return openai.OpenAI(
        base_url=BASE, api_key=TOKENS.get(token, token), max_retries=0, timeout=10, **options
    )


CLIENT = client()


def create(**options):
    model = options.pop("model", "chat")
    messages = options.pop("messages", ASK)
    return CLIENT.chat.completions.create(model=model, messages=messages, **options)


def error_of(call):
    try:
        call()
    except openai.OpenAIError as error:
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "code": getattr(error, "code", None),
            "param": getattr(error, "param", None),
            "type": getattr(error, "type", None),
            "request_id": getattr(error, "request_id", None),
            "retry_after": error.response.headers.get("retry-after")
            if hasattr(error, "response")
            else None,
        }
    return {"class": None}


def plain(model):
    answer = create(model=model)
    return {
        "text": answer.choices[0].message.content.strip(),
        "finish": answer.choices[0].finish_reason,
        "model": answer.model,
        "total": answer.usage.total_tokens,
        "sum": answer.usage.prompt_tokens + answer.usage.completion_tokens,
        "request_id": answer._request_id,
    }


def stream(model):
    chunks = list(create(model=model, stream=True, stream_options={"include_usage": True}))
    return {
        "text": "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).strip(),
        "finish": [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason],
        "ids": len({c.id for c in chunks}),
        "usage": chunks[-1].usage.completion_tokens,
        "chunks": len(chunks),
    }


async def async_stream(model):
    answer = openai.AsyncOpenAI(base_url=BASE, api_key=TOKENS["token"], max_retries=0)
    text = ""
    async for chunk in await answer.chat.completions.create(model=model, messages=ASK, stream=True):
        text += chunk.choices[0].delta.content or ""
    await answer.close()
    return {"text": text.strip()}


def tools():
    call = create(messages=TOOL_ASK, tools=[TOOL]).choices[0]
    return {
        "finish": call.finish_reason,
        "name": call.message.tool_calls[0].function.name,
        "arguments": json.loads(call.message.tool_calls[0].function.arguments),
    }


def tools_stream():
    with CLIENT.chat.completions.stream(model="chat", messages=TOOL_ASK, tools=[TOOL]) as events:
        for _ in events:
            pass
        call = events.get_final_completion().choices[0]
    return {
        "finish": call.finish_reason,
        "arguments": json.loads(call.message.tool_calls[0].function.arguments),
    }


def json_mode(model):
    answer = create(model=model, response_format={"type": "json_object"})
    return {"type": type(json.loads(answer.choices[0].message.content)).__name__}


def choices(model):
    return {"texts": [c.message.content.strip() for c in create(model=model, n=2).choices]}


def embeddings():
    floats = CLIENT.embeddings.create(model="chat", input="hello", encoding_format="float")
    decoded = CLIENT.embeddings.create(model="chat", input="hello")
    pairs = zip(floats.data[0].embedding, decoded.data[0].embedding)
    return {"size": len(decoded.data[0].embedding), "equal": all(abs(a - b) < 1e-6 for a, b in pairs)}


def completions(model):
    whole = CLIENT.completions.create(model=model, prompt="count to 3").choices[0].text
    parts = CLIENT.completions.create(model=model, prompt="count to 3", stream=True)
    return {"text": whole.strip(), "stream": "".join(p.choices[0].text for p in parts).strip()}


def models():
    return {"ids": [m.id for m in CLIENT.models.list()], "one": CLIENT.models.retrieve("llama").id}


def headers():
    raw = CLIENT.chat.completions.with_raw_response.create(model="chat", messages=ASK)
    return {name: raw.headers.get(name) for name in ("x-request-id", "x-tokenlat-model", "x-tokenlat-attempts")}


def rate_limit():
    once = client("once")
    once.chat.completions.create(model="chat", messages=ASK)
    return error_of(lambda: once.chat.completions.create(model="chat", messages=ASK))


def error_in_stream():
    text = ""

    def read():
        nonlocal text
        for chunk in create(model="breaks", stream=True):
            text += chunk.choices[0].delta.content or ""

    return {**error_of(read), "text": text}


def abort():
    answer = create(model="stalls", stream=True)
    words = 0
    for chunk in answer:
        words += bool(chunk.choices[0].delta.content)
        if words == 3:
            break
    answer.close()
    return {"words": words}


def timeout():
    began = time.monotonic()
    error = error_of(lambda: client().with_options(timeout=0.3).chat.completions.create(model="hangs", messages=ASK))
    return {**error, "quick": time.monotonic() - began < 2}


def deadline():
    return error_of(lambda: create(model="hangs", extra_headers={"x-request-timeout-ms": "200"}))


CASES = {
    **{f"plain {m}": lambda m=m: plain(m) for m in ("chat", "llama")},
    **{f"stream {m}": lambda m=m: stream(m) for m in ("chat", "llama")},
    **{f"async stream {m}": lambda m=m: asyncio.run(async_stream(m)) for m in ("chat", "llama")},
    **{f"json {m}": lambda m=m: json_mode(m) for m in ("chat", "llama")},
    **{f"n {m}": lambda m=m: choices(m) for m in ("chat", "llama")},
    **{f"completions {m}": lambda m=m: completions(m) for m in ("chat", "llama")},
    "tools": tools,
    "tools stream": tools_stream,
    "embeddings": embeddings,
    "models": models,
    "headers": headers,
    "bad token": lambda: error_of(lambda: client("nonsense").models.list()),
    "expired token": lambda: error_of(lambda: client("expired").models.list()),
    "not allowed": lambda: error_of(lambda: client("narrow").chat.completions.create(model="llama", messages=ASK)),
    "no such model": lambda: error_of(lambda: create(model="nobody")),
    "bad request": lambda: error_of(lambda: create(messages=[])),
    "bad value": lambda: error_of(lambda: create(temperature="hot")),
    "server error": lambda: error_of(lambda: create(model="fails")),
    "rate limit": rate_limit,
    "error in a stream": error_in_stream,
    "abort": abort,
    "timeout": timeout,
    "deadline": deadline,
}

for name, case in CASES.items():
    try:
        result = case()
    except Exception as error:  # noqa: BLE001 - the test on the other side shall see what went wrong
        result = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps({"case": name, **result}), flush=True)
