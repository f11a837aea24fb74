"""Views that show what programs were started with: settings of services often hold secrets as plain text. And what is
taken from files for such settings."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, Operation

__all__ = ["REVEALING"]

# Kinds of things in a cluster that start no program.
_PLAIN_KINDS_TEXT = """
namespace namespaces ns node nodes no event events ev service services svc ingress ingresses ing endpoints ep
endpointslice endpointslices persistentvolume persistentvolumes pv persistentvolumeclaim persistentvolumeclaims pvc
storageclass storageclasses sc networkpolicy networkpolicies netpol horizontalpodautoscaler hpa serviceaccount
serviceaccounts sa role roles rolebinding rolebindings clusterrole clusterroles resourcequota quota limitrange limits
priorityclass priorityclasses poddisruptionbudget pdb
"""
_PLAIN_KINDS = frozenset(_PLAIN_KINDS_TEXT.split())
_PLAIN_OUTPUTS = frozenset(("wide", "name"))
_UNIT_PROPERTIES_TEXT = """
Id Names Description LoadState ActiveState SubState UnitFileState UnitFilePreset FragmentPath Type Restart NRestarts
MainPID ExecMainPID ExecMainStatus ExecMainCode ExecMainStartTimestamp Result StatusText ActiveEnterTimestamp
ActiveExitTimestamp InactiveEnterTimestamp StateChangeTimestamp MemoryCurrent MemoryMax MemoryPeak CPUUsageNSec
TasksCurrent TasksMax ControlGroup Slice User Group After Before Requires Wants WantedBy RequiredBy Triggers TriggeredBy
LimitNOFILE TimeoutStartUSec TimeoutStopUSec RestartUSec NextElapseUSecRealtime LastTriggerUSec InvocationID
"""
_UNIT_PROPERTIES = frozenset(_UNIT_PROPERTIES_TEXT.split())
# What gcloud shows of these, in full, are environments, headers with credentials, scripts for the start of a machine.
_GCLOUD = tuple(
    f"gcloud {each} "
    for each in (
        "run", "functions", "app", "builds", "scheduler", "tasks", "dataflow", "dataproc",
        "compute instances", "compute instance-templates", "container clusters",
    )
)  # fmt: skip
_PROJECTION = regex(r"(?:value|table|csv|get)(?:\[[\w,=-]*\])?\(([\w.,:=\[\]() -]*)\)")
_PLAIN_FIELDS_TEXT = """
accessConfigs basename createTime creationTimestamp email endpoint id label location machineType natIP networkIP
networkInterfaces name project region selfLink state status type updateTime uri url zone
"""
_PLAIN_FIELDS = frozenset(_PLAIN_FIELDS_TEXT.split())


def _cluster(call: Invocation) -> bool:
    """kubectl get, wait, describe and rollout history: of what starts programs the short tables say nothing of their
    environment."""
    arguments, words = call.arguments, call.operands
    outputs = arguments.values("-o", "--output")
    brief = not call.name.endswith(" describe") and not arguments.has("--template", "--revision")
    brief = brief and all(value.fixed and value.text.removeprefix("=") in _PLAIN_OUTPUTS for value in outputs)
    if not brief and not (words and _plain_kinds(words)):
        call.reading.unknown.append(f"`{call.name[:80]}`: it may show the environment that programs are started with")
    return False


def _plain_kinds(words: list[Value]) -> bool:
    """`svc,ing`, or `svc/web node/a`: every kind that is named."""
    if not all(word.fixed for word in words):
        return False
    named = [word.text for word in words if "/" in word.text]
    kinds = [text.partition("/")[0] for text in named] if len(named) == len(words) else words[0].text.split(",")
    return all(kind.lower() in _PLAIN_KINDS for kind in kinds)


def _from_files(call: Invocation) -> bool:
    """kubectl create: `--from-file=KEY=PATH` names what becomes the value of a key."""
    for value in call.arguments.values("--from-file"):
        path = value.text.partition("=")[2]
        if path:
            call.reading.path(value._replace(text=path, head=path if value.fixed else ""), Access.READ)
    return False


def _tried(call: Invocation) -> bool:
    """kubectl apply and create with `--dry-run=client`: what they would send is shown and nothing is sent. `apply` asks
    for what is there already, and in any other form than names it shows that: of a secret, too."""
    tries = call.arguments.values("--dry-run")
    forms = call.arguments.values("-o", "--output")
    shown = ("name",) if call.name.endswith(" apply") else ("name", "json", "yaml")
    words = [word.text for word in call.words if word.text.startswith("--dry-run")]
    if words == ["--dry-run=client"] and len(tries) == 1 and all(form.text in shown for form in forms):
        call.reading.operations -= {Operation.WRITE, Operation.EXECUTE}
    for value in call.arguments.values("-f", "--filename"):
        if _may_be_folder(call, value):  # of that it shows what the links in it lead to, too
            call.reading.path(value, Access.READ, recursive=True, look=Look(follows=True))
    return _from_files(call)


def _may_be_folder(call: Invocation, value: Value) -> bool:
    place, bases = call.context.place, call.context.bases
    found = [resolve_path(value.text, place, base=base, expand_tilde=False).stat for base in bases if value.fixed]
    return not value.fixed or any(stat is not None and stat.kind is FileKind.DIRECTORY for stat in found)


def _gcloud(call: Invocation) -> bool:
    """gcloud list and describe: a list is a short table, unless a format says otherwise."""
    formats = call.arguments.values("--format")
    early = "--format" in call.reading.flags and not formats  # `gcloud --format=json run services list`
    brief = bool(formats) if call.name.endswith(" describe") else not early
    brief = brief and all(value.fixed and _plain_format(value.text) for value in formats)
    if not brief and f"{call.name} ".startswith(_GCLOUD):
        call.reading.unknown.append(f"`{call.name[:80]}`: it may show what programs are started with")
    return False


def _plain_format(text: str) -> bool:
    """`value(name,status.url)`: a choice of columns that tell nothing of how a program is started."""
    found = _PROJECTION.fullmatch(text.replace("metadata.name", "name"))
    return found is not None and _PLAIN_FIELDS.issuperset(re.findall(r"[A-Za-z_]\w*", found[1]))


def _unit(call: Invocation) -> bool:
    """systemctl show: everything, or the properties that are named."""
    values = call.arguments.values("-p", "--property", "-P")
    names = [name for value in values for name in (value.text.split(",") if value.fixed else ("",))]
    if not names or not _UNIT_PROPERTIES.issuperset(names):
        call.reading.unknown.append(f"`{call.name[:80]}`: it may show the environment that services are started with")
    return False


REVEALING: Mapping[str, Special] = MappingProxyType(
    {"cluster": _cluster, "from_files": _from_files, "tried": _tried, "gcloud": _gcloud, "unit": _unit}
)
