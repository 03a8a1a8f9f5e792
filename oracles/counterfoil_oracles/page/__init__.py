"""``counterfoil explain TRACE --html``: one page that shows a trace, and needs nothing else."""

from counterfoil_oracles.page.render import page as page
