# A person approves, edits or denies a call. Needs only the standard library.
import json
import os
import uuid
from urllib.request import Request, urlopen

HUB = os.environ.get("HOOKBACK_URL", "http://127.0.0.1:4000")
TIMEOUT = float(os.environ.get("HOOKBACK_TIMEOUT", 300))


def ask(question, **members):
    """Returns the answer of a person. Raises an error if the question could not be asked."""
    body = json.dumps({"question": question, **members}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    return json.load(urlopen(Request(HUB + "/ask", body, headers)))


def delete_folder(path):
    return f"deleted {path}"


call = {"name": "delete_folder", "arguments": {"path": "./build"}, "editable": True}
answer = ask(f"Run {call['name']}?", toolCall=call, timeout=TIMEOUT)
if answer["permission"]:
    print(delete_folder(**answer.get("modifiedArguments", call["arguments"])))
else:
    print(answer.get("guidance", "No one approved this."))
