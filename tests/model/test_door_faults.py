"""Both real doors give A3's answer to every combination of faults of one to three operands, and leave no trace.

The expected answer is computed here, from the faults alone. Operands alone in their memory have every combination of
faults; operands that share a memory are asked in every relation. ``door_sites.UNCONSTRUCTIBLE`` lists what cannot be.
"""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pytest
from tests.model.door_sites import (
    APART,
    IDENTICAL,
    OVERLAPPING,
    UNCONSTRUCTIBLE,
    Builder,
    Facts,
    Site,
    shared_sites,
    single_sites,
)

from counterfoil_spec.answers import DOOR_ORDER, Answer
from counterfoil_spec.refusals import Lost

LOST: Final = "Lost"
Outcome = Answer | str
Split = tuple[int, int]

# A3 after the claims: each stage is asked of all operands before the next. The function `door` asks those marked.
STAGES: Final[tuple[tuple[Outcome, bool], ...]] = (
    (Answer.WRONG_DTYPE, False),
    (Answer.OFF_HOST, False),
    (Answer.REPEATED_ELEMENTS, True),
    (Answer.OVERLAPPING, True),
    (LOST, True),
    (Answer.SHAPE_MISMATCH, False),
    (Answer.DECLINED, False),
)
PLACE: Final = {outcome: place for place, (outcome, _) in enumerate(STAGES)}

# A kernel of each arity whose row takes float32 and not the other dtype, and one that declines a destination identical
# to its source.
KERNELS: Final = {1: "iota", 2: "sqrt", 3: "fdiv"}
DECLINING: Final = "sum"
SPLITS: Final = [(written, count - written) for count in (1, 2, 3) for written in range(count + 1)]
"""How many operands of a call of the function ``door`` are written, and how many read."""


# --- what the answer must be ------------------------------------------------------------------------------------------


def claim_answer(facts: Facts, written: bool) -> Answer | None:
    """The first refusal of an operand's claim: dead, then exclusive, then read-only if it is written."""
    if "dead" in facts.own:
        return Answer.DEAD_BUFFER
    if "exclusive" in facts.memory:
        return Answer.HELD_EXCLUSIVE
    return Answer.READ_ONLY if written and "read_only" in facts.memory else None


def later_faults(site: tuple[Facts, ...], written: int, declines: bool) -> int:
    """A site's faults after the claims, as a set of stages in bits."""
    found: set[Outcome] = set()
    for facts in site:
        found |= {Answer.WRONG_DTYPE} if "dtype" in facts.own else set()
        found |= {Answer.OFF_HOST} if "off_host" in facts.memory and not facts.empty else set()
        found |= {Answer.REPEATED_ELEMENTS} if "repeated" in facts.own and facts.position < written else set()
        found |= {LOST} if "lost" in facts.memory else set()
        found |= {Answer.SHAPE_MISMATCH} if "shape" in facts.own else set()
    for one, two in itertools.combinations(site, 2):
        if one.position < written or two.position < written:
            relation, both = relation_of(site, one, two), max(one.position, two.position) < written
            found |= {Answer.OVERLAPPING} if relation == OVERLAPPING or (relation == IDENTICAL and both) else set()
            found |= {Answer.DECLINED} if relation == IDENTICAL and declines else set()
    return sum(1 << PLACE[outcome] for outcome in found)


def relation_of(site: tuple[Facts, ...], one: Facts, two: Facts) -> str:
    """How two operands of a site lie to each other; what they carry is how they lie to the first."""
    if one is site[0]:
        return two.relation
    if APART in (one.relation, two.relation):
        return APART
    alike = one.relation == two.relation and one.shape == two.shape
    return IDENTICAL if alike and ("repeated" in one.own) == ("repeated" in two.own) else OVERLAPPING


def outcomes(kernel: bool) -> list[Outcome]:
    """The outcome for each set of later faults: the first stage that the door asks and that applies."""
    asked = [(place, outcome) for place, (outcome, both) in enumerate(STAGES) if kernel or both]
    return [
        next((outcome for place, outcome in asked if faults >> place & 1), Answer.DONE)
        for faults in range(1 << len(STAGES))
    ]


# --- calls ------------------------------------------------------------------------------------------------------------


class Call:
    """A call of a half: of a kernel, whose first operand alone is written, or (no kernel) of the function ``door``."""

    def __init__(self, half: Any, kernel: str | None, written: int = 1) -> None:
        self.half, self.kernel, self.written = half, kernel, written
        self.function: Any = getattr(half.kernels, kernel) if kernel else half.door
        self.wrong = half.bool_ if kernel == "iota" else half.int32
        self.table = outcomes(kernel is not None)

    def __call__(self, operands: Sequence[Any], axis: int) -> Outcome:
        """What the half answers; Lost where it raises that."""
        try:
            match self.kernel:
                case "iota":
                    answer = self.function(operands[0], axis)
                case "sum":
                    answer = self.function(*operands, [])
                case None:
                    answer = self.function(operands[: self.written], operands[self.written :], no_work)
                case _:
                    answer = self.function(*operands)
        except Lost:
            return LOST
        assert isinstance(answer, Answer)
        return answer


def no_work() -> None:
    """What the function ``door`` runs where nothing is wrong."""


class Entry:
    """A site, and what its facts contribute to a call's outcome."""

    def __init__(self, site: Site, call: Call) -> None:
        self.site = site
        self.claims = [claim_answer(facts, facts.position < call.written) for facts in site.facts]
        self.later = later_faults(site.facts, call.written, call.kernel == DECLINING)
        self.axis = 7 if "shape" in site.facts[0].own else 0
        self.held = site.root.claims


class Pool:
    """Sites built once and used by many calls: a refusal changes nothing, so each serves again."""

    def __init__(self, builder: Builder, call: Call, many: Iterable[tuple[Facts, ...]]) -> None:
        self.builder = builder
        self.entries = [Entry(builder.site(facts, call.wrong), call) for facts in many]
        self.places = [facts.position for facts in self.entries[0].site.facts]

    def check(self) -> None:
        """No byte, no claim and no pending work is other than before, and a donation gets what it can get."""
        for entry in self.entries:
            assert self.builder.state(entry.site) == entry.site.before, entry.site.facts
            assert self.builder.probe(entry.site), entry.site.facts


class Product:
    """A call with every choice of a site from each pool, the pools' operands together being the call's."""

    def __init__(self, call: Call, pools: Sequence[Pool]) -> None:
        self.call, self.pools = call, pools
        places = [place for pool in pools for place in pool.places]
        self.order = sorted(range(len(places)), key=places.__getitem__)

    def run(self) -> Counter[Outcome]:
        """Make the calls in which something is wrong, and count the outcomes.

        The claims of all its memories are looked at after each call. A byte changed, work performed or a donation lost
        would stay so: these are looked at after each of the first pool's sites has met all others, and at the end.
        """
        counts: Counter[Outcome] = Counter()
        for first in self.pools[0].entries:
            for others in itertools.product(*(pool.entries for pool in self.pools[1:])):
                chosen = (first, *others)
                wanted = self.expected(chosen)
                if wanted is not Answer.DONE:
                    counts[wanted] += 1
                    self.refuse(chosen, wanted)
            assert self.pools[0].builder.state(first.site) == first.site.before, first.site.facts
        for pool in self.pools:
            pool.check()
        return counts

    def expected(self, chosen: Sequence[Entry]) -> Outcome:
        """The first claim refused, operand by operand; else the first stage at which any operand has a fault."""
        claims = [answer for entry in chosen for answer in entry.claims]
        later = 0
        for entry in chosen:
            later |= entry.later
        return next((claims[k] for k in self.order if claims[k]), None) or self.call.table[later]

    def refuse(self, chosen: Sequence[Entry], wanted: Outcome) -> None:
        """The half answers what is wanted, and holds no claim of any of the memories afterwards."""
        arrays = [array for entry in chosen for array in entry.site.arrays]
        answer = self.call([arrays[k] for k in self.order], chosen[0].axis)
        assert answer == wanted, (answer, wanted, [entry.site.facts for entry in chosen])
        for entry in chosen:
            assert entry.site.root.claims == entry.held, [entry.site.facts for entry in chosen]


# --- the tests --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["counterfoil_reference", "counterfoil"])
def builder(request: pytest.FixtureRequest) -> Iterator[Builder]:
    """Builds sites of each half."""
    with Builder(importlib.import_module(request.param)) as made:
        yield made


def alone(builder: Builder, call: Call, count: int, **options: bool) -> Counter[Outcome]:
    """The outcomes of operands each alone in its memory."""
    kernel = call.kernel is not None
    pools = [
        Pool(builder, call, single_sites(place, place < call.written, kernel, **options)) for place in range(count)
    ]
    return Product(call, pools).run()


def together(builder: Builder, call: Call, count: int) -> Counter[Outcome]:
    """The outcomes of operands of which some share a memory, in every choice of those that do."""
    kernel, counts = call.kernel is not None, Counter[Outcome]()
    for size in range(2, count + 1):
        for sharing in itertools.combinations(range(count), size):
            rest = [place for place in range(count) if place not in sharing]
            pools = [Pool(builder, call, shared_sites(sharing, call.written, kernel))]
            pools += [Pool(builder, call, single_sites(place, place < call.written, kernel)) for place in rest]
            counts += Product(call, pools).run()
    return counts


def assert_all_met(counts: Counter[Outcome], missing: set[Outcome], least: int) -> None:
    """Every outcome but Done and those missing was met, in at least so many calls."""
    assert {outcome for outcome in (*DOOR_ORDER, LOST) if outcome not in counts} == missing
    assert counts.total() >= least


@pytest.mark.parametrize(("count", "least"), [(1, 175), (2, 11_263), pytest.param(3, 720_895, marks=pytest.mark.long)])
def test_a_kernel_of_operands_each_in_its_memory(builder: Builder, count: int, least: int) -> None:
    """Every combination of dead, exclusive, read-only, dtype, off host, repeated, lost and shape, of every operand."""
    counts = alone(builder, Call(builder.half, KERNELS[count]), count)
    assert_all_met(counts, {Answer.OVERLAPPING, Answer.DECLINED}, least)


@pytest.mark.parametrize(("count", "least"), [(2, 658), pytest.param(3, 189_000, marks=pytest.mark.long)])
def test_a_kernel_of_operands_that_share_a_memory(builder: Builder, count: int, least: int) -> None:
    """Overlapping comes after what stands before it in the order and before what stands after, in every relation."""
    counts = together(builder, Call(builder.half, KERNELS[count]), count)
    assert_all_met(counts, {Answer.DECLINED}, least)


def test_a_kernel_declines_last(builder: Builder) -> None:
    """A kernel that declines an identical destination does so only where nothing else is wrong."""
    counts = together(builder, Call(builder.half, DECLINING), 2)
    assert_all_met(counts, set(), 659)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_operands_without_element(builder: Builder, count: int) -> None:
    """They are claimed, typed and lost as others are; off host they are no fault."""
    counts = alone(builder, Call(builder.half, KERNELS[count]), count, empty=True)
    never: set[Outcome] = {
        Answer.OFF_HOST, Answer.REPEATED_ELEMENTS, Answer.OVERLAPPING, Answer.SHAPE_MISMATCH, Answer.DECLINED,
    }  # fmt: skip
    assert_all_met(counts, never, 40)


def test_sources_may_repeat_and_be_read_only(builder: Builder) -> None:
    """What is a fault of a written operand alone changes no answer where a read operand has it."""
    counts = alone(builder, Call(builder.half, KERNELS[2]), 2, harmless=True)
    assert_all_met(counts, {Answer.OVERLAPPING, Answer.DECLINED}, 30_000)


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_the_function_door(builder: Builder, split: Split) -> None:
    """It asks claims, repeated elements, overlap and loss of any number of written and read operands, and no more."""
    written, count = split[0], sum(split)
    call = Call(builder.half, None, written)
    counts = alone(builder, call, count) + (together(builder, call, count) if count > 1 else Counter())
    never: set[Outcome] = {Answer.WRONG_DTYPE, Answer.OFF_HOST, Answer.SHAPE_MISMATCH, Answer.DECLINED}
    never |= set() if written else {Answer.READ_ONLY, Answer.REPEATED_ELEMENTS}
    never |= set() if written and count > 1 else {Answer.OVERLAPPING}
    assert_all_met(counts, never, 3**count)


def test_the_answers_when_nothing_is_wrong(builder: Builder) -> None:
    """The calls that the products leave out are Done, and leave no claim either."""
    for count, kernel in KERNELS.items():
        call = Call(builder.half, kernel)
        sites = [builder.site((Facts(place),), call.wrong) for place in range(count)]
        operands = [site.arrays[0] for site in sites]
        assert Call(builder.half, None)(operands, 0) is Answer.DONE
        assert [builder.state(site) for site in sites] == [site.before for site in sites]
        assert call(operands, 0) is Answer.DONE
        assert [site.root.claims for site in sites] == [(0, False, False)] * count
        assert [site.device.reached for site in sites] == [1] * count


@pytest.mark.parametrize("trace", ["byte", "work", "claim", "answer"])
def test_a_door_that_leaves_a_trace_is_found(builder: Builder, trace: str) -> None:
    """A changed byte, work performed, a claim kept and a wrong answer each fail the product."""
    half, call = builder.half, Call(builder.half, KERNELS[1])
    pool = Pool(builder, call, [(Facts(0, frozenset({"off_host"})),)])
    site = pool.entries[0].site
    kept: list[Any] = []

    def faulty(dst: Any, axis: int) -> Answer:
        match trace:
            case "byte":
                half.inspection.poke(site.root, bytes(site.root.nbytes - 1) + b"1")
            case "work":
                site.device.advance(1)
            case "claim":
                kept.append(half.claims(read=[site.root]))
                kept[0].__enter__()
        return Answer.SHAPE_MISMATCH if trace == "answer" else Answer.OFF_HOST

    call.function = faulty
    with pytest.raises(AssertionError):
        Product(call, [pool]).run()


def test_what_cannot_be_is_not_asked() -> None:
    """No site has what the list says is unconstructible, and the list says why."""
    sites = [*single_sites(0, True, True), *shared_sites((0, 1), 1, True), *shared_sites((0, 1, 2), 2, False)]
    for facts in itertools.chain(*sites):
        assert not {"read_only", "exclusive"} <= facts.memory
        assert not {"read_only", "off_host", "lost"} <= facts.memory
        assert facts.relation != IDENTICAL or not facts.own & {"repeated", "shape"}
    assert all(reason.endswith(".") for reason in UNCONSTRUCTIBLE.values())
