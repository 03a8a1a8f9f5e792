"""Commands and outcomes in words, for people."""

from __future__ import annotations

from typing import Any, Final

from counterfoil_oracles.compare import said
from counterfoil_spec.commands import Command, Outcome, Returned

_TEMPLATES: Final[dict[str, str]] = {
    "host": "take the host",
    "disk": "take the disk",
    "simulated": "make the simulated device {name} (addressable: {addressable})",
    "cuda": "take CUDA device {ordinal}",
    "device.advance": "perform the next {count} submissions of {device}",
    "device.lose": "lose {device}: {why}",
    "device.set_budget": "give {device} a budget of {nbytes} bytes",
    "device.state": "ask {device} what it has performed",
    "buffer": "make {nbytes} bytes of {kind} memory on {device}",
    "buffer.view": "view {nbytes} bytes of {buffer} from byte {first}",
    "buffer.borrow": "borrow {buffer} for {device}",
    "buffer.free": "free {buffer}: {why}",
    "buffer.wait": "wait for a {access} of {buffer}",
    "buffer.export": "export {buffer}",
    "buffer.overlaps": "ask whether {buffer} and {other} share a byte",
    "buffer.state": "look at {buffer}",
    "buffer.bytes": "look at the bytes of {buffer}",
    "buffer.poke": "put the bytes {bytes} into {buffer}",
    "file": "write a file {path} of {bytes}",
    "file.bytes": "read the file {path}",
    "disk.open": "open the file {path}",
    "disk.create": "create the file {path} of {nbytes} bytes",
    "submit": "submit {work} to {device}, reading {reads}, writing {writes}",
    "submit_copy": "submit a copy of {src} into {dst}",
    "submit_fill": "submit a fill of {buffer} with {byte}",
    "claims.enter": "claim {read} for reading, donate {donate}",
    "claims.exit": "leave the claims {claims}",
    "claims.exclusive": "ask {claims} whether {buffer} is exclusive",
    "claims.consume": "consume {buffer} through {claims}: {why}",
    "array": "lay {dtype} out over {buffer} as {layout}",
    "layout": "take the layout of shape {shape}, strides {strides}, offset {offset}",
    "layout.contiguous": "take the contiguous layout of shape {shape}",
    "layout.move": "move {layout} by {move}",
    "move_shape": "move the shape {shape} by {move}",
    "coalesce": "coalesce {layouts}",
    "empty": "make an uninitialised {dtype} array of shape {shape} on {device}",
    "host_array": "make an uninitialised {dtype} array of shape {shape} on the host",
    "from_values": "make a {dtype} array of shape {shape} of the values {values}",
    "from_buffer": "share {object} as {dtype}",
    "array.move": "move {array} by {move}",
    "array.bitcast": "see {array} as {dtype}",
    "array.expect": "expect {array} to be of {dtype}",
    "array.get": "get {array} at {index}",
    "array.set": "set {array} at {index} to {value}",
    "array.to_values": "read the values of {array}",
    "array.to_device": "copy {array} to {device}",
    "array.copy": "copy {array}",
    "array.borrow": "borrow {array} for {device}",
    "array.buffer": "take the buffer of {array}",
    "array.reading": "read the bytes of {array} through a view",
    "array.writing": "write {bytes} into {array} through a view",
    "array.export": "export {array}",
    "transfer": "transfer {src} into {dst}",
    "door": "pass the door writing {written}, reading {read}, to do {work}",
    "refused": "raise what {answer} refuses to {name} of {operands}",
    "of_float": "store {value} as {dtype}",
    "format_value": "print {value} of {dtype}",
    "node": "make the node {label} of shape {shape}",
    "node.require": "ask that {node} be {intent}",
    "node.declare": "declare {node} {what}",
    "symbol": "make the symbol {label} with bound {bound}",
    "symbol.set": "bind {symbol} to {value}",
    "comp": "write the comp {label}: {code}",
    "comp.sequence": "put the comps {comps} in sequence",
    "comp.facts": "ask what {comp} owns, contributes and resets",
    "fragment": "name the {kind} fragment of {label}",
    "lowered": "write the loops {body}",
    "tensor": "make a tensor by {make} of {to}",
    "forward": "take the forward code of {tensor}",
    "grad_update": "take the gradient update of {loss}",
    "zero_params_grads": "take the zeroing of the gradients of the parameters of {loss}",
    "sgd_update": "take the parameter update of {loss} at rate {lr}",
    "trainable": "ask which parameters {loss} trains",
    "session.closure": "pass through a closure of the session (failing: {fail})",
    "session.rewind": "rewind the session to its last closure",
    "context": "make a root on {backend}",
    "compile": "compile {comp} from {context}",
    "run": "run {routine} from {context}",
    "check_runnable": "ask whether {routine} may run from {context}",
    "check_lineage_runnable": "ask whether the lineage lets {routine} run from {context}",
    "check_launch_bindings": "check the bindings of {routine} in {context}",
    "can_run": "ask whether what {routine} depends on has run",
    "sync": "wait for the device of {context}",
    "reuse": "make a reuse cell",
    "save_history": "save the accumulation history of the root of {context}",
    "restore_history": "put the accumulation history {history} back",
    "rollback": "roll the run of {routine} back in {context}",
    "poison": "fill fresh memory with byte {byte}",
    "poisoned": "ask what poisoned the lineage of {context}",
    "copy_from": "copy {node} from {source} into {context}",
    "from_host": "upload an array into {node} of {context}",
    "set_values": "upload {values} into {node} of {context}",
    "set_value": "upload {value} into element {index} of {node} of {context}",
    "to_host": "read {node} from {context}",
    "to_host_all": "read {nodes} from {context}",
    "get_values": "read the values of {node} from {context}",
    "get_value": "read element {index} of {node} from {context}",
    "points_1d": "read the points of {node} from {context}",
    "points_2d": "read the points of {node} in the plane from {context}",
    "context.release": "release {context}",
    "same_release_unit": "ask whether {context} and {other} are released together",
    "adopt_ancestor": "let {context} adopt its ancestor {ancestor}",
    "decide": "decide {nodes} {reading} below {context}",
    "decide_readings": "decide {materialized} materialized, {inline} inline, {footprint} footprint below {context}",
    "context.buffer": "take the array over {node} in {context}",
    "context.facts": "look at {context}",
    "explain_observability": "ask why {node} cannot be read from {context}",
    "routine.facts": "look at {routine}",
    "inject": "fail when the seam {seam} is passed (passing {pass})",
    "census": "count pools and units",
    "compile_count": "count compiles",
    "drop": "forget {names}",
}


class _Arguments(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "nothing given"


def words(command: Command) -> str:
    """A command as a line for people: what it does, and the name its result gets."""
    told = {key: _shown(value) for key, value in command.args.items()}
    if command.do == "poison" and "context" in told:
        text = f"poison the lineage of {told['context']} with the failure of {told['routine']}: {told['failure']}"
    elif command.do == "copy_from" and command.args.get("into_merge_buffer"):
        text = f"fill the merge buffer of {told['context']} with {told['node']} from {told['source']}"
    elif command.do == "kernel":
        name = told.pop("name")
        text = f"run {name}({', '.join(f'{key} {value}' for key, value in told.items())})"
    else:
        template = _TEMPLATES.get(command.do, command.do + " " + ", ".join(f"{key} {{{key}}}" for key in told))
        text = template.format_map(_Arguments(told))
    return f"{command.bind} = {text}" if command.bind is not None else text


def outcome_words(command: Command, outcome: Outcome) -> str:
    """An outcome as people say it: what was answered, made, refused or raised."""
    if isinstance(outcome, Returned) and outcome.value is None:
        return "made" if command.bind is not None else "done"
    if isinstance(outcome, Returned) and command.do in ("kernel", "door"):
        return f"answered {outcome.value}"
    return said(outcome)


def said_value(value: Any) -> str:
    """An argument as people say it."""
    return _shown(value)


def _shown(value: Any) -> str:
    match value:
        case {"ref": name}:
            return str(name)
        case {"odd": kind}:
            return f"<{kind}>"
        case {"grad": str(name)}:
            return f"the gradient of {name}"
        case {"merge": node}:
            return f"the merge buffer's {_shown(node)}"
        case list():
            return "[" + ", ".join(_shown(entry) for entry in value) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {_shown(entry)}" for key, entry in value.items()) + "}"
        case str() if len(value) > 64:
            return f"{value[:60]}... ({len(value)} characters)"
    return str(value)
