"""``python -m counterfoil_oracles.targets.serve TARGET [--socket PATH]``: a factory or a library, spoken to.

The other end of the protocol, in a process of its own, and a model for other languages.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import BinaryIO

import msgspec

from counterfoil_oracles.targets.opening import here
from counterfoil_oracles.targets.target import HarnessBroken, Target
from counterfoil_spec.protocol import (
    PROTOCOL,
    Adopt,
    Adopted,
    Identity,
    Ran,
    Request,
    Run,
    Start,
    Started,
    Stop,
    Stopped,
)


def serve(target: Target, requests: BinaryIO, replies: BinaryIO) -> int:
    """Answer requests until ``stop`` or the end of the input; the exit code."""
    decoder = msgspec.json.Decoder(Request)
    for line in requests:
        try:
            reply = _answered(target, decoder.decode(line))
        except HarnessBroken as broken:
            print(broken, file=sys.stderr)
            return 1
        replies.write(msgspec.json.encode(reply) + b"\n")
        replies.flush()
        if isinstance(reply, Stopped):
            return 0
    return 1


def _answered(target: Target, request: Request) -> Started | Adopted | Ran | Stopped:
    match request:
        case Start(seq=seq, protocol=protocol):
            if protocol != PROTOCOL:
                return Started(seq=seq, protocol=PROTOCOL)
            fields = {name: getattr(target.identity, name) for name in Identity.__struct_fields__}
            return Started(seq=seq, **fields)
        case Adopt(seq=seq, profile=profile):
            reason = target.adopt(profile)
            return Adopted(seq=seq, ok=reason is None, reason=reason)
        case Run(seq=seq, steps=steps, fresh=fresh):
            return Ran(seq=seq, outcomes=target.run(steps, fresh))
        case Stop(seq=seq):
            target.close()
            return Stopped(seq=seq)


def main(arguments: list[str]) -> int:
    """Serve on the standard streams, or to the first who connects to a Unix socket."""
    if len(arguments) == 1:
        output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the target prints is no reply
        return serve(here(arguments[0]), sys.stdin.buffer, output)
    if len(arguments) == 3 and arguments[1] == "--socket":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
            waiting.bind(arguments[2])
            waiting.listen(1)
            connection, _ = waiting.accept()
            with connection, connection.makefile("rb") as requests, connection.makefile("wb") as replies:
                return serve(here(arguments[0]), requests, replies)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
