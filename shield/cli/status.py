"""`shield status`."""

import json
import os
from collections.abc import Mapping
from typing import Any

import click

from shield.cli.connection import connect, endpoint
from shield.cli.render import shown
from shield.client import probe
from shield.config.home import Home, home_from, token_from
from shield.errors import ClientError, ConfigError, Reason

__all__ = ["command"]

_OURS = frozenset({Reason.AUTH_MISSING, Reason.AUTH_INVALID})  # of the token in the home: nothing was asked yet


@click.command("status", short_help="Say how a running Shield is.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(*, as_json: bool) -> None:
    """Health, running policy and the one on disk, rules that failed, tiers, log, open questions.

    With SHIELD_TOKEN of role approver, auditor or admin also the names of rules.

    Exit codes: 0 ready; 1 not ready or not running; 2 an error.
    """
    home = home_from(os.environ)
    try:
        with connect(home, os.environ, token_from(os.environ)) as client:
            report: Mapping[str, Any] = client.ready().report
    except ClientError as error:
        if error.status is not None:  # it answered, so it runs; what it said is about the caller
            given = "`SHIELD_TOKEN`" if token_from(os.environ) is not None else f"the token in `{home.agent_token}`"
            raise ConfigError(f"Shield runs and does not take {given}: {error.detail}") from None
        if error.reason in _OURS:
            raise ConfigError(f"{_running(home)}, but {error.detail}") from None
        shape = {"home": home.path, "running": False, "detail": error.detail}
        click.echo(json.dumps(shape) if as_json else f"not running: {shown(error.detail)}")
        raise SystemExit(1) from None
    if as_json:
        click.echo(json.dumps({"home": home.path, "running": True, **report}))
    else:
        for line in _lines(report):
            click.echo(shown(line))
    if report.get("ready") is not True:
        raise SystemExit(1)


def _running(home: Home) -> str:
    """Whether Shield runs, where there is no token to ask it with."""
    try:
        probe(endpoint(home, os.environ))
    except ClientError:
        return "Shield does not run"
    return "Shield runs"


def _lines(report: Mapping[str, Any]) -> list[str]:
    policy, log, rules = report["policy"], report["log"], report["rules"]
    lines = ["ready" if report["ready"] else "NOT READY"]
    lines += [f"  {item['reason']}: {item['detail']}" for item in (*report["trouble"], *report["notes"])]
    lines.append(f"policy    running {policy['running']}")
    if policy["disk"] != policy["running"]:
        lines.append(f"          on disk {policy['disk'] or 'does not load'}")
    lines.append(f"rules     {rules['errors']} errors")
    lines += [f"          {name}: {count}" for name, count in (rules["by_rule"] or {}).items()]
    lines.append("tiers     " + ", ".join(f"{tier} {state}" for tier, state in report["tiers"].items()))
    lines += _reading(report["tier1"])
    lines.append(f"log       {log['size']} records, {log['unsealed']} after the newest checkpoint")
    lines += _elsewhere(log["outside"])
    lines.append(f"approvals {report['approvals']['pending']} pending")
    return lines


def _reading(tier1: Mapping[str, Any]) -> list[str]:
    """What reads texts now; why something does not is among the notes."""
    return [f"tier 1    model {tier1['model'] or 'none'}", f"          rules {tier1['heuristics'] or 'none'}"]


def _elsewhere(outside: Mapping[str, Any]) -> list[str]:
    """How far the log is confirmed out of its reach: whoever has its key can still rewrite what came after that."""
    places = outside["places"] or [{**outside, "name": ""}]
    return [
        "outside   "
        + ("nothing confirmed yet" if place["size"] is None else f"{place['size']} records confirmed")
        + ("" if place["age_s"] is None else f" {_ago(place['age_s'])} ago")
        + (f", {place['name']}" if place["name"] else "")
        + (f", behind for {_ago(place['behind_s'])}" if place["behind_s"] else "")
        for place in places
    ]


def _ago(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
