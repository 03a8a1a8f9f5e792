"""A program that speaks the protocol until it does what its first argument says."""

import json
import os
import sys
import time


def identity(seq: int) -> dict[str, object]:
    """A plausible start."""
    commands = ["host", "buffer", "from_values", "array.to_values"]
    name = "\n::error::pwned ##[error]x" if sys.argv[1].startswith("refuses") else "hostile"
    return {
        "seq": seq, "protocol": 1, "name": name, "version": "0", "language": "Python",
        "chapters": ["arrays"], "dtypes": ["int32"], "commands": commands,
    }  # fmt: skip


def decimals(step: dict[str, object]) -> dict[str, object]:
    """A value for anything, numbers for what an array holds."""
    return {"is": "value", "value": [1, 2.5] if step["do"] == "array.to_values" else None}


def with_children(how: str) -> None:
    """A child that leaves the session, and its parent; or four that hold much."""
    if how.startswith("leaves"):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
        return
    for _ in range(4):
        if os.fork() == 0:
            held = [b"x" * (160 << 20)]
            time.sleep(60)
            os._exit(len(held))
    time.sleep(60)


def misbehave(how: str, request: dict[str, object]) -> None:
    """Answer a run in that way."""
    seq, steps = request["seq"], request["steps"]
    assert isinstance(steps, list)
    fine = json.dumps({"seq": seq, "outcomes": [{"is": "value", "value": None}] * len(steps)})
    match how:
        case "hangs":
            time.sleep(60)
        case "dies":
            os._exit(7)
        case "crashes":
            os.abort()
        case "floods":
            while True:
                sys.stdout.write("x" * 65536)
        case "mutters":
            sys.stderr.write("y" * 10_000_000)
            sys.stderr.flush()
            os._exit(3)
        case "raves":
            print("this is no JSON")
        case "answers another":
            print(json.dumps({"seq": 999, "outcomes": []}))
        case "answers too few":
            print(json.dumps({"seq": seq, "outcomes": []}))
        case "answers a list":
            print("[1, 2]")
        case "nests":
            print(f'{{"seq": {seq}, "outcomes": {"[" * 100_000}}}')
        case "invents an outcome":
            print(json.dumps({"seq": seq, "outcomes": [{"is": "splendid"}] * len(steps)}))
        case "invents elements":
            bad = {"is": "value", "value": {"dtype": "int32", "bits": ["zz"]}}
            print(json.dumps({"seq": seq, "outcomes": [bad] * len(steps)}))
        case "grows":
            held = []
            while True:
                held.append(bytearray(1 << 28))
        case "talks and does not listen":
            print(fine, flush=True)
            while True:
                sys.stdout.write("x" * 65536)
        case "dribbles":
            outcomes = [{"is": "errored", "message": "é…"}] * len(steps)
            for byte in json.dumps({"seq": seq, "outcomes": outcomes}, ensure_ascii=False).encode():
                os.write(1, bytes([byte]))
            os.write(1, b"\r\n")
        case "nests a value":
            deep = '{"is": "value", "value": ' + "[" * 300 + "]" * 300 + "}"
            print(f'{{"seq": {seq}, "outcomes": [{", ".join([deep] * len(steps))}]}}')
        case "leaves children":
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            print(fine)
        case "leaves a child in a session of its own" | "grows in its children":
            with_children(how)
            print(fine)
        case "answers in decimals":
            print(json.dumps({"seq": seq, "outcomes": [decimals(step) for step in steps]}))
        case "refuses by a rule of its own":
            rule = {"is": "refused", "rule": "mine/own\n::error::x"}
            print(json.dumps({"seq": seq, "outcomes": [rule] * len(steps)}))
        case _:
            print(fine)
    sys.stdout.flush()


def main() -> None:
    """Answer until told to stop."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "start":
            reply = identity(request["seq"])
            if sys.argv[1] == "speaks another protocol":
                reply = {"seq": request["seq"], "protocol": 2}
            print(json.dumps(reply), flush=True)
        elif request["cmd"] == "profile":
            ok = sys.argv[1] != "wants another profile"
            print(json.dumps({"seq": request["seq"], "ok": ok, "reason": None if ok else "not mine"}), flush=True)
        elif request["cmd"] == "run":
            misbehave(sys.argv[1], request)
        else:
            print(json.dumps({"seq": request["seq"]}), flush=True)
            return


if __name__ == "__main__":
    main()
