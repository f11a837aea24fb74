"""Made-up secrets of every kind that Shield recognises, and the forms in which one could still be found somewhere."""

import base64
import json
import string
import urllib.parse
from dataclasses import dataclass
from random import Random

_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Planted:
    """`text` is what is written somewhere, `secret` the part of it that must never be seen again."""

    kind: str
    text: str
    secret: str

    def forms(self) -> set[bytes]:
        """The secret as it is, its middle, and both as base64 (wherever it begins), hex, URL, reversed, escaped."""
        raw = self.secret.encode()
        found = {raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode()}
        found |= {urllib.parse.quote(self.secret, safe="").encode(), urllib.parse.quote_plus(self.secret).encode()}
        found |= {json.dumps(self.secret)[1:-1].encode(), json.dumps(self.secret)[1:-1].replace("/", "\\/").encode()}
        if len(raw) >= 32:  # cut in two it would still be worth something
            found.add(raw[len(raw) // 2 - 9 : len(raw) // 2 + 9])
        for shift in range(3):
            text = base64.b64encode(b"x" * shift + raw)
            inner = text[4 if shift else 0 : len(text) - 4]  # what the neighbours have no part in
            found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
        return {form for form in found if len(form) >= 8}


def _jwt(any_of) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": any_of(_WORD, 12)})
    head = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{any_of(_WORD, 43)}"


# before, the secret, after
_KINDS = {
    "age_key": lambda a: ("", "AGE-SECRET-KEY-1" + a(string.ascii_uppercase + string.digits, 58), ""),
    "anthropic_key": lambda a: ("", "sk-ant-api03-" + a(_WORD, 90), ""),
    "atlassian_token": lambda a: ("", "ATATT3" + a(_WORD, 60), ""),
    "authorization_header": lambda a: ("Authorization: Bearer ", a(_WORD, 30), ""),
    "aws_access_key": lambda a: ("", "AKIA" + a(_BASE32, 16), ""),
    "aws_secret_key": lambda a: ("aws_secret_access_key = ", a(_WORD + "/+", 40), ""),
    "azure_client_secret": lambda a: ("", a(_WORD, 3) + "8Q~" + a(_WORD, 34), ""),
    "azure_sas": lambda a: ("https://x.example/c?sv=1&sig=", a(_WORD, 43), "%3D"),
    "azure_storage_key": lambda a: ("AccountKey=", a(_WORD, 86) + "==", ""),
    "basic_auth_url": lambda a: ("https://bob:", a(_WORD, 14), "@x.example/"),
    "database_url": lambda a: ("postgres://bob:", a(_WORD, 14), "@db.example/x"),
    "databricks_token": lambda a: ("", "dapi" + a(_HEX, 32), ""),
    "digitalocean_token": lambda a: ("", "dop_v1_" + a(_HEX, 64), ""),
    "discord_token": lambda a: ("", "M" + a(_WORD, 23) + "." + a(_WORD, 6) + "." + a(_WORD, 27), ""),
    "discord_webhook": lambda a: ("", "https://discord.com/api/webhooks/123456789012345678/" + a(_WORD, 68), ""),
    "docker_token": lambda a: ("", "dckr_pat_" + a(_WORD, 27), ""),
    "github_token": lambda a: ("", "ghp_" + a(_WORD, 36), ""),
    "gitlab_token": lambda a: ("", "glpat-" + a(_WORD, 20), ""),
    "google_api_key": lambda a: ("", "AIza" + a(_WORD, 35), ""),
    "google_oauth": lambda a: ("", "ya29." + a(_WORD, 60), ""),
    "grafana_token": lambda a: ("", "glsa_" + a(_WORD, 32), ""),
    "heroku_key": lambda a: ("", "HRKU-" + a(_WORD, 40), ""),
    "huggingface_token": lambda a: ("", "hf_" + a(_WORD, 34), ""),
    "jwt": lambda a: ("", _jwt(a), ""),
    "linear_key": lambda a: ("", "lin_api_" + a(_WORD, 40), ""),
    "mailchimp_key": lambda a: ("", a(_HEX, 32) + "-us12", ""),
    "mailgun_key": lambda a: ("", "key-" + a(_HEX, 32), ""),
    "named_secret": lambda a: ("DB_PASSWORD=", a(_WORD, 16) + "7a", ""),
    "newrelic_key": lambda a: ("", "NRAK-" + a(string.ascii_uppercase + string.digits, 27), ""),
    "notion_token": lambda a: ("", "ntn_" + a(_WORD, 46), ""),
    "npm_auth": lambda a: ("//registry.example/:_authToken=", a(_WORD, 36), ""),
    "npm_token": lambda a: ("", "npm_" + a(_WORD, 36), ""),
    "openai_key": lambda a: ("", "sk-proj-" + a(_WORD, 80), ""),
    "private_key": lambda a: (
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        a(_WORD, 64),
        "\n-----END OPENSSH PRIVATE KEY-----",
    ),
    "putty_key": lambda a: ("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n", a(_WORD, 64), ""),
    "pypi_token": lambda a: ("", "pypi-AgE" + a(_WORD, 100), ""),
    "sendgrid_key": lambda a: ("", "SG." + a(_WORD, 22) + "." + a(_WORD, 43), ""),
    "sentry_token": lambda a: ("", "sntrys_" + a(_WORD, 60), ""),
    "shopify_token": lambda a: ("", "shpat_" + a(_HEX, 32), ""),
    "slack_token": lambda a: ("", "xoxb-123456789012-" + a(_WORD, 24), ""),
    "slack_webhook": lambda a: ("", "https://hooks.slack.com/services/T0000/B0000/" + a(_WORD, 24), ""),
    "square_token": lambda a: ("", "sq0atp-" + a(_WORD, 22), ""),
    "stripe_key": lambda a: ("", "sk_live_" + a(_WORD, 24), ""),
    "telegram_token": lambda a: ("", "123456789:AA" + a(_WORD, 33), ""),
    "twilio_key": lambda a: ("", "SK" + a(_HEX, 32), ""),
    "vault_token": lambda a: ("", "hvs." + a(_WORD, 30), ""),
}


def planted(number: int, *, seed: int) -> list[Planted]:
    """So many secrets, all different, the kinds in turn."""
    draws = Random(seed)

    def any_of(alphabet: str, size: int) -> str:
        return "".join(draws.choice(alphabet) for _ in range(size))

    found = []
    for index in range(number):
        kind = sorted(_KINDS)[index % len(_KINDS)]
        before, secret, after = _KINDS[kind](any_of)
        found.append(Planted(kind=kind, text=f"{before}{secret}{after}", secret=secret))
    return found
