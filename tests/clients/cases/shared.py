"""Registers one claim for each of the Python clients."""

from . import aio, confluent, kafkapy
from .model import CASES, Case

CLIENTS = (confluent, kafkapy, aio)


def claim(*needs, timeout_s=60, each=None):
    """The decorated function becomes a case of every client that has the features in `needs`.

    It is called with the client's `Client`; with `each`, a function from the client's module to a
    list of values, it becomes one case a value, named `{claim}[{value}]`.
    """

    def register(function):
        for module in CLIENTS:
            if not set(needs) <= module.FEATURES:
                continue
            for value in each(module) if each else [None]:
                name = function.__name__ + (f"[{value}]" if each else "")
                CASES.append(Case(module.NAME, name, bind(function, module, value, each), timeout_s))
        return function

    return register


def bind(function, module, value, each):
    if each:
        return lambda bootstrap: function(module.Client(bootstrap), value)
    return lambda bootstrap: function(module.Client(bootstrap))
