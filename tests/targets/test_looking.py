"""What the checker looks at of its own accord stays within reason."""

from __future__ import annotations

from counterfoil_oracles import subjects
from counterfoil_oracles.targets.opening import here
from counterfoil_oracles.targets.pair import MOST_READ, TargetPair
from counterfoil_spec.commands import Command
from counterfoil_spec.protocol import Profile


def test_a_view_of_more_elements_than_memory_holds_is_not_read() -> None:
    """Broadcasting a scalar to 2**53 elements is legal and costs nothing; neither side is asked for its values."""
    pair = TargetPair(subjects.half("counterfoil_reference"), here("counterfoil_oracles.targets.ours:fast"), Profile())
    pair.step(Command(do="from_values", args={"dtype": "int8", "shape": [], "values": [1]}, bind="one"))
    wide = {"broadcast": [2**53]}
    _, finding = pair.step(Command(do="array.move", args={"array": {"ref": "one"}, "move": wide}, bind="many"))
    assert finding is None and pair.look() is None
    assert pair.reference.names["many"].layout.size == 2**53 > MOST_READ
    pair.close()
