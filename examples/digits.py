"""Handwritten digits: an MLP trained through a checked context, on the data that scikit-learn brings along.

    python examples/digits.py            five seeds, pictures of the loss and of the confusions in build/digits.png
    python examples/digits.py --short    one seed, no picture

Prints the accuracy on a stratified fifth that training never sees, then what happens to a program that forgets to
zero its gradients.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import counterfoil as cf

SEEDS = (0, 1, 2, 3, 4)
BATCH, HIDDEN, EPOCHS, RATE, MOMENTUM, DECAY = 32, 128, 40, 0.05, 0.9, 1e-4


class Split:
    """The digits, four fifths to train on and one fifth, with the same share of each digit, to test on."""

    def __init__(self, seed: int) -> None:
        digits = load_digits()
        images = (digits.data / 16.0).astype(np.float32)
        parts = train_test_split(images, digits.target, test_size=0.2, stratify=digits.target, random_state=seed)
        self.train, self.test, self.train_digits, self.test_digits = parts
        self.batches = len(self.train) // BATCH

    def epoch(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The training images and one-hot digits in a fresh order, batch by batch."""
        order = rng.permutation(len(self.train))[: self.batches * BATCH]
        answers = np.eye(10, dtype=np.float32)[self.train_digits[order]]
        return self.train[order].reshape(-1, BATCH, 64), answers.reshape(-1, BATCH, 10)


class Network:
    """A perceptron with one hidden layer: 64 pixels, HIDDEN units, 10 digits."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.start = {
            "w1": rng.standard_normal((64, HIDDEN)) * (2 / 64) ** 0.5,
            "b1": np.zeros(HIDDEN),
            "w2": rng.standard_normal((HIDDEN, 10)) * (1 / HIDDEN) ** 0.5,
            "b2": np.zeros(10),
        }
        self.parameters = {name: cf.tensor.param(name, values.shape) for name, values in self.start.items()}

    def logits(self, images: Any) -> Any:
        """Images of shape (n, 64) to scores of shape (n, 10)."""
        p = self.parameters
        return (images @ p["w1"] + p["b1"]).relu() @ p["w2"] + p["b2"]

    def upload(self, context: Any) -> Any:
        """The context with the parameters' first values."""
        for name, tensor in self.parameters.items():
            context = context.set_values(tensor.value, self.start[name].ravel().tolist())
        return context


def train(seed: int) -> tuple[list[float], np.ndarray]:
    """(mean loss of each epoch, the confusion matrix on the test images: rows are the true digits)."""
    rng = np.random.default_rng(seed)
    split, network = Split(seed), Network(rng)
    images = cf.tensor.data("images", (split.batches, BATCH, 64))
    answers = cf.tensor.data("answers", (split.batches, BATCH, 10))
    batch = cf.Symbol("batch", split.batches)
    scores = network.logits(cf.tensor.slice_of(images, batch))
    loss = cf.tensor.cross_entropy(scores, cf.tensor.slice_of(answers, batch))
    update = cf.tensor.sgd_update(loss, RATE, momentum=MOMENTUM, weight_decay=DECAY)
    step = cf.sequence(cf.tensor.grad_update(loss), update)
    context, routine = network.upload(cf.Context.auto("cc")).compile(step, name="step")
    losses = []
    for _ in range(EPOCHS):
        pixels, targets = split.epoch(rng)
        context = context.from_host(images.value, pixels).from_host(answers.value, targets)
        total = 0.0
        for index in range(split.batches):
            batch.set(index)
            context = context.run(routine)
            total += context.get_value(loss.value, ())
        losses.append(total / split.batches)
    return losses, confusion(context, network, split)


def confusion(context: Any, network: Network, split: Split) -> np.ndarray:
    """How often each true digit (row) was taken for each digit (column), on the test images."""
    images = cf.tensor.data("test", split.test.shape)
    scores = network.logits(images)
    scores.value.set_observable()
    context, routine = context.compile(cf.tensor.forward(scores), name="scores")
    context = context.from_host(images.value, split.test).run(routine)
    guesses = np.asarray(context.to_host(scores.value)).argmax(axis=1)
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (split.test_digits, guesses), 1)
    return counts


def forgotten_zero() -> str:
    """What a program is told that adds a second step's gradients to the first's."""
    w, x = cf.tensor.param("w", (3,)), cf.tensor.data("x", (3,))
    loss = (w * x).sum()
    context = cf.Context.cpu().set_values(w.value, [1.0, 2.0, 3.0])
    context, zero = context.compile(cf.tensor.zero_params_grads(loss), name="zero")
    context, step = context.compile(cf.tensor.grad_update(loss, accum_steps=1), name="step")
    context = context.set_values(x.value, [1.0, 1.0, 1.0])
    context = context.run(zero).run(step)
    try:
        context.run(step)
    except cf.UserError as refusal:
        return f"{refusal.rule}: {refusal}"
    raise AssertionError("a doubled gradient went unnoticed")


def picture(path: Path, losses: list[list[float]], counts: np.ndarray) -> None:
    """Loss curves and the confusion matrix, as one PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for seed, curve in zip(SEEDS, losses, strict=True):
        left.plot(range(1, len(curve) + 1), curve, label=f"seed {seed}")
    left.set(xlabel="epoch", ylabel="mean training loss", yscale="log", title="Loss")
    left.legend()
    image = right.imshow(counts, cmap="Blues", norm="log" if counts.min() > 0 else None)
    right.set(xlabel="taken for", ylabel="digit", xticks=range(10), yticks=range(10), title="Test images, all seeds")
    for row, column in np.argwhere(counts):
        shade = "white" if row == column else "black"
        right.text(column, row, str(counts[row, column]), ha="center", va="center", fontsize=8, color=shade)
    figure.colorbar(image, ax=right)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main(arguments: list[str]) -> int:
    """Train, report, draw; exit code 1 where the accuracy is below what is promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="one seed, no picture")
    parser.add_argument("--picture", type=Path, default=Path("build/digits.png"), help="where the picture goes")
    options = parser.parse_args(arguments)
    seeds = SEEDS[:1] if options.short else SEEDS
    begin = time.perf_counter()
    curves, matrices = zip(*(train(seed) for seed in seeds), strict=True)
    took = time.perf_counter() - begin
    accuracies = [np.trace(counts) / counts.sum() for counts in matrices]
    for seed, accuracy in zip(seeds, accuracies, strict=True):
        print(f"seed {seed}: {accuracy:.2%} of the test digits")
    print(f"mean {np.mean(accuracies):.2%} in {took:.1f} s")
    if not options.short:
        picture(options.picture, list(curves), sum(matrices))
        print(f"picture: {options.picture}")
    print(f"\nand a step that forgets to zero its gradients, run twice:\n  {forgotten_zero()}")
    return 0 if np.mean(accuracies) >= 0.97 and min(accuracies) >= 0.96 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
