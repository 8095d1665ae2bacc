"""The columns of the data frames, with their units. The guide's tables are checked against these lists."""

from __future__ import annotations

from typing import NamedTuple

_COUNT, _COUNT_OR_NONE, _NUMBER, _TEXT, _FLAG = "int64", "Int64", "float64", "string", "bool"


class Column(NamedTuple):
    """A column: its type in pandas, its unit, and its meaning. The unit is empty for a number without one."""

    kind: str
    unit: str
    about: str


Columns = dict[str, Column]

ROUNDS: Columns = {
    "round_number": Column(_COUNT, "", "the number of the round, from 1"),
    "version": Column(_COUNT_OR_NONE, "", "the model version that the round committed"),
    "outcome": Column(_TEXT, "", "`committed` or `abandoned`"),
    "reason": Column(_TEXT, "", "the reason why the round was abandoned"),
    "virtual_seconds": Column(_NUMBER, "s", "virtual time from the start of the simulation to the end of the round"),
    "duration_seconds": Column(_NUMBER, "s", "virtual time that the round took"),
    "drawn": Column(_COUNT, "clients", "clients that were drawn"),
    "reported": Column(_COUNT, "clients", "clients whose update was accepted"),
    "dropped": Column(_COUNT, "clients", "clients that vanished, gave up or were late"),
    "staleness_mean": Column(_NUMBER, "versions", "mean staleness of the accepted updates"),
    "staleness_max": Column(_COUNT_OR_NONE, "versions", "largest staleness of an accepted update"),
    "bytes_down": Column(_COUNT, "bytes", "sent to clients during the round"),
    "bytes_up": Column(_COUNT, "bytes", "sent by clients during the round"),
    "client_rounds": Column(_COUNT, "trainings", "trainings that clients started during the round"),
    "update_norm_median": Column(_NUMBER, "L2 norm", "median norm of the updates before clipping"),
    "clipping_norm": Column(_NUMBER, "L2 norm", "norm to which updates were clipped"),
    "train_loss": Column(_NUMBER, "loss", "mean loss over the clients' examples during training"),
    "train_accuracy": Column(_NUMBER, "share", "share of these examples that were classified correctly"),
    "held_out_loss": Column(_NUMBER, "loss", "mean loss of the version over the held-out examples"),
    "held_out_metric": Column(_NUMBER, "metric", "metric of the version over the held-out examples"),
    "fine_tuned_loss": Column(_NUMBER, "loss", "loss after each client has fine-tuned the version"),
    "fine_tuned_metric": Column(_NUMBER, "metric", "metric after each client has fine-tuned the version"),
    "client_metric_mean": Column(_NUMBER, "metric", "mean over the clients' own values; each client counts the same"),
    "client_metric_deviation": Column(_NUMBER, "metric", "standard deviation of the clients' own values"),
    "client_metric_worst_tenth": Column(_NUMBER, "metric", "mean over the tenth of the clients with the worst values"),
    "client_metric_best_tenth": Column(_NUMBER, "metric", "mean over the tenth of the clients with the best values"),
}
"""A round of a simulation."""

COMPARED_ROUNDS: Columns = {
    "variant": Column(_TEXT, "", "name of the variant"),
    "seed": Column(_COUNT, "", "seed of the run"),
    **ROUNDS,
}
"""A round of one run of a comparison."""

CONTRIBUTIONS: Columns = {
    "client": Column(_COUNT, "", "number of the client in the world, from 0"),
    "is_hostile": Column(_FLAG, "", "whether the world makes the client hostile"),
    "rounds": Column(_COUNT, "rounds", "rounds with an update of the client"),
    "shapley": Column(_NUMBER, "metric", "sum of its Shapley values; below 0, the client has hurt the model"),
    "leave_one_out": Column(_NUMBER, "metric", "sum over the rounds of the metric's loss without the client"),
    "share": Column(_NUMBER, "share", "part of the sum of all Shapley values"),
}
"""The contribution of a client to a simulated task."""

MEASURES: dict[str, tuple[str, str]] = {
    "final_metric": ("metric", "last measured value"),
    "best_metric": ("metric", "best measured value"),
    "difference": ("metric", "final value minus that of the baseline with the same seed"),
    "client_mean": ("metric", "mean over the clients in the last version that they measured"),
    "worst_tenth": ("metric", "mean over the tenth of the clients with the worst values"),
    "best_tenth": ("metric", "mean over the tenth of the clients with the best values"),
    "client_deviation": ("metric", "standard deviation of the clients' own values"),
    "rounds_to_target": ("rounds", "rounds until the target was reached"),
    "seconds_to_target": ("s", "virtual time until the target was reached"),
    "bytes_to_target": ("bytes", "sent to and by all clients until the target was reached"),
    "virtual_seconds": ("s", "virtual time of the whole run"),
    "bytes_down_per_client": ("bytes", "sent to the clients, divided by the number of clients"),
    "bytes_up_per_client": ("bytes", "sent by the clients, divided by the number of clients"),
    "committed": ("rounds", "rounds that released a version"),
    "abandoned": ("rounds", "rounds that were abandoned"),
    "dropped_share": ("share", "share of the drawn clients that dropped out"),
}
"""The figures of a variant: their unit and meaning."""

SEEDS: Columns = {
    "variant": COMPARED_ROUNDS["variant"],
    "seed": COMPARED_ROUNDS["seed"],
    **{name: Column(_NUMBER, unit, about) for name, (unit, about) in MEASURES.items()},
}
"""The figures of one run of a comparison."""

VARIANTS: Columns = {
    "variant": COMPARED_ROUNDS["variant"],
    **{
        name + suffix: Column(_NUMBER, unit, f"{about}{words}")
        for name, (unit, about) in MEASURES.items()
        for suffix, words in (("", "; mean over the seeds"), ("_half_width", "; half of the mean's 95 % t interval"))
    },
    "is_pareto_optimal": Column("boolean", "", "whether no other variant is better for the mean and the worst clients"),
    "paused_seeds": Column(_COUNT, "seeds", "seeds with which the task was paused because it failed too often"),
}
"""The figures of a variant over its seeds."""

VERSIONS: Columns = {
    "version": Column(_COUNT, "", "number of the model version, from 0"),
    "round_number": Column(_COUNT_OR_NONE, "", "round that committed the version"),
    "created_at": Column(_COUNT, "ms", "time since 1970"),
    "clients": Column(_COUNT_OR_NONE, "clients", "clients whose updates are in the version"),
    "examples": Column(_COUNT_OR_NONE, "examples", "examples that these clients trained on"),
    "loss": Column(_NUMBER, "loss", "mean loss over the clients' examples during training"),
    "accuracy": Column(_NUMBER, "share", "share of these examples that were classified correctly"),
    "central_metric": Column(_NUMBER, "metric", "metric of the version on the operator's own examples"),
    "federated_metric": Column(_NUMBER, "metric", "metric of the version on the clients' examples"),
    "change_norm": Column(_NUMBER, "L2 norm", "length of the change from the version before"),
    "mean_staleness": Column(_NUMBER, "versions", "mean staleness of the updates"),
    "staleness_max": Column(_COUNT, "versions", "largest staleness of an update"),
    "upload_bytes": Column(_COUNT_OR_NONE, "bytes", "size of the updates"),
    "rolled_back_to": Column(_COUNT_OR_NONE, "", "version whose weights this version has again"),
}
"""A version of a task on a coordinator."""
