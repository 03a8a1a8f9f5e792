"""The CUDA C of matrix products: tiles of both operands in shared memory, a part of the result in a thread's registers.

A block has two tiles of each operand: while one is multiplied, the next one is on its way in registers. An operand is
read along its neighbours in memory, whole packs of 16 bytes where they lie so; past the edges it counts as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.elements import (
    Pack,
    close_lanes,
    finish,
    finish_pack,
    is_pack,
    open_lanes,
    read_pack,
    start_of,
    write_pack,
    write_point,
)
from counterfoil.compile.cuda.products import SIDE, Product, points
from counterfoil.compile.cuda.work import Work, stride
from counterfoil.compile.cuda.writer import Writer
from counterfoil.compile.nests import Loops
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.loops import Load
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Iterator

BLOCK = SIDE * SIDE


@dataclass(frozen=True, eq=False)
class Operand:
    """One operand's side of a product: ``name`` x or y, its free loops (rows, or columns), ``each``: how many of them
    are one thread's, ``depth``: the tile's terms, ``first``: its first row or column, ``mine``: the thread's place
    along that side."""

    name: str
    load: Load
    free: Loops
    terms: Loops
    each: int
    depth: int
    first: str
    mine: str
    is_guarded: bool

    @cached_property
    def position(self) -> Affine:
        """The position of its element."""
        return offset(self.load.node, self.load.index)

    @property
    def size(self) -> int:
        """The tile's rows, or columns."""
        return SIDE * self.each

    @property
    def count(self) -> int:
        """Elements that one thread brings."""
        return self.each * self.depth // SIDE

    @property
    def pitch(self) -> int:
        """Elements from one line of the tile to the next: packs stay aligned, lines begin in different banks."""
        return self.size + 16 * 8 // self.load.node.dtype.bits

    @cached_property
    def along_terms(self) -> bool:
        """Whether neighbours in memory are neighbouring terms."""
        return abs(stride(self.position, self.free[-1][0])) != 1 and abs(stride(self.position, self.terms[-1][0])) == 1

    @cached_property
    def width(self) -> int:
        """Elements read at once."""
        last, extent = (self.terms if self.along_terms else self.free)[-1]
        most = 16 * 8 // self.load.node.dtype.bits
        fitting = [
            width for width in (4, 2)
            if width <= most and self.count % width == 0 and extent % width == 0 and is_pack(self.position, last, width)
        ]  # fmt: skip
        return 1 if self.is_guarded or not fitting else fitting[0]

    @property
    def has_edge(self) -> bool:
        """Whether some tile is not full."""
        return points(self.free) % self.size != 0

    def place(self, count: str) -> tuple[str, str]:
        """Where in a tile (free, term) the pack with that count lies."""
        lines = (self.depth if self.along_terms else self.size) // self.width
        inner = f"{count} % {lines}" if self.width == 1 else f"{count} % {lines} * {self.width}"
        outer = f"{count} / {lines}"
        return (outer, inner) if self.along_terms else (inner, outer)

    def of_registers(self, place: str) -> str:
        """Where in the tile the thread's register with that number comes from."""
        group = min(4, self.each)
        if group == self.each:
            return f"{self.mine} * {group} + {place}"
        return f"{place} / {group} * {group * SIDE} + {self.mine} * {group} + {place} % {group}"


def write_product(writer: Writer, product: Product, works: Sequence[Work]) -> None:
    """A product, and the maps that follow it at each of its points."""
    rows, columns = product.tile
    tall, wide = -(-points(product.rows) // (SIDE * rows)), -(-points(product.columns) // (SIDE * columns))
    writer.grid, writer.block, writer.resident = (product.grid, 1, 1), (BLOCK, 1, 1), 2
    writer.line(f"const u32 across = threadIdx.x % {SIDE}, down = threadIdx.x / {SIDE};")
    place = (Iterator("tall"), tall), (Iterator("wide"), wide)
    writer.decompose("blockIdx.x", (*product.batches, *place))
    for name, (iterator, _), size in zip(("row0", "column0"), place, (rows, columns), strict=True):
        writer.line(f"const u32 {name} = {SIDE * size}u * {writer.variable(iterator)};")
    guarded = bool(product.work.guards)
    x = Operand("x", product.a, product.rows, product.terms, rows, product.depth, "row0", "down", guarded)
    y = Operand("y", product.b, product.columns, product.terms, columns, product.depth, "column0", "across", guarded)
    for operand in (x, y):
        _write_places(writer, operand)
    _write_fetch(writer, product, (x, y))
    _write_keep(writer, (x, y))
    _write_multiply(writer, product, (x, y))
    _write_result(writer, product, (x, y), works)


def _write_places(writer: Writer, operand: Operand) -> None:
    """The tiles, and where the thread reads what it brings, but for the terms."""
    name, node, width = operand.name, operand.load.node, operand.width
    packs = operand.count // width
    writer.operators.used.add("pack")
    writer.line(f"alignas(16) __shared__ {writer.ctype(node)} {name}_tile[2][{operand.depth}][{operand.pitch}];")
    writer.line(f"{writer.ctype(node)} {name}_next[{operand.count}];")
    writer.line(f"{writer.index} {name}_at[{packs}];")
    writer.line("#pragma unroll")
    writer.open(f"for (u32 n = 0; n < {packs}; n++)")
    writer.line(f"const u32 c = threadIdx.x + {BLOCK} * n, e = {operand.first} + {operand.place('c')[0]};")
    last = points(operand.free) - 1  # positions past the edge are not read, and need not fit their type
    writer.line(f"const u32 f = {f'e < {last}u ? e : {last}u' if operand.has_edge else 'e'};")
    writer.decompose("f", operand.free)
    inner = {iterator for iterator, _ in operand.terms}
    rest = Affine(tuple(term for term in operand.position.terms if term[1] not in inner), operand.position.offset)
    writer.line(f"{name}_at[n] = {writer.affine(rest)};")
    writer.close()


def _write_fetch(writer: Writer, product: Product, operands: Sequence[Operand]) -> None:
    """A function that reads the thread's part of the tiles that begin at a term."""
    writer.open("auto fetch = [&](u32 term0)")
    for operand in operands:
        _write_reading(writer, product, operand)
    writer.close()
    writer.lines[-1] += ";"


def _write_reading(writer: Writer, product: Product, operand: Operand) -> None:
    name, width, terms = operand.name, operand.width, points(product.terms)
    free, term = operand.place("c")
    writer.line("#pragma unroll")
    writer.open(f"for (u32 n = 0; n < {operand.count // width}; n++)")
    writer.line(f"const u32 c = threadIdx.x + {BLOCK} * n, t = term0 + {term};")
    conditions = [f"{operand.first} + {free} < {points(operand.free)}"] if operand.has_edge else []
    conditions += [f"t < {terms}"] if terms % operand.depth else []
    if conditions or operand.is_guarded:
        _write_lanes(writer, width, f"{name}_next[{_lane('n', width)}] = 0;")
    if conditions:
        writer.open(f"if ({' && '.join(conditions)})")
    writer.decompose("t", product.terms)
    if operand.is_guarded:
        writer.open(f"if ({writer.condition(product.work.guards)})")
    inner = {iterator for iterator, _ in product.terms}
    place = Affine(tuple(each for each in operand.position.terms if each[1] in inner))
    element = f"{writer.touch(operand.load.node, False)}[{name}_at[n] + {writer.affine(place)}]"
    read = f"{name}_next[n] = {element};" if width == 1 else f"cf_read<{width}>(&{name}_next[n * {width}], &{element});"
    writer.line(read)
    for _ in range(bool(conditions) + operand.is_guarded + 1):
        writer.close()


def _write_keep(writer: Writer, operands: Sequence[Operand]) -> None:
    """A function that puts what was read into one of the two tiles."""
    writer.open("auto keep = [&](u32 turn)")
    for operand in operands:
        name, width = operand.name, operand.width
        free, term = operand.place("c")
        writer.line("#pragma unroll")
        writer.open(f"for (u32 n = 0; n < {operand.count // width}; n++)")
        writer.line(f"const u32 c = threadIdx.x + {BLOCK} * n, f = {free}, t = {term};")
        if width > 1 and not operand.along_terms:
            writer.line(f"cf_write<{width}>(&{name}_tile[turn][t][f], &{name}_next[n * {width}]);")
        else:
            term_lane = "t" if width == 1 else "t + w"
            _write_lanes(writer, width, f"{name}_tile[turn][{term_lane}][f] = {name}_next[{_lane('n', width)}];")
        writer.close()
    writer.close()
    writer.lines[-1] += ";"


def _lane(count: str, width: int) -> str:
    """Where lane w of a pack lies among the thread's registers."""
    return count if width == 1 else f"{count} * {width} + w"


def _write_lanes(writer: Writer, width: int, text: str) -> None:
    """A line for each lane w of a pack."""
    if width > 1:
        writer.line("#pragma unroll")
    writer.line(text if width == 1 else f"for (u32 w = 0; w < {width}; w++) {text}")


def _write_multiply(writer: Writer, product: Product, operands: Sequence[Operand]) -> None:
    """All tiles of terms, one after the other."""
    x, y = operands
    dtype, terms, depth = product.work.nest.node.dtype, points(product.terms), product.depth
    ctype = writer.ctype(product.work.nest.node)
    writer.line(f"{ctype} sum[{x.each}][{y.each}] = {{}};")
    writer.line("fetch(0);")
    writer.line("keep(0);")
    writer.line("__syncthreads();")
    writer.line("u32 turn = 0;")
    writer.line("#pragma unroll 1")  # more than one tile at once would not fit the registers
    writer.open(f"for (u32 term0 = 0; term0 < {terms}; term0 += {depth})")
    writer.line(f"if (term0 + {depth} < {terms}) fetch(term0 + {depth});")
    writer.line("#pragma unroll")
    writer.open(f"for (u32 t = 0; t < {depth}; t++)")
    writer.line(f"{ctype} x[{x.each}], y[{y.each}];")
    for operand in operands:
        group = min(4, operand.each)
        writer.line("#pragma unroll")
        place = f"{operand.name}_tile[turn][t][n * {SIDE} + {operand.mine} * {group}]"
        writer.line(
            f"for (u32 n = 0; n < {operand.each}; n += {group}) cf_read<{group}>(&{operand.name}[n], &{place});"
        )
    writer.line("#pragma unroll")
    writer.line(f"for (u32 i = 0; i < {x.each}; i++)")
    writer.line("    #pragma unroll")
    fused = "fmaf" if dtype is float32 else "fma"
    writer.line(f"    for (u32 j = 0; j < {y.each}; j++) sum[i][j] = {fused}(x[i], y[j], sum[i][j]);")
    writer.close()
    writer.open(f"if (term0 + {depth} < {terms})")
    for text in ("turn ^= 1;", "keep(turn);", "__syncthreads();"):
        writer.line(text)
    writer.close()
    writer.close()


def _write_result(writer: Writer, product: Product, operands: Sequence[Operand], works: Sequence[Work]) -> None:
    """The thread's part of the result added to its start and stored, and what follows."""
    x, y = operands
    pack = _packed(product, y, works)
    writer.line("#pragma unroll")
    writer.open(f"for (u32 i = 0; i < {x.each}; i++)")
    writer.line(f"const u32 row = row0 + {x.of_registers('i')};")
    if x.has_edge:
        writer.open(f"if (row < {points(x.free)})")
    writer.decompose("row", product.rows)
    writer.line("#pragma unroll")
    writer.open(f"for (u32 j = 0; j < {y.each}; j += {pack})")
    writer.line(f"const u32 column = column0 + {y.of_registers('j')};")
    if y.has_edge:
        writer.open(f"if (column < {points(y.free)})")
    writer.decompose("column", product.columns)
    if pack == 1:
        _write_element(writer, works)
    else:
        last = product.columns[-1][0]
        lane = writer.variable(Iterator("lane"))
        _write_elements(writer, works, Pack(last, writer.variable(last), lane, pack))
    for _ in range(2 + x.has_edge + y.has_edge):
        writer.close()


def _packed(product: Product, y: Operand, works: Sequence[Work]) -> int:
    """How many neighbouring columns are stored at once."""
    last, extent = product.columns[-1]
    group = min(4, y.each, 16 * 8 // product.work.nest.node.dtype.bits)
    whole = extent % group == 0 and all(is_pack(work.nest.target, last, group) for work in works)
    return group if whole and all(work.is_map and not work.guards for work in works[1:]) else 1


def _write_element(writer: Writer, works: Sequence[Work]) -> None:
    work = works[0]
    name = writer.fresh()
    start = "" if work.nest.start == 0 else f"{start_of(writer, work)} + "
    writer.line(f"const {writer.ctype(work.nest.node)} {name} = {start}sum[i][j];")
    finish(writer, work, name)
    for each in works[1:]:
        write_point(writer, each)


def _write_elements(writer: Writer, works: Sequence[Work], pack: Pack) -> None:
    work = works[0]
    nest, result = work.nest, "&sum[i][j]"
    if nest.start != 0:
        before = None if nest.start is not None else read_pack(writer, Load(nest.node, nest.store.index), pack.lanes)
        start = start_of(writer, work) if before is None else f"{before}[{pack.lane}]"
        open_lanes(writer, pack)
        writer.line(f"sum[i][j + {pack.lane}] = {start} + sum[i][j + {pack.lane}];")
        close_lanes(writer, pack)
    finish_pack(writer, work, pack, result)
    writer.known[nest.node, nest.target] = f"sum[i][j + {pack.lane}]"
    for each in works[1:]:
        write_pack(writer, each, pack)
