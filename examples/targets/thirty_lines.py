"""A target in thirty lines: `counterfoil check thirty_lines:target` beside this file. int32 lists, and one kernel."""

from counterfoil_oracles.targets.inprocess import Adapter, Declines, command


class Lists(Adapter):
    name, dtypes, chapters, makes = "thirty lines", ["int32"], ["dtypes", "arrays"], frozenset({"host", "from_values"})

    @command("host")
    def host(self) -> object:
        return self

    @command("from_values")
    def from_values(self, dtype: str, shape: list[int], values: list[int]) -> list[int]:
        if len(shape) != 1 or not 0 <= shape[0] <= 2**53:
            raise NotImplementedError("shapes of one axis alone")
        if len(values) != shape[0]:
            raise Declines(rule="arrays/values-count")
        for value in values:
            if type(value) is not int or not -(2**31) <= value < 2**31:
                raise Declines(rule="dtypes/value-range" if type(value) is int else "dtypes/value-type")
        return values

    @command("array.to_values")
    def to_values(self, array: list[int]) -> object:
        return {"dtype": "int32", "bits": [f"{value % 2**32:08x}" for value in array]}


target = Lists
