"""Flower's strategies as the keys of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .errors import BadOptionError

Keys = dict[str, Any]

_TREES = "it exchanges trees, and Folkmoot trains models with gradients"
_UNMAPPED = {
    "FedXgbBagging": _TREES,
    "FedXgbCyclic": _TREES,
    "FedXgbNnAvg": _TREES,
    "FedOpt": "it is the base of FedAdam, FedYogi and FedAdagrad; give one of these",
}


def task_keys(
    strategy: Any,
    *,
    clients: int,
    task: Mapping[str, Any] | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Keys:
    """Returns the keys of a task that do what a strategy of Flower does, for a coordinator and for `folkmoot.compare`.

    `clients` is the number of available clients, from which Flower computes the size of a round. With `task`, a dictionary with
    the keys of a task file, the result is that task with these keys. `epsilon` and `delta` are the budget of a strategy with
    differential privacy: the task ends before it exceeds them. By default they are the `max_epsilon` and `target_delta` of the
    strategy's accountant, which Flower has for fixed clipping. Without an accountant, a strategy of Flower has no budget.

    Evaluation, callbacks and initial parameters are not mapped: the task's `[evaluation]` and its model take their places.
    docs/guides/python.md lists the strategies, and where they differ.

    Raises BadOptionError if the strategy cannot be mapped. The text says why, and what to do instead.
    """
    keys = _mapped(strategy, clients, epsilon, delta)
    return keys if task is None else _merged(task, keys)


def _mapped(strategy: Any, clients: int, epsilon: float | None, delta: float | None) -> Keys:
    """Returns the keys of one strategy."""
    name = _name(strategy)
    if clients < 1:
        raise BadOptionError(f"clients is {clients}; it must be at least 1")
    if name in _PRIVATE:
        return _private(name, strategy, clients, epsilon, delta)
    if name not in _KINDS:
        reason = _UNMAPPED.get(name, "Folkmoot does not know this strategy")
        raise BadOptionError(
            f"{name} cannot become the keys of a task: {reason}. The strategies that can are "
            f"{', '.join(sorted([*_KINDS, *_PRIVATE]))}; in a simulation, FlowerStrategy runs any strategy"
        )
    share = _first(strategy, "fraction_train", "fraction_fit")
    least = _first(strategy, "min_train_nodes", "min_fit_clients")
    goal = max(int(clients * share), int(least), 1)
    scheduling: Keys = {"kind": "synchronous", "report_goal": goal, "over_selection_factor": 1.0}
    keys: Keys = {"aggregator": {"kind": "weighted_mean"}, "finalizer": {"kind": "fed_avg"}}
    keys |= {"scheduling": scheduling, **_KINDS[name](strategy, goal)}
    # A share of hostile updates is checked against the smallest round.
    if not getattr(strategy, "accept_failures", True) or keys["aggregator"].get("byzantine_share"):
        scheduling["minimum_cohort"] = goal
    return keys


def _private(name: str, strategy: Any, clients: int, epsilon: float | None, delta: float | None) -> Keys:
    """Returns the keys of a strategy that adds privacy to another one."""
    accountant = getattr(strategy, "accountant", None)
    if accountant is not None and (accountant.num_releases or accountant.config.population_size != clients):
        raise BadOptionError(
            f"the accountant of {name} has {accountant.num_releases} releases and a population of "
            f"{accountant.config.population_size}; a task begins without releases, and clients is {clients}. Give a new "
            "accountant with this population, or a strategy without one"
        )
    if accountant is not None:
        epsilon = accountant.config.max_epsilon if epsilon is None else epsilon
        delta = accountant.config.target_delta if delta is None else delta
    if epsilon is None or delta is None:
        raise BadOptionError(
            f"{name} needs a budget: give epsilon and delta, for example epsilon=8.0, delta=1e-6. "
            "The task ends before it would exceed them"
        )
    if not getattr(strategy, "server_side_noising", True):
        raise BadOptionError(
            f'{name} lets each client add noise; set privacy.kind = "distributed", which needs secure aggregation'
        )
    keys = _mapped(strategy.strategy, clients, None, None)
    if keys["aggregator"]["kind"] != "weighted_mean":
        raise BadOptionError(
            f"{name} wraps {_name(strategy.strategy)}, whose aggregator {keys['aggregator']['kind']} cannot be combined "
            "with privacy; wrap FedAvg or an adaptive optimizer"
        )
    goal = int(strategy.num_sampled_clients)
    scheduling = {**keys["scheduling"], "report_goal": goal}
    if "minimum_cohort" in scheduling:
        scheduling["minimum_cohort"] = min(scheduling["minimum_cohort"], goal)
    privacy = {"kind": "central", "epsilon": epsilon, "delta": delta, **_PRIVATE[name](strategy)}
    # A weight would multiply a client's influence.
    return {**keys, "scheduling": scheduling, "aggregator": {"kind": "uniform_mean"}, "privacy": privacy}


def _fixed(strategy: Any) -> Keys:
    norm = _first(strategy, "clipping_norm", "clip_norm")
    return {"noise_multiplier": float(strategy.noise_multiplier), "clipping": {"kind": "fixed", "norm": float(norm)}}


def _adaptive(strategy: Any) -> Keys:
    return {
        "clipping": {
            "kind": "adaptive",
            "initial_norm": float(_first(strategy, "clipping_norm", "clip_norm")),
            "quantile": float(_first(strategy, "target_clipped_quantile", "clip_norm_target_quantile")),
            "rate": float(strategy.clip_norm_lr),
        }
    }


_PRIVATE: dict[str, Callable[[Any], Keys]] = {
    "DifferentialPrivacyServerSideFixedClipping": _fixed,
    "DifferentialPrivacyClientSideFixedClipping": _fixed,
    "DPFedAvgFixed": _fixed,
    "DifferentialPrivacyServerSideAdaptiveClipping": _adaptive,
    "DifferentialPrivacyClientSideAdaptiveClipping": _adaptive,
    "DPFedAvgAdaptive": _adaptive,
}


def _momentum(strategy: Any, _: int) -> Keys:
    rate = {"server_learning_rate": float(strategy.server_learning_rate)}
    momentum = float(strategy.server_momentum)
    return {
        "finalizer": {"kind": "fed_avg_m", "momentum": momentum, **rate} if momentum else {"kind": "fed_avg", **rate}
    }


def _adapting(kind: str, *decays: str) -> Callable[[Any, int], Keys]:
    def keys(strategy: Any, _: int) -> Keys:
        settings = {"server_learning_rate": float(strategy.eta), "tau": float(strategy.tau)}
        settings |= {decay: float(getattr(strategy, decay.replace("beta", "beta_"))) for decay in decays}
        return {"finalizer": {"kind": kind, **settings}}

    return keys


def _krum(strategy: Any, goal: int) -> Keys:
    share = {"byzantine_share": _share(strategy, goal)}
    is_single = _name(strategy) == "Krum"
    chosen = int(getattr(strategy, "num_clients_to_keep", 0) if is_single else strategy.num_nodes_to_select)
    if is_single and chosen == 0:
        return {"aggregator": {"kind": "krum", **share}}
    return {"aggregator": {"kind": "multi_krum", **share, "chosen": chosen}}


def _share(strategy: Any, goal: int) -> float:
    """Returns a share of a round that rounds down to the strategy's number of hostile clients."""
    count = int(_first(strategy, "num_malicious_nodes", "num_malicious_clients"))
    return 0.0 if count == 0 else round((count + 0.1) / goal, 6)


def _q_fed_avg(strategy: Any, _: int) -> Keys:
    rate = float(_first(strategy, "client_learning_rate", "learning_rate"))
    return {"aggregator": {"kind": "q_fed_avg", "q": float(_first(strategy, "q", "q_param")), "lipschitz": 1.0 / rate}}


_KINDS: dict[str, Callable[[Any, int], Keys]] = {
    "FedAvg": lambda strategy, goal: {},
    "FedAvgAndroid": lambda strategy, goal: {},
    "FaultTolerantFedAvg": lambda strategy, goal: {},
    "FedAvgM": _momentum,
    "FedProx": lambda strategy, goal: {"plan": {"proximal_term": float(strategy.proximal_mu)}},
    "FedAdam": _adapting("fed_adam", "beta1", "beta2"),
    "FedYogi": _adapting("fed_yogi", "beta1", "beta2"),
    "FedAdagrad": _adapting("fed_adagrad", "beta1"),
    "FedMedian": lambda strategy, goal: {"aggregator": {"kind": "median"}},
    "FedTrimmedAvg": lambda strategy, goal: {
        "aggregator": {"kind": "trimmed_mean", "trim_share": float(strategy.beta)}
    },
    "Krum": _krum,
    "MultiKrum": _krum,
    "Bulyan": lambda strategy, goal: {"aggregator": {"kind": "bulyan", "byzantine_share": _share(strategy, goal)}},
    "QFedAvg": _q_fed_avg,
}


def _name(strategy: Any) -> str:
    """Returns the name of a strategy of Flower itself.

    Raises BadOptionError for a subclass, whose methods may do something else, and for other things.
    """
    kind = type(strategy)
    if isinstance(strategy, type) or isinstance(strategy, str):
        raise BadOptionError(f"{strategy!r} has no settings; give an instance, such as FedAdam(eta=0.02)")
    if kind.__module__.startswith("flwr."):
        return kind.__name__
    bases = [one.__name__ for one in kind.__mro__ if one.__module__.startswith("flwr.") and one.__name__ != "Strategy"]
    if not bases:
        raise BadOptionError(f"{strategy!r} is no strategy of Flower")
    raise BadOptionError(
        f"{kind.__name__} is a subclass of {bases[0]}, and its own methods cannot become the keys of a task. Give {bases[0]} itself, "
        "simulate with FlowerStrategy, or write a component (docs/guides/strategies.md)"
    )


def _first(strategy: Any, *names: str) -> Any:
    """Returns the first of these attributes: the APIs of Flower have different names for one setting."""
    return next(getattr(strategy, name) for name in names if hasattr(strategy, name))


def _merged(task: Mapping[str, Any], keys: Keys) -> Keys:
    """Returns the task with the keys. Tables with another `kind` are replaced, and others are extended."""
    merged = dict(task)
    for name, value in keys.items():
        before = merged.get(name)
        if isinstance(before, Mapping) and before.get("kind") == value.get("kind"):
            value = {**before, **value}
        merged[name] = value
    return merged
