"""What would have been allowed where a command was refused: other commands, tried out on the reference."""

from counterfoil_oracles.explaining.allowed import Suggestion as Suggestion
from counterfoil_oracles.explaining.allowed import allowed as allowed
