"""aws: options that take a list, whose further words are no operands (AWS CLI User Guide, "Specify parameter values").

By botocore's models these names stand for lists wherever `describe-*`, `list-*` and `search-*` have them, and the list
goes on up to the next option.
"""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.regex import regex

__all__ = ["AWS"]

_LISTS_TEXT = """
--instance-types --instance-ids --image-ids --volume-ids --snapshot-ids --subnet-ids --vpc-ids --group-ids --group-names
--owners --filters --key-names --region-names --zone-names --availability-zones --allocation-ids --public-ips
--network-interface-ids --route-table-ids --nat-gateway-ids --internet-gateway-ids --security-group-rule-ids
--load-balancer-arns --target-group-arns --listener-arns --names --services --alarm-names --statistics --dimensions
"""
_LISTS = frozenset(_LISTS_TEXT.split())
# A word of a list: nothing that leads to a file or an address.
_ITEM = regex(r"[A-Za-z0-9][A-Za-z0-9._:=,-]*")


def _lists(call: Invocation) -> bool:
    """Take the words of a list out of the operands."""
    operands, last = list(call.operands), ""
    kept: list[Value] = list(operands)
    for word in call.words:
        if word.text.startswith("-") or not word.fixed:
            last = word.text if word.fixed else ""
            continue
        if last in _LISTS and _ITEM.fullmatch(word.text) and any(each is word for each in kept):
            call.reading.use(Use.PARAM, word)
            kept = [each for each in kept if each is not word]
    call.arguments.operands[:] = kept
    return False


AWS: Mapping[str, Special] = MappingProxyType({"aws_lists": _lists})
